// Measures a text's perplexity, overall and by position.

/** The exponential of the mean loss. @type {(losses: number[]) => number} */
export const perplexity = (losses) => Math.exp(losses.reduce((sum, loss) => sum + loss, 0) / losses.length);

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
