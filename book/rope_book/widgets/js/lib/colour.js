// Defines colours by meaning, and colour maps for fields of numbers.
import { clamp, range } from "./numbers.js";

/** Colours by meaning, used throughout the book; the style sheet defines their light and dark values. */
export const ink = {
  q: "var(--rl-q)",
  k: "var(--rl-k)",
  position: "var(--rl-position)",
  score: "var(--rl-score)",
  value: "var(--rl-value)",
  other: "var(--rl-other)", // for a second series without a meaning of its own, beside ink.text
  text: "var(--rl-text)",
  muted: "var(--rl-muted)",
  grid: "var(--rl-grid)",
  paper: "var(--rl-paper)",
  // the same hues, dark enough for text
  qWords: "var(--rl-q-words)",
  kWords: "var(--rl-k-words)",
  positionWords: "var(--rl-position-words)",
  scoreWords: "var(--rl-score-words)",
  otherWords: "var(--rl-other-words)",
  onOther: "var(--rl-on-other)", // for text on ink.other
};

/** Darker line colours that replace hues too light for thin lines. @type {Record<string, string>} */
export const lineInk = { [ink.value]: "var(--rl-value-line)", [ink.other]: "var(--rl-other-line)" };

/** The text style of small labels. */
export const note = { size: 12, fill: ink.muted };
export const noteMiddle = { ...note, anchor: "middle" };
export const noteEnd = { ...note, anchor: "end" };

/** The colour of each context-extension rule, used in all chapters; rules of the same family share a colour. */
/** @type {Record<string, string>} */
export const ruleInk = {
  rope: ink.muted,
  pi: "var(--rl-pi)",
  "ntk-aware": "var(--rl-ntk)",
  abf: "var(--rl-abf)",
  "ntk-by-parts": "var(--rl-parts)",
  yarn: "var(--rl-yarn)",
  llama3: "var(--rl-llama)",
};

/** The colours of the rules' names, with a replacement for the one that is too light for text. @type {Record<string, string>} */
export const ruleWords = { ...ruleInk, pi: ink.otherWords };

/** Light-theme values, for still pictures that are shown without scripts. */
/** @type {Record<string, string>} */
export const LIGHT = {
  q: "#0072B2",
  k: "#D55E00",
  position: "#009E73",
  score: "#CC79A7",
  value: "#56B4E9",
  other: "#E69F00",
  text: "#1b1f24",
  muted: "#57606a",
  grid: "#d8dee4",
  paper: "#ffffff",
  "q-words": "#00609a",
  "k-words": "#a84300",
  "position-words": "#00705a",
  "score-words": "#97406f",
  "other-words": "#8a5a00",
  "on-other": "#1b1f24",
  "value-line": "#2f93d0",
  "other-line": "#c98300",
  pi: "#B87800",
  ntk: "#6A4FB3",
  abf: "#7A5230",
  parts: "#6B7A00",
  yarn: "#A3123F",
  llama: "#00798C",
};

// Sixteen evenly spaced stops per colour map, with linear interpolation.
export const viridis = ramp(
  "440154 481a6c 472f7d 414487 39568c 31688e 2a788e 23888e 1f988b 22a884 35b779 54c568 7ad151 a5db36 d2e21b fde725",
);
export const diverging = ramp(
  "2d004b 471a74 634094 8073ac a198c5 bfbbda d8daeb ededf3 f9efe1 fee0b6 fdc57f f3a649 e08214 c2660b a24e07 7f3b08",
); // for signed numbers from −1 to 1: zero is almost white

/** Interpolate evenly spaced hexadecimal stops to 256 colours [r, g, b]. @type {(stops: string) => number[][]} */
function ramp(stops) {
  const colours = stops.split(" ").map((hex) => [0, 2, 4].map((i) => parseInt(hex.slice(i, i + 2), 16)));
  return range(0, 255).map((i) => {
    const at = (i / 255) * (colours.length - 1);
    const low = Math.min(Math.floor(at), colours.length - 2);
    return colours[low].map((c, j) => Math.round(c + (colours[low + 1][j] - c) * (at - low)));
  });
}

/** The CSS colour of a shade in 0 … 1. @type {(value: number, colours?: Matrix) => string} */
export const shade = (value, colours = viridis) => `rgb(${colours[Math.round(clamp(value, 0, 1) * 255)].join(",")})`;

/** Map a number from −limit … limit to 0 … 1, its position in the diverging colour map. */
export const signedPlace = (/** @type {number} */ value, limit = 1) => clamp((value / limit + 1) / 2, 0, 1);

/** Black or white, whichever contrasts more with a shade. @type {(value: number, colours?: Matrix) => "#000000" | "#ffffff"} */
export function onShade(value, colours = viridis) {
  const [r, g, b] = colours[Math.round(clamp(value, 0, 1) * 255)].map((c) => (c / 255) ** 2.2);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.18 ? "#000000" : "#ffffff";
}
