// Measures a text's perplexity, overall and by position.

/** The exponential of the mean loss. @type {(losses: number[]) => number} */
export const perplexity = (losses) => Math.exp(losses.reduce((sum, loss) => sum + loss, 0) / losses.length);

/** Format a perplexity with three digits or more. @type {(value: number) => string} */
export const shown = (value) => (value < 1000 ? value.toPrecision(3) : value.toFixed(0));

/** Say what the perplexities of a text under two rotations mean. @type {(right: number[], wrong: number[]) => string} */
export function meaning(right, wrong) {
  const [good, bad] = [perplexity(right), perplexity(wrong)];
  return (
    `Perplexity says how unsure the model is: on average as unsure as if it chose among that many equally likely tokens. ` +
    `For the whole text that is ${shown(good)} as trained and ${shown(bad)} with the change, ${shown(bad / good)} times as many. ` +
    `If the columns move apart from row to row, the harm grows with the position.`
  );
}

/** Split the text into at most `parts` equal parts, and return each part's perplexity, first token and last token,
 * counting from 1.
 * @type {(losses: number[], parts: number) => {first: number, last: number, perplexity: number}[]} */
export function byPlace(losses, parts) {
  const size = Math.ceil(losses.length / parts);
  return Array.from({ length: Math.ceil(losses.length / size) }, (_, part) => {
    const inside = losses.slice(part * size, (part + 1) * size);
    return { first: part * size + 1, last: part * size + inside.length, perplexity: perplexity(inside) };
  });
}
