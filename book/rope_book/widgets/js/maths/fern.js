// Chains a head's hands tip to tail; mirrors book/rope_book/widgets/maths/fern.py.

const STEP = 0.01; // step in log10(1 + distance) between the candidate positions of a dragged tip
const LOOK = 24; // number of candidate steps to either side

/** The content's lengths and angles, one of each per pair, which default to 1 and 0. @typedef {{lengths?: Vector, angles?: Vector}} Content */

// The joints [sideways, up] from root to tip, slowest hand first, as fractions of the straight stem's length.
/** @type {(rotation: Rotation, distance: number, content?: Content) => Pair[]} */
export function fern({ invFreq, attentionFactor }, distance, { lengths = [], angles = [] } = {}) {
  const sizes = invFreq.map((_, i) => lengths[i] ?? 1);
  const whole = sizes.reduce((sum, size) => sum + size, 0) || 1;
  let [x, y] = [0, 0];
  const joints = /** @type {Pair[]} */ ([[0, 0]]);
  for (let i = invFreq.length - 1; i >= 0; i--) {
    const turned = distance * invFreq[i] + (angles[i] ?? 0);
    const share = (attentionFactor ** 2 * sizes[i]) / whole;
    x += share * Math.sin(turned);
    y += share * Math.cos(turned);
    joints.push([x, y]);
  }
  return joints;
}

// The height of the tip, which is the score relative to equal vectors at distance 0.
export const heightOf = (/** @type {Pair[]} */ joints) => joints[joints.length - 1][1];

// The score of a query and a key, after division by √d, from the joints of their fern.
/** @type {(joints: Pair[], content: Content) => number} */
export function contentScore(joints, { lengths = [] }) {
  const pairs = joints.length - 1;
  let whole = 0;
  for (let i = 0; i < pairs; i++) whole += lengths[i] ?? 1;
  return (heightOf(joints) * whole) / Math.sqrt(2 * pairs);
}

// The bounding box [left, right, bottom, top] of all given ferns.
/** @type {(ferns: Pair[][]) => Segment} */
export function extent(ferns) {
  let [left, right, bottom, top] = [0, 0, 0, 0];
  for (const joints of ferns) {
    for (const [x, y] of joints) {
      [left, right] = [Math.min(left, x), Math.max(right, x)];
      [bottom, top] = [Math.min(bottom, y), Math.max(top, y)];
    }
  }
  return /** @type {Segment} */ ([left, right, bottom, top].map((edge) => Math.round(edge * 1e12) / 1e12 + 0));
}

// The distance near the current one at which the tip is closest to a point, for dragging the tip.
/** @type {(rotation: Rotation, distance: number, point: Pair, content?: Content) => number} */
export function followed(rotation, distance, [x, y], content) {
  const start = Math.log10(1 + distance);
  let [nearest, least] = [distance, Infinity];
  for (let step = -LOOK; step <= LOOK; step++) {
    const reached = 10 ** Math.max(start + STEP * step, 0) - 1;
    const joints = fern(rotation, reached, content);
    const [tx, ty] = joints[joints.length - 1];
    const gap = Math.round(Math.hypot(tx - x, ty - y) * 1e9);
    if (gap < least) [nearest, least] = [reached, gap];
  }
  return Math.round(nearest * 100) / 100;
}
