// Computes the attention on one matching key among many others; mirrors book/rope_book/widgets/maths/sharpness.py.

// The matching key's attention weight, e^{t·match} / (e^{t·match} + (keys − 1) e^{t²·spread²/2}) with t = scale.
/** @type {(keys: number, match: number, spread: number, scale?: number) => number} */
export function matchingShare(keys, match, spread, scale = 1) {
  return Math.exp(scale * match - logTotal(keys, match, spread, scale));
}

/**
 * The entropy of the weights, in nats.
 * @type {(keys: number, match: number, spread: number, scale?: number) => number}
 */
export function attentionEntropy(keys, match, spread, scale = 1) {
  const share = matchingShare(keys, match, spread, scale);
  const mean = share * scale * match + (1 - share) * (scale * spread) ** 2;
  return logTotal(keys, match, spread, scale) - mean;
}

// The exponential of the entropy, which is the number of equally weighted keys with the same entropy.
/** @type {(keys: number, match: number, spread: number, scale?: number) => number} */
export const sharingKeys = (keys, match, spread, scale = 1) => Math.exp(attentionEntropy(keys, match, spread, scale));

/** @type {(keys: number, match: number, spread: number, scale: number) => number} */
function logTotal(keys, match, spread, scale) {
  const logs = [scale * match, Math.log(Math.max(keys - 1, 1e-300)) + (scale * spread) ** 2 / 2];
  const most = Math.max(...logs);
  return most + Math.log(logs.reduce((total, value) => total + Math.exp(value - most), 0));
}
