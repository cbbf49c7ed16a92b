// A worker that answers requests. It is started from the text of a script, so it needs no separate file.

// {ask(question) → promise of the answer, works()} for a script that defines the function `answer`. If no worker can start, or the
// page's policy forbids it, the first question is rejected and `works` returns false from then on.
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
    const thread = new Worker(URL.createObjectURL(file));
    thread.onmessage = ({ data: [n, answer] }) => {
      open.get(n)?.resolve(answer);
      open.delete(n);
    };
    thread.onerror = fail;
    return thread;
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
