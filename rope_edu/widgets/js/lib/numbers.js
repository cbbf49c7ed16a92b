// Numbers: as a reader writes them, held in a range, in rows, and round ones for an axis.

/** A number as a reader writes it: fixed decimals, a real minus sign, no negative zero. */
export function fmt(value, decimals = 2) {
  const text = (Math.abs(value) < 0.5 * 10 ** -decimals ? 0 : value).toFixed(decimals);
  return text.replace("-", "−");
}

/** A number with narrow spaces, which do not break, between thousands: 54 410. */
export function grouped(value) {
  return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, "\u202f").replace("-", "−");
}

/** value held within [low, high]. */
export function clamp(value, low, high) {
  return Math.min(high, Math.max(low, value));
}

/** [low, low + 1, …, high]. */
export function range(low, high, step = 1) {
  return Array.from({ length: Math.floor((high - low) / step + 1e-9) + 1 }, (_, i) => low + i * step);
}

/** Round numbers that divide [low, high] into about `count` parts. */
export function ticks(low, high, count = 5) {
  const rough = (high - low) / count || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough * 0.999);
  return range(Math.ceil(low / step - 1e-9) * step, high, step).map((t) => Number(t.toPrecision(12)));
}
