// Selects the parts of a figure to show: all controls, with the leads first, or a small form with parts selected by
// name.
import { LEADS } from "../data/leads.js";

const MOST = 3; // number of lead controls, unless the figure names them

// The lead controls of a figure, and the few options that its small form offers for a choice.
/** @typedef {{lead?: string[], few?: Record<string, any[]>}} Named */

/** @type {Record<string, Named>} */
const NAMED = LEADS;

export const namedBy = (/** @type {string} */ figure) => NAMED[figure] ?? {};

/** A control with only its small form's options. @type {(control: Control, few: any[] | undefined) => Control} */
export const withFew = (control, few) =>
  few ? { ...control, options: control.options.filter(([value]) => few.includes(value)) } : control;

// The controls next to the picture, and those under "More": the leads and the others or, in a small form, only the
// named ones.
/** @type {(names: string[], asked: {lead?: string[], only?: string[]}) => [string[], string[]]} */
export function placed(names, { lead = names.slice(0, MOST), only }) {
  if (only) return [only.filter((name) => names.includes(name)), []];
  return [lead, names.filter((name) => !lead.includes(name))];
}

// {only, small, shows(part)}: the selected names, whether there is a selection, and whether a part of the picture is drawn.
/** @type {(names: string[] | null | undefined, controls: string[]) => View & {only: string[] | undefined}} */
export function viewOf(names, controls) {
  const only = names ?? undefined;
  const parts = only?.filter((name) => !controls.includes(name)) ?? [];
  return { only, small: Boolean(only), shows: (part) => !parts.length || parts.includes(part) };
}
