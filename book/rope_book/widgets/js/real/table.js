import { html } from "../lib/dom.js";
import { byPlace, perplexity, shown } from "./measure.js";

const PARTS = 8;

/** A table that compares perplexity by position under the correct and the chosen rotation. @type {(right: number[], wrong: number[], words: string) => HTMLTableElement} */
export function tableOf(right, wrong, words) {
  const row = (/** @type {string} */ place, /** @type {number[]} */ numbers) =>
    html("tr", {}, html("th", { scope: "row" }, place), ...numbers.map((number) => html("td", {}, shown(number))));
  const wrongs = byPlace(wrong, PARTS);
  const rows = byPlace(right, PARTS).map(({ first, last, perplexity }, part) =>
    row(`${first} to ${last}`, [perplexity, wrongs[part].perplexity]),
  );
  const names = ["Predicted tokens", "Right", words].map((name) => html("th", { scope: "col" }, name));
  return html(
    "table",
    {},
    html("caption", {}, "Perplexity of the text, by place"),
    html("thead", {}, html("tr", {}, ...names)),
    html("tbody", {}, ...rows, row("all", [perplexity(right), perplexity(wrong)])),
  );
}
