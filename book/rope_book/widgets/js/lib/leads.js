// Selects the parts of a figure to show: all controls with the lead controls first, or a small form with only the
// named parts.
import { LEADS } from "../data/leads.js";

const MOST = 3; // default number of lead controls

// A figure's lead controls, and the reduced options of each choice in the small form.
/** @typedef {{lead?: string[], few?: Record<string, any[]>}} Named */

/** @type {Record<string, Named>} */
const NAMED = LEADS;

export const namedBy = (/** @type {string} */ figure) => NAMED[figure] ?? {};

/** A control with only its small form's options. @type {(control: Control, few: any[] | undefined) => Control} */
export const withFew = (control, few) =>
  few ? { ...control, options: control.options.filter(([value]) => few.includes(value)) } : control;

// The controls next to the picture, those under "More", and the answers to the figure's question. A small form has only
// the named controls.
/** @type {(names: string[], asked: {lead?: string[], only?: string[], answers?: string}) => string[][]} */
export function placed(names, { lead, only, answers }) {
  if (only) return [only.filter((name) => names.includes(name)), [], []];
  const others = names.filter((name) => name !== answers);
  const first = lead ?? others.slice(0, MOST);
  return [first, others.filter((name) => !first.includes(name)), names.filter((name) => name === answers)];
}

// {only, small, shows(part)}: `only` names the parts to show, if they are restricted; `small` is whether this is
// the small form; and `shows` returns whether to draw a part of the picture.
/** @type {(names: string[] | null | undefined, controls: string[]) => View & {only: string[] | undefined}} */
export function viewOf(names, controls) {
  const only = names ?? undefined;
  const parts = only?.filter((name) => !controls.includes(name)) ?? [];
  return { only, small: Boolean(only), shows: (part) => !parts.length || parts.includes(part) };
}
