// Shapes that several scripts know, for the type check alone: nothing of this reaches a page.

/** A point in pixels, a vector of the plane, or a complex number [real, imaginary]. */
type Pair = [number, number];
type Vector = number[];
type Matrix = number[][];

/** A rectangle in pixels. */
interface Box {
  x: number;
  y: number;
  w: number;
  h: number;
}

/** How a rule turns a head: radians per token of each pair, and the factor on cosine and sine. */
interface Rotation {
  invFreq: Vector;
  attentionFactor: number;
}

/** A line or a box by its ends in pixels: [x1, y1, x2, y2]. */
type Segment = [number, number, number, number];

/** Attributes of an element; one that is undefined is left out. */
type Attributes = Record<string, string | number | undefined>;

/** An element of a picture that the next drawing uses again. */
interface Slot {
  tag: string;
  element: SVGElement;
  attributes: Attributes;
  text?: string;
  inside?: { group: SVGElement; slots: Slot[]; next: number };
}

interface AxesOptions {
  xLabel?: string;
  yLabel?: string;
  xTicks?: number[];
  yTicks?: number[];
  xLog?: boolean;
  xFormat?: (value: number) => unknown;
  yFormat?: (value: number) => unknown;
}

/** How a shape is drawn; opacity from 0 to 1, the rest as in SVG. */
interface Style {
  stroke?: string;
  width?: number;
  dash?: string;
  opacity?: number;
  fill?: string;
}
interface TextStyle {
  fill?: string;
  size?: number;
  anchor?: string;
  weight?: number;
  turn?: number;
  opacity?: number;
}

/** Where a picture can be taken, and the value that a place in pixels means. */
interface Handle {
  x: number;
  y: number;
  at: (px: number, py: number) => unknown;
  several?: boolean; // at gives several traits: {trait: value}
  ink?: string; // the colour of the thing
  box?: number[]; // its width and height, where it is no dot
  ring?: number; // radius of what is seen, where its thing is larger or smaller than a dot
  trait?: string; // what it moves, where that is not its name
}

/** A box of a picture that can be clicked, and what a click sets, wherever it is or by its place. */
interface Tap {
  x: number;
  y: number;
  w: number;
  h: number;
  set?: State;
  at?: (px: number, py: number) => State;
}

/** Between two states: the first one, and the share of the way, from 0 to 1. */
interface Way {
  from: State;
  share: number;
}

/** A trait as `describe` in _traits.py tells it; what a kind lacks is left out there. */
interface Control {
  name: string;
  kind: string;
  label: string;
  unit: string;
  default: any;
  initial: any;
  low: number;
  high: number;
  step: number;
  log: boolean;
  whole: boolean;
  limit: number;
  options: [any, string][];
  buttons?: boolean;
  max_words: number;
  most: number;
  letters: string;
  rules?: ControlRule[];
}

/** A rule between controls as `describe` in _rules.py tells it; a kind lacks what others have. */
interface ControlRule {
  rule: string;
  limit: string;
  times: number;
  plus: number;
  either: boolean;
  least: number;
  where: string;
  value: any;
  values: any[];
  table: Record<string, State>;
  own: string;
}
type Controls = Record<string, Control>;

/** {trait: value}; each figure knows its own. */
type State = Record<string, any>;

/** The part of a Jupyter widget model that figures use. */
interface Model {
  host?: string;
  get(name: string): any;
  set(name: string, value: unknown): void;
  save_changes(): void;
  send?(content: any): void; // to Python, in a kernel
  on(event: string, heard: (content?: any) => void): void;
  off(event: string, heard: (content?: any) => void): void;
}

/** The number format of each step from position to turn. */
interface Pipeline {
  frequencies: string;
  positions: string;
  angles: string;
  cos_sin: string;
}

/** f(z, m): the pair z at position m. */
type Encoder = (z: Pair, m: number) => Pair;

/** The numbers of a learned table of biases. */
interface BiasTable {
  numBuckets: number;
  maxDistance: number;
  clip: number;
}

/** What one head holds: matrices, ALiBi's slope, T5's bias for each bucket, Shaw's vector for each relative position. */
interface Head {
  wQuery: Matrix;
  wKey: Matrix;
  slope: number;
  t5: Vector;
  shaw: Matrix;
}

/** Texts of an address by name. */
type Texts = Record<string, string>;

/** Called when a hand moves something: {trait: value}, not yet held to what is allowed. */
type Moved = (changes: State) => void;

/** Speaks at once. */
type Tell = (text: string) => void;

/** The address of a state, and how to show it to a reader. */
interface Link {
  text(): string;
  show(): void;
}

/** A kind of control: the nearest value that it allows, what a text in an address means, and its element. */
interface ControlKind {
  allowed(control: Control, value: any, current: any): any;
  parse(text: string): any;
  make(
    control: Control,
    move: (value: any) => void,
    tell: Tell,
    small: boolean,
  ): { element: HTMLElement; show(value: any): void };
}

/** A figure's state in its model; see lib/state.js. */
interface Live {
  controls: Controls;
  names: string[];
  read(): State;
  set(values: State): void;
  move(changes: State): void;
  listen(f: () => void): () => void;
}

/** How much of a figure is shown: a small form has few controls, and often not all parts of the picture. */
interface View {
  small: boolean;
  shows(part: string): boolean;
}

/** What can be taken in a picture: things to drag by name, boxes to click, and boxes for which a question may ask. */
type Grasp = { [name: string]: any; taps?: Record<string, Tap>; marks?: Record<string, Box> };

/** What a figure gives; see lib/figure.js. */
interface Figure {
  name: string;
  title: string;
  height(width: number, state: State, view: View): number;
  draw(
    pen: import("./lib/pen.js").Pen,
    state: State,
    size: { width: number; height: number; way?: Way } & View,
  ): Grasp | void;
  readout(state: State, view: View): string;
  follow?(before: State, changes: State): State;
  uses?(state: State): string[];
  work?(state: State, whole?: boolean): Iterator<unknown>;
  play?: { trait: string; perSecond: number; speeds?: number[] };
  panel?(width: number, state: State, view: View): Pair;
  smooth?: string[];
  time?: number;
  unfolds?: boolean;
  files?: { name: string; save(state: State): Promise<string>; load(text: string, controls: Controls): Promise<State> };
  buttons?: { label: string; move(state: State): State }[];
}

/** A question as rope_edu/widgets/_questions.py has it, and what is said of an answer. */
interface Asked {
  id: string;
  chapter: string;
  kind: string;
  figure?: string;
  page?: string;
  ask: string;
  because: string;
  show?: State;
  choices?: string[][];
  answer?: number;
  number?: number;
  within?: number;
  unit?: string;
  slips?: any[][];
  otherwise?: string;
  numbers?: (number | boolean)[];
  verdicts?: Record<string, string>; // on every answer, names with spaces between: a sentence, empty for a right one
  rules?: Ruled; // where any of many answers is right
  hints?: string[];
  order?: string[];
  items?: string[];
  place?: string;
  places?: string[];
  control?: string;
}
/** The numbers of an answer by name, and rules: [a condition as a tree, a sentence with {0}, {1}, …, [tree, format] for each of them]. */
interface Ruled {
  values: string[];
  rules: [any, string, any[][]][];
}
type Give = (given: any) => void;

/** What a question asks of a picture: a click on one of these places; without names, no more. */
interface Wanted {
  id?: string;
  names?: string[];
  take?: (name: string) => void;
}

/** What is around a question: the state of its figure, a button that leads to it, clicks in it, and a way to say something. */
interface Around {
  now?: () => State | undefined;
  link?: (words?: string) => HTMLElement | undefined;
  pick?: (names?: string[], take?: (name: string) => void) => void;
  tell: (words: string) => void;
}
interface Verdict {
  right: boolean;
  why: string;
}
/** What is kept of a question: days between the last answer and the next, and the day on which it is due. */
interface Card {
  days: number;
  due: number;
}
