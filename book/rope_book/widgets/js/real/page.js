import { html, say } from "../lib/dom.js";
import { CHOICES, chosen, command, fileName, python } from "./choices.js";
import { arranged, makeParts, TOKENS } from "./form.js";
import { connectGet, obstacle } from "./get.js";
import { tableOf } from "./table.js";

// The page on which SmolLM2 runs. Nothing that a reader types leaves it.

/** What the reader has set now. @param {ReturnType<typeof makeParts>["choose"]} choose */
function read({ text, choice, tokens, speeds }) {
  const count = Math.round(Number(tokens.value)) || TOKENS.first;
  return {
    name: choice.value,
    choice: chosen(choice.value, speeds()),
    text: text.value,
    tokens: Math.min(TOKENS.most, Math.max(TOKENS.least, count)),
  };
}

/** Let right and wrong write, one after the other. What was right stays until its text changes.
 * @type {(model: RealModel, asked: ReturnType<typeof read>, shown: ReturnType<typeof makeParts>["shown"], signal: AbortSignal) => Promise<void>} */
async function writeBoth(model, { choice, text, tokens }, shown, signal) {
  for (const [sheet, rotation] of /** @type {const} */ ([
    [shown.right, CHOICES.right],
    [shown.wrong, choice],
  ])) {
    const asked = JSON.stringify([rotation, text, tokens]);
    if (sheet.sheet.dataset.asked === asked) continue;
    delete sheet.sheet.dataset.asked;
    say(sheet.text, "");
    say(sheet.speed, "The engine is loading the model.");
    const written = html("b", {});
    sheet.text.append(text, written);
    await model.write(
      rotation,
      text,
      tokens,
      (words, perSecond) => {
        say(written, words);
        say(sheet.speed, perSecond ? `${perSecond.toFixed(1)} tokens per second` : "");
      },
      signal,
    );
    sheet.sheet.dataset.asked = asked;
  }
}

/** Measure right and wrong. @type {(model: RealModel, choice: RealChoice, shown: ReturnType<typeof makeParts>["shown"], told: (words: string) => void, signal: AbortSignal) => Promise<void>} */
async function measureBoth(model, choice, { pasted, table }, told, signal) {
  const count = model.length(pasted.value);
  if (count < 3 || count > model.most)
    throw new Error(`The text must have 3 to ${model.most} tokens; it has ${count}.`);
  const found = [];
  for (const rotation of [CHOICES.right, choice]) {
    const each = (/** @type {number} */ done, /** @type {number} */ all) =>
      told(`${rotation.words}: ${done} of ${all} tokens measured.`);
    found.push(await model.losses(rotation, pasted.value, each, signal));
  }
  told("");
  table.replaceChildren(tableOf(found[0], found[1], choice.words));
  table.hidden = false;
}

/** Save a file. @type {(file: Blob, name: string) => void} */
function save(file, name) {
  const href = URL.createObjectURL(file);
  html("a", { href, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(href), 60_000);
}

/** Connect the buttons; returns what takes a model, or none. @param {ReturnType<typeof makeParts>} parts @param {() => void} shows */
function connectActs({ choose, act, shown }, shows) {
  /** @type {RealModel | undefined} */
  let model;
  /** @type {AbortController | undefined} */
  let running;
  const note = html("p", { class: "real-note", role: "status" });
  act.stop.after(note);
  function allow() {
    act.write.disabled = act.measure.disabled = act.save.disabled = !model || Boolean(running);
    act.stop.disabled = !running;
  }
  /** @param {(model: RealModel, signal: AbortSignal) => Promise<void>} work */
  async function run(work) {
    if (!model || running) return;
    running = new AbortController();
    say(note, "");
    allow();
    try {
      await work(model, running.signal);
    } catch (error) {
      const stopped = error instanceof Error && error.name === "AbortError";
      say(note, stopped ? "Stopped." : `It failed: ${error instanceof Error ? error.message : error}`);
      await model?.close();
    }
    running = undefined;
    allow();
  }
  act.write.addEventListener("click", () => run((model, signal) => writeBoth(model, read(choose), shown, signal)));
  act.measure.addEventListener("click", () =>
    run((model, signal) => measureBoth(model, read(choose).choice, shown, (words) => say(note, words), signal)),
  );
  act.save.addEventListener("click", () =>
    run(async (model) => save(await model.edit(read(choose).choice), fileName(choose.choice.value))),
  );
  act.stop.addEventListener("click", () => running?.abort());
  shows();
  return (/** @type {RealModel | undefined} */ given) => {
    running?.abort();
    model?.close();
    model = given;
    allow();
  };
}

/** Fill the place of the model. `start` imports the engine.
 * @type {(root: HTMLElement, start: () => Promise<{Wllama: any}>) => void} */
export function mount(root, start) {
  const parts = makeParts(Number(root.dataset.bytes));
  const { get, choose, act, shown } = parts;
  function shows() {
    const { name, choice, text, tokens } = read(choose);
    choose.hands.hidden = name !== "hands";
    act.save.hidden = !choice.edit;
    say(shown.wrong.title, choice.words);
    say(shown.python, python(choice, text, tokens));
    say(shown.command, command(name, choice, text, tokens));
  }
  root.replaceChildren(...arranged(parts));
  const ready = connectActs(parts, shows);
  root.addEventListener("input", shows);
  const why = obstacle(root.dataset.engine, location.protocol);
  if (why) {
    get.fetch.hidden = /** @type {HTMLElement} */ (get.file.parentElement).hidden = true;
    say(get.status, why);
  } else connectGet(get, root.dataset, start, ready);
  root.dataset.ready = "true";
}
