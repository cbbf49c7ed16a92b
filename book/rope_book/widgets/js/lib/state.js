// Manages a figure's state: the values in the model, changes by the user, and the values as Python source.
import { allowed } from "./controls.js";
import { phraseOf } from "./phrase.js";
import { settle, shown } from "./rules.js";

/** @type {(a: unknown, b: unknown) => boolean} */
export const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

/** Translate a control's text into the page's language. @type {(control: Control) => Control} */
const inPage = ({ label, unit, options, groups, ...control }) => ({
  ...control,
  label: phraseOf(label),
  unit: phraseOf(unit),
  options: options?.map(([value, words]) => [value, phraseOf(words)]),
  groups: groups?.map(([heading, values]) => [phraseOf(heading), values]),
});

// The state in a model. Rules between controls resolve conflicting values, and `follow(before, changes)` returns
// additional changes when the user moves a control.
/** @type {(model: Model, follow: Figure['follow']) => Live} */
export function makeState(model, follow) {
  /** @type {Controls} */
  const controls = Object.fromEntries(
    model.get("_controls").map((/** @type {Control} */ control) => [control.name, inPage(control)]),
  );
  const names = Object.keys(controls);
  let byHand = false;

  /** Read the state and resolve conflicts, which can occur while several values are being updated one at a time. */
  function read() {
    const now = Object.fromEntries(names.map((name) => [name, model.get(name)]));
    return { ...now, ...settle(controls, now, {}) };
  }

  /** Set all values. If values conflict, those that differ from the initial state take precedence. */
  function set(/** @type {State} */ values) {
    const first = initialOf(controls);
    const held = Object.fromEntries(Object.entries(values).filter(([name, value]) => !same(value, first[name])));
    const all = { ...values, ...settle(controls, first, held) };
    for (const name in all) model.set(name, all[name]);
  }

  function move(/** @type {State} */ changes) {
    const before = read();
    const held = /** @type {State} */ ({});
    for (const name in changes) held[name] = allowed(controls[name], changes[name], before[name]);
    Object.assign(held, shown(controls, before, held));
    Object.assign(held, settle(controls, before, held));
    Object.assign(held, follow?.(before, held));
    byHand = true;
    for (const name in held) if (!same(held[name], before[name])) model.set(name, held[name]);
    byHand = false;
    model.save_changes();
  }

  function listen(/** @type {() => void} */ f) {
    const heard = () => byHand || f();
    for (const name of names) model.on(`change:${name}`, heard);
    return () => {
      for (const name of names) model.off(`change:${name}`, heard);
    };
  }
  return { controls, names, read, set, move, listen };
}

/** The values that the figure was created with. @type {(controls: Controls) => State} */
export const initialOf = (controls) =>
  Object.fromEntries(Object.entries(controls).map(([name, { initial }]) => [name, initial]));

/** Format the state as a line of Python. @type {(figure: string, controls: Controls, state: State, only?: string[]) => string} */
export function pythonLine(figure, controls, state, only) {
  const small = only ? [`only=(${only.map(python).join(", ")}${only.length === 1 ? "," : ""})`] : [];
  return `${figure}(${[...changed(controls, state, "default"), ...small].join(", ")})`;
}

/** Format the line of Python that gives the state to a figure that exists. @type {(controls: Controls, state: State) => string} */
export const setLine = (controls, state) => `figure.set(${changed(controls, state, "initial").join(", ")})`;

/** The values that differ, as arguments in Python. @type {(controls: Controls, state: State, from: "default" | "initial") => string[]} */
function changed(controls, state, from) {
  const names = Object.keys(controls).filter((name) => !same(state[name], controls[name][from]));
  return names.map((name) => `${name}=${python(state[name])}`);
}

const UNSEEN = /[\p{C}\p{Zl}\p{Zp}]/gu; // invisible characters: control and format characters, lone surrogates

/** Escape a character as in Python strings. @type {(character: string) => string} */
function escaped(character) {
  const code = Number(character.codePointAt(0));
  return code > 0xffff ? `\\U${code.toString(16).padStart(8, "0")}` : `\\u${code.toString(16).padStart(4, "0")}`;
}

/** Format a value as Python source. @type {(value: unknown) => string} */
function python(value) {
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "string") return `'${value.replace(/['\\]/g, "\\$&").replace(UNSEEN, escaped)}'`;
  if (Array.isArray(value)) return `[${value.map(python).join(", ")}]`;
  return String(value);
}
