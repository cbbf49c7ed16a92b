import { html, say } from "../lib/dom.js";
import { CHOICES, chosen, command, explained, fileName, python } from "./choices.js";
import { arranged, makeParts, TOKENS } from "./form.js";
import { connectGet, obstacle } from "./get.js";
import { meaning } from "./measure.js";
import { tableOf } from "./table.js";

// Runs the page with SmolLM2. Text typed by the user never leaves the page.

/** The user's current settings. @param {ReturnType<typeof makeParts>["choose"]} choose */
function read({ text, choice, tokens, speeds }) {
  const count = Math.round(Number(tokens.value)) || TOKENS.first;
  return {
    name: choice.value,
    choice: chosen(choice.value, speeds()),
    text: text.value,
    tokens: Math.min(TOKENS.most, Math.max(TOKENS.least, count)),
  };
}

/** The two sheets, each with a rotation and the current request. @param {ReturnType<typeof read>} now @param {ReturnType<typeof makeParts>["shown"]} shown */
const sides = ({ choice, text, tokens }, { right, wrong }) =>
  [
    { ...right, rotation: CHOICES.right },
    { ...wrong, rotation: choice },
  ].map((side) => ({
    ...side,
    asked: JSON.stringify([side.rotation, text, tokens]),
  }));

/** Clear the sheets whose answers do not match the current settings. @param {ReturnType<typeof sides>} both */
function emptied(both) {
  for (const { sheet, text, speed, asked } of both) {
    if (sheet.dataset.asked === asked) continue;
    delete sheet.dataset.asked;
    say(text, "");
    say(speed, "");
  }
}

/** @type {(perSecond: number, threads: number) => string} */
const speedOf = (perSecond, threads) =>
  `${perSecond.toFixed(1)} tokens per second on ${threads === 1 ? "one thread" : `${threads} threads`}`;

/** Generate text with the correct rotation and then with the chosen one, skipping sheets that are up to date.
 * @type {(model: RealModel, now: ReturnType<typeof read>, shown: ReturnType<typeof makeParts>["shown"], signal: AbortSignal) => Promise<void>} */
async function writeBoth(model, now, shown, signal) {
  const both = sides(now, shown);
  emptied(both);
  for (const { sheet, text, speed, rotation, asked } of both) {
    if (sheet.dataset.asked) continue;
    say(speed, "The engine is loading the model.");
    const written = html("b", {});
    text.replaceChildren(now.text, written);
    await model.write(
      rotation,
      now.text,
      now.tokens,
      (words, perSecond) => {
        say(written, words);
        say(speed, perSecond ? speedOf(perSecond, model.threads()) : "");
      },
      signal,
    );
    sheet.dataset.asked = asked;
  }
  document.querySelector("details.real-see")?.setAttribute("open", "");
}

/** Measure the losses with the correct rotation and with the chosen one. @type {(model: RealModel, choice: RealChoice, shown: ReturnType<typeof makeParts>["shown"], told: (words: string) => void, signal: AbortSignal) => Promise<void>} */
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
  table.replaceChildren(tableOf(found[0], found[1], choice.words), html("p", {}, meaning(found[0], found[1])));
  table.hidden = false;
}

/** Save a file. @type {(file: Blob, name: string) => void} */
function save(file, name) {
  const href = URL.createObjectURL(file);
  html("a", { href, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(href), 60_000);
}

/** Attach the buttons' handlers, and return a function that sets or clears the model. @param {ReturnType<typeof makeParts>} parts @param {() => void} shows */
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
    for (const control of [choose.text, choose.choice, choose.tokens, choose.hands, shown.pasted])
      control.disabled = Boolean(running);
  }
  /** @param {(model: RealModel, signal: AbortSignal) => Promise<void>} work */
  async function run(work) {
    if (!model || running) return;
    running = new AbortController();
    const pressed = /** @type {HTMLElement} */ (document.activeElement);
    say(note, "");
    allow();
    try {
      await work(model, running.signal);
      say(note, "Done.");
    } catch (error) {
      const stopped = error instanceof Error && error.name === "AbortError";
      say(note, stopped ? "Stopped." : `It failed: ${error instanceof Error ? error.message : error}`);
      if (!stopped) await model?.close();
    }
    running = undefined;
    allow();
    if (document.activeElement === document.body) pressed.focus(); // the button lost focus when it was disabled
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

/** Build the model's section of the page; `start` imports the engine.
 * @type {(root: HTMLElement, start: () => Promise<{Wllama: any}>) => void} */
export function mount(root, start) {
  const parts = makeParts(Number(root.dataset.bytes));
  const { get, choose, act, shown } = parts;
  function shows() {
    const { name, choice, text, tokens } = read(choose);
    choose.hands.hidden = name !== "hands";
    act.save.hidden = !choice.edit;
    say(choose.means, explained(choice));
    say(shown.wrong.title, choice.words);
    emptied(sides(read(choose), shown));
    say(shown.python, python(choice, text, tokens));
    say(shown.command, command(name, choice, text, tokens));
  }
  root.replaceChildren(...arranged(parts, Boolean(root.dataset.weights)));
  const ready = connectActs(parts, shows);
  root.addEventListener("input", shows);
  shown.pasted.addEventListener("input", () => (shown.table.hidden = true)); // the table no longer matches the text
  const why = obstacle(root.dataset.engine, location.protocol);
  if (why) {
    get.fetch.hidden = /** @type {HTMLElement} */ (get.file.parentElement).hidden = true;
    say(get.status, why);
  } else connectGet(get, root.dataset, start, ready);
  root.dataset.ready = "true";
}
