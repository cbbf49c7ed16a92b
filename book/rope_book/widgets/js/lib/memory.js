// Stores the reader's answers for the review, in this browser only. A missed question comes back in the same
// sitting; every right answer after that doubles the days until it comes again.

/** Days between the last answer and the next, and the day on which it is due. @typedef {{days: number, due: number}} Card */
/** @typedef {Record<string, Card>} Cards */

export const KEY = "rope-turn-by-turn.review";
const KNOWN = 4; // days until the next review of a question answered right the first time
const MOST = 180; // longest interval in days
const DAY = 86_400_000; // ms

/** The card of a question after an answer. @type {(card: Card | undefined, right: boolean, today: number) => Card}
 */
export function after(card, right, today) {
  if (!right) return { days: 0, due: today };
  if (card && card.due > today) return card; // an answer before the question is due is no new evidence
  const days = card ? Math.min(MOST, Math.max(1, 2 * card.days)) : KNOWN;
  return { days, due: today + days };
}

/** A 32-bit hash of a text. @param {string} text */
function mixed(text) {
  let hash = 2166136261;
  for (const letter of text) hash = Math.imul(hash ^ (letter.codePointAt(0) ?? 0), 16777619);
  return (hash ^ (hash >>> 13)) >>> 0;
}

// A day's questions, at most `most`: those due, with the longest overdue first, then new ones, reshuffled daily.
/** @type {(names: string[], cards: Cards, today: number, most: number) => string[]} */
export function dueOn(names, cards, today, most) {
  const chance = Object.fromEntries(names.map((name) => [name, mixed(`${today} ${name}`)]));
  const seen = names.filter((name) => Object.hasOwn(cards, name) && cards[name].due <= today);
  const fresh = names.filter((name) => !Object.hasOwn(cards, name));
  seen.sort((a, b) => cards[a].due - cards[b].due || chance[a] - chance[b]);
  fresh.sort((a, b) => chance[a] - chance[b]);
  return [...seen, ...fresh].slice(0, most);
}

/** The day, counted from 1970, by the reader's clock. @param {Date} now */
export const dayOf = (now) => Math.floor((now.getTime() - 60_000 * now.getTimezoneOffset()) / DAY);

/** The valid cards in a stored text, which may be malformed. @param {string | null} text @returns {Cards} */
export function readCards(text) {
  try {
    const entries = Object.entries(JSON.parse(text ?? "{}"));
    const whole = (/** @type {unknown} */ value) => Number.isInteger(value);
    return Object.fromEntries(entries.filter(([, card]) => whole(card?.days) && whole(card?.due)));
  } catch {
    return {};
  }
}

/** The cards stored in this browser, as {cards(), note(id, right), clear()}. */
export function makeMemory() {
  let inPage = /** @type {Cards} */ ({});
  function cards() {
    try {
      return readCards(localStorage.getItem(KEY));
    } catch {
      return inPage;
    }
  }
  function keep(/** @type {Cards} */ next) {
    inPage = next;
    try {
      if (Object.keys(next).length) localStorage.setItem(KEY, JSON.stringify(next));
      else localStorage.removeItem(KEY);
    } catch {
      // without storage, the cards are lost when the page closes
    }
  }
  function note(/** @type {string} */ id, /** @type {boolean} */ right) {
    const now = cards();
    keep({ ...now, [id]: after(Object.hasOwn(now, id) ? now[id] : undefined, right, dayOf(new Date())) });
  }
  return { cards, note, clear: () => keep({}) };
}
