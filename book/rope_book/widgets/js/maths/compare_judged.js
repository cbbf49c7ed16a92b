// Determines which checks of a comparison ran, why others did not, and the verdict.
/** @import { Difference } from "./compare_kinds.js" */
/** @import { Statement } from "./statement.js" */

/** The check that reports each kind of difference. @type {Record<string, string>} */
export const CHECKS = {
  "kinds of layers": "kinds",
  rotation: "kinds",
  windows: "windows",
  frequencies: "frequencies",
  layout: "layout",
  width: "width",
  sections: "sections",
  "attention factor": "attention-factor",
  "softmax scale": "softmax-scale",
  "query scale": "query-scale",
  loading: "loading",
};

/** The rotation checks that could not run, with the reasons. @type {(a: Statement, b: Statement, found: Difference[]) => Record<string, string>} */
export function notJudged(a, b, found) {
  /** @type {Record<string, string>} */
  const reasons = {};
  const differing = found.map(({ what }) => what);
  if (differing.includes("width") && !differing.includes("frequencies")) reasons.frequencies = "the widths differ";
  const assumed = [a, b].filter(({ readings }) => kindsOfRemarks(readings).includes("layout assumed"));
  if (assumed.length && a.model !== b.model) reasons.layout = `${assumed[0].name} does not state which features pair`;
  else if (assumed.length && !a.model) reasons.layout = "neither file states which features pair";
  const unsure = [a, b].find(({ readings }) => readings.some(({ softmaxScale }) => softmaxScale === null));
  if (unsure && (a.model !== b.model || a.readings[0].factor !== b.readings[0].factor))
    reasons["softmax-scale"] = `it is not known whether ${unsure.model || unsure.name} scales by mscale_all_dim`;
  return reasons;
}

/** @param {any[]} readings @returns {string[]} */
export const kindsOfRemarks = (readings) =>
  readings.flatMap(({ remarks }) => remarks.map((/** @type {string[]} */ [kind]) => kind));

/** The verdict: [status, sentence]. @type {(differences: Difference[], leftOpen: Record<string, string>) => [number, string]} */
export function verdictOf(differences, leftOpen) {
  const differing = new Set(differences.map(({ what }) => CHECKS[what]));
  const names = [...new Set(Object.values(CHECKS))];
  const open = names.filter((name) => Object.hasOwn(leftOpen, name) && !differing.has(name));
  const central = open.filter((name) => name !== "layout" && name !== "loading");
  const count = `${names.length - open.length} of ${names.length} checks ran.`;
  const reasons = open.map((name) => `${name} (${leftOpen[name]})`).join("; ");
  const status = differing.size ? 1 : central.length ? 2 : 0;
  return [status, reasons ? `${count} Not judged: ${reasons}.` : count];
}
