// A second thread that answers questions, made from the text of a script: no file of its own is needed.

// {ask(question) → promise of the answer, works()} of a script that sets the function `answer`; where no worker can be made, or the
// page's policy stops it, `works` says false after the first question, which is then refused.
export function makeHelper(/** @type {string} */ script) {
  /** @type {Worker | undefined} */
  let worker;
  let broken = false;
  let asked = 0;
  /** @type {Map<number, {resolve: (answer: any) => void, reject: (reason: unknown) => void}>} */
  const open = new Map();

  function fail(/** @type {unknown} */ reason) {
    broken = true;
    worker?.terminate();
    for (const { reject } of open.values()) reject(reason);
    open.clear();
  }
  function start() {
    const listen = "onmessage = ({ data: [n, question] }) => postMessage([n, answer(question)]);";
    const file = new Blob([`${script}\n${listen}`], { type: "text/javascript" });
    const made = new Worker(URL.createObjectURL(file));
    made.onmessage = ({ data: [n, answer] }) => {
      open.get(n)?.resolve(answer);
      open.delete(n);
    };
    made.onerror = fail;
    return made;
  }
  function ask(/** @type {unknown} */ question) {
    return new Promise((resolve, reject) => {
      asked += 1;
      open.set(asked, { resolve, reject });
      try {
        worker ??= start();
        worker.postMessage([asked, question]);
      } catch (error) {
        fail(error);
      }
    });
  }
  return { ask, works: () => !broken && typeof Worker === "function" };
}
