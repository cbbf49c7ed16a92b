// Exports questions as a file for Anki (File → Import): one note per question, with a stable id so that importing
// again updates the note.
import { answerOf } from "./judge.js";

const HEAD = [
  "#separator:tab",
  "#html:true",
  "#notetype:Basic",
  "#deck:RoPE, Turn by Turn",
  "#guid column:1",
  "#tags column:4",
];
/** @type {Record<string, string>} */
const SAFE = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

/** Convert a string to a single line of HTML. @param {string} text */
const written = (text) =>
  text
    .replace(/[&<>"]/g, (sign) => SAFE[sign])
    .replace(/\s+/g, " ")
    .replace(/`(.+?)`/g, "<code>$1</code>")
    .replace(/\*([^*]+)\*/g, "<i>$1</i>");

/** @param {string[]} items */
const list = (items) => (items.length ? `<ul>${items.map((item) => `<li>${written(item)}</li>`).join("")}</ul>` : "");

/** Convert a question to a note: guid, front, back, tags. @type {(asked: Asked) => string[]} */
function note(asked) {
  const options = asked.choices?.map(([words]) => words) ?? asked.places ?? asked.items ?? [];
  const wrong = (asked.choices ?? []).filter(([, why]) => why).map(([words, why]) => `“${words}”: ${why}`);
  const back = `<b>${written(answerOf(asked))}</b> ${written(asked.because)}${list(wrong)}`;
  const unit = asked.unit ? ` (${asked.unit})` : "";
  return [`rope-turn-${asked.id}`, written(asked.ask + unit) + list(options), back, `chapter::${asked.chapter}`];
}

/** The text of the whole file. @type {(questions: Asked[]) => string} */
export const deckOf = (questions) => `${[...HEAD, ...questions.map((asked) => note(asked).join("\t"))].join("\n")}\n`;
