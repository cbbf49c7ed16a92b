// Judges an answer as right or wrong and finds the sentence that explains a mistake. All functions are pure.
import { phrase, phraseOf } from "./phrase.js";
import { ruled } from "./ruled.js";

// Parse a typed number, such as 1,707, 15.9, 15,9, 1/3, −2 or 50 %. Returns NaN for anything else.
export function numberOf(/** @type {string} */ text) {
  const plain = text
    .trim()
    .replace(/[−–]/g, "-")
    .replace(/[\s_]|[^\d]+$/g, "")
    .replace(/^([-+]?\d{1,3})((?:,\d{3})+)(?=\.|$)/, (_, first, rest) => first + rest.replace(/,/g, ""))
    .replace(/,/, ".");
  const [above, below, more] = plain.split("/");
  if (!/\d/.test(plain) || more !== undefined) return NaN;
  return below === undefined ? Number(above) : Number(above) / Number(below);
}

/** @type {(a: number, b: number, within: number) => boolean} */
const near = (a, b, within) => Math.abs(a - b) <= within;

// Parse several numbers separated by spaces, by semicolons, or by a comma and a space. True and False are read as 1
// and 0.
export function numbersOf(/** @type {string} */ text) {
  const parts = text.replace(/[()[\]]/g, " ").split(/[;\s]+|,\s+/);
  const truths = { true: 1, false: 0 };
  return parts.flatMap((part) => {
    const plain = part.replace(/,$/, "");
    const truth = truths[/** @type {"true" | "false"} */ (plain.toLowerCase())];
    return plain ? [truth ?? numberOf(plain)] : [];
  });
}

// Judge an answer: the index of a choice, a number, several numbers, an ordering of names, or a figure's state.
export function judge(/** @type {Asked} */ asked, /** @type {any} */ given) {
  if (asked.rules) return ruled(asked.rules, given);
  if (asked.kind === "choices") {
    return { right: given === asked.answer, why: asked.choices?.[given]?.[1] ?? "" };
  }
  if (asked.verdicts) {
    const why = asked.verdicts[given.join(" ")];
    return { right: why === "", why: why ?? "" };
  }
  const inWords = asked.order ?? asked.place;
  const same = (/** @type {any} */ value) =>
    inWords === undefined ? near(value, given, asked.within ?? 0) : String(value) === String(given);
  if (same(inWords ?? asked.number)) return { right: true, why: "" };
  return { right: false, why: asked.slips?.find(([value]) => same(value))?.[1] ?? asked.otherwise ?? "" };
}

/** Format the correct answer. @type {(asked: Asked) => string} */
export function answerOf({ kind, choices, answer, order, place, number, unit }) {
  if (kind === "choices") return phrase`${choices?.[answer ?? 0]?.[0]}.`;
  if (place) {
    const [first, ...rest] = phraseOf(place);
    return phrase`${[first.toUpperCase(), ...rest].join("")}.`;
  }
  if (kind === "order") return phrase`${order?.map(phraseOf).join(phrase`, `)}.`;
  return phrase`${number?.toLocaleString("en")}${unit ? ` ${unit}` : ""}.`;
}
