// Judges an answer as right or wrong, and finds the sentence for a mistake. These are pure functions that never
// touch the page.
import { phrase, phraseOf } from "./phrase.js";
import { ruled } from "./ruled.js";

// A typed number: 1,707 or 15.9 or 15,9 or 1/3 or −2 or 50 %. The result is NaN for anything else.
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

// Several numbers, separated by spaces, by semicolons, or by a comma and a space; True and False count as 1 and 0.
export function numbersOf(/** @type {string} */ text) {
  const parts = text.replace(/[()[\]]/g, " ").split(/[;\s]+|,\s+/);
  const truths = { true: 1, false: 0 };
  return parts.flatMap((part) => {
    const plain = part.replace(/,$/, "");
    const truth = truths[/** @type {"true" | "false"} */ (plain.toLowerCase())];
    return plain ? [truth ?? numberOf(plain)] : [];
  });
}

// The verdict on an answer: the index of a choice, a number, several numbers, or names in an order.
export function judge(/** @type {Asked} */ asked, /** @type {any} */ given) {
  if (asked.rules) {
    const why = ruled(asked.rules, given);
    return { right: why == null, why: why ?? "" };
  }
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

/** The right answer as text. @type {(asked: Asked) => string} */
export function answerOf({ kind, choices, answer, order, place, number, unit }) {
  if (kind === "choices") return phrase`${choices?.[answer ?? 0]?.[0]}.`;
  if (place) {
    const [first, ...rest] = phraseOf(place);
    return phrase`${[first.toUpperCase(), ...rest].join("")}.`;
  }
  if (kind === "order") return phrase`${order?.map(phraseOf).join(phrase`, `)}.`;
  return phrase`${number?.toLocaleString("en")}${unit ? ` ${unit}` : ""}.`;
}
