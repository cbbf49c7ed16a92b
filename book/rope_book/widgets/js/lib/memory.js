// Stores the reader's answers for review, in this browser only. A question answered wrongly comes back in the same
// session; each later correct answer doubles the interval.

/** The interval until the next review, in days, and the day on which the question is due. @typedef {{days: number, due: number}} Card */
/** @typedef {Record<string, Card>} Cards */

export const KEY = "rope-turn-by-turn.review";
const KNOWN = 4; // first interval in days, if the first answer is correct
const MOST = 180; // longest interval in days
const DAY = 86_400_000; // in ms

/**
 * Update a question's card after an answer.
 * @type {(card: Card | undefined, right: boolean, today: number) => Card}
 */
export function after(card, right, today) {
  if (!right) return { days: 0, due: today };
  if (card && card.due > today) return card; // an answer before the due date does not count
  const days = card ? Math.min(MOST, Math.max(1, 2 * card.days)) : KNOWN;
  return { days, due: today + days };
}

/** Hash a string to 32 bits. @param {string} text */
function mixed(text) {
  let hash = 2166136261;
  for (const letter of text) hash = Math.imul(hash ^ (letter.codePointAt(0) ?? 0), 16777619);
  return (hash ^ (hash >>> 13)) >>> 0;
}

// Select at most `most` questions for a day: due questions first, starting with the longest overdue, then new
// questions in an order that changes daily.
/** @type {(names: string[], cards: Cards, today: number, most: number) => string[]} */
export function dueOn(names, cards, today, most) {
  const chance = Object.fromEntries(names.map((name) => [name, mixed(`${today} ${name}`)]));
  const seen = names.filter((name) => Object.hasOwn(cards, name) && cards[name].due <= today);
  const fresh = names.filter((name) => !Object.hasOwn(cards, name));
  seen.sort((a, b) => cards[a].due - cards[b].due || chance[a] - chance[b]);
  fresh.sort((a, b) => chance[a] - chance[b]);
  return [...seen, ...fresh].slice(0, most);
}

/** The number of days since 1970 in the reader's time zone. @param {Date} now */
export const dayOf = (now) => Math.floor((now.getTime() - 60_000 * now.getTimezoneOffset()) / DAY);

/** The valid cards in a stored string, which may be malformed. @param {string | null} text @returns {Cards} */
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
