// Shapes that several scripts know, for the type check alone: nothing of this reaches a page.

/** A point in pixels, a vector of the plane, or a complex number [real, imaginary]. */
type Pair = [number, number];
type Vector = number[];
type Matrix = number[][];

/** A rectangle in pixels. */
type Box = { x: number; y: number; w: number; h: number };

/** A line or a box by its ends in pixels: [x1, y1, x2, y2]. */
type Segment = [number, number, number, number];

/** How a rule turns a head: radians per token of each pair, and the factor on cosine and sine. */
type Rotation = { invFreq: Vector; attentionFactor: number };

/** Attributes of an element; one that is undefined is left out. */
type Attributes = Record<string, string | number | undefined>;

/** How a shape is drawn; opacity from 0 to 1, the rest as in SVG. */
type Style = { stroke?: string; width?: number; dash?: string; opacity?: number; fill?: string };
type TextStyle = {
  fill?: string;
  size?: number;
  anchor?: string; // start, middle, end
  weight?: number;
  turn?: number; // degrees
  opacity?: number;
};

/** Where a picture can be taken, and the value that a place in pixels means. */
type Handle = {
  x: number;
  y: number;
  at: (px: number, py: number) => unknown;
  several?: boolean; // at gives several traits: {trait: value}
  ink?: string; // the colour of the thing
  box?: number[]; // its width and height, where it is no dot
  ring?: number; // radius of what is seen, where its thing is larger or smaller than a dot
  trait?: string; // what it moves, where that is not its name
};

/** A box of a picture that can be clicked, and what a click sets, wherever it is or by its place. */
type Tap = Box & { set?: State; at?: (px: number, py: number) => State };

/** What can be taken in a picture: things to drag by name, boxes to click, and boxes for which a question may ask. */
type Grasp = { [name: string]: any; taps?: Record<string, Tap>; marks?: Record<string, Box> };

/** Between two states: the first one, and the share of the way, from 0 to 1. */
type Way = { from: State; share: number };

/** {trait: value}; each figure knows its own. */
type State = Record<string, any>;

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
type Controls = Record<string, Control>;

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

/** The part of a Jupyter widget model that figures use. */
interface Model {
  host?: string;
  widget_manager?: any; // JupyterLab's and Notebook 7's knows its notebook
  get(name: string): any;
  set(name: string, value: unknown): void;
  save_changes(): void;
  send?(content: any): void; // to Python, in a kernel
  on(event: string, heard: (content?: any) => void): void;
  off(event: string, heard: (content?: any) => void): void;
}

/** The number format of each step from position to turn. */
type Pipeline = { frequencies: string; positions: string; angles: string; cos_sin: string };

/** What one head holds: matrices, ALiBi's slope, T5's bias for each bucket, Shaw's vector for each relative position. */
type Head = { wQuery: Matrix; wKey: Matrix; slope: number; t5: Vector; shaw: Matrix };

/** Called when a hand moves something: {trait: value}, not yet held to what is allowed. */
type Moved = (changes: State) => void;

/** Speaks at once. */
type Tell = (text: string) => void;

/** The address of a state, and how to show it to a reader. */
type Link = { text(): string; show(): void };

/** A kind of control: the nearest value that it allows, what a text in an address means (itself, where it says nothing), and its element. */
interface ControlKind {
  allowed(control: Control, value: any, current: any): any;
  parse?(text: string): any;
  make(
    control: Control,
    move: (value: any) => void,
    tell: Tell,
    small: boolean,
  ): { element: HTMLElement; show(value: any): void };
}

/** A figure's state in its model. */
interface Live {
  controls: Controls;
  names: string[];
  read(): State;
  set(values: State): void; // take values that are allowed
  move(changes: State): void; // take what a hand has moved, held to what is allowed
  listen(f: () => void): () => void; // call f when something else than a hand changes a value; returns what ends it
}

type Pen = import("./lib/pen.js").Pen;

/** How much of a figure is shown: a small form has few controls, and often not all parts of the picture. */
type View = { small: boolean; shows(part: string): boolean };

/** What a figure gives. */
interface Figure {
  name: string; // of its class, the same in Python
  title: string; // what the picture is, in a few words
  height(width: number, state: State, view: View): number;
  /** Draws the whole picture; `way` on the way from another state. */
  draw(pen: Pen, state: State, size: { width: number; height: number; way?: Way } & View): Grasp | void;
  readout(state: State, view: View): string; // what the picture says, in one to three sentences
  follow?(before: State, changes: State): State; // what else a hand moves, where no rule of the controls says so
  uses?(state: State): string[]; // names of controls that mean something now, where no rule of the controls says so
  work?(state: State, whole?: boolean): Iterator<unknown>; // steps that bring nearer what is shown; see lib/work.js
  play?: { trait: string; perSecond: number; speeds?: number[] }; // a button that moves a slider by itself
  panel?(width: number, state: State, view: View): Pair; // top and bottom of what is seen where there is little room
  smooth?: string[]; // whole numbers that the picture draws between two whole ones too, on their way
  time?: number; // milliseconds from one state to another, where 400 are too few to follow
  unfolds?: boolean; // "More" opens when a choice gives a control in it a meaning
  /** A file of the reader's own. */
  files?: { name: string; save(state: State): Promise<string>; load(text: string, controls: Controls): Promise<State> };
  buttons?: { label: string; move(state: State): State }[]; // moves that no single control makes
}

/** A question as book/rope_book/widgets/_questions.py has it, and what is said of an answer. */
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
  numbers?: number[]; // a right answer
  verdicts?: Record<string, string>; // on every answer, names with spaces between: a sentence, empty for a right one
  rules?: Ruled; // on the numbers of an answer
  hints?: string[];
  order?: string[];
  items?: string[];
  place?: string;
  places?: string[];
  control?: string;
}

/** Names for the numbers of an answer, and rules: [a condition as a tree, a sentence with {0}, {1}, … or null for right, their [tree, format]s]. */
type Ruled = { values: string[]; rules: [any, string | null, any[][]][] };

type Give = (given: any) => void;
type Verdict = { right: boolean; why: string };

/** What a question asks of a picture: a click on one of these places; without names, no more. */
type Wanted = { id?: string; names?: string[]; take?: (name: string) => void };

/** What is around a question. */
interface Around {
  now?: () => State | undefined; // the state of its figure
  link?: (words?: string) => HTMLElement | undefined; // a button that leads to it
  pick?: (names?: string[], take?: (name: string) => void) => void; // clicks in it
  tell: Tell;
}

/** A tensor of a GGUF: its shape, fastest axis first, its ggml type, and where its data begins. */
type Placed = { name: string; shape: number[]; kind: number; start: number };

/** A GGUF's header, and the bytes that it was read from. */
type GgufHead = { values: Record<string, any>; tensors: Placed[]; end: number; data: number; bytes: ArrayBuffer };

/** What is changed in a GGUF: factors of the pairs are added, a key is renamed, the rows of W_q and W_k are moved. */
type Edit = { factors?: number[]; forget?: string; permute?: boolean };

/** A rotation of the real model: its name, llama.cpp's settings and flags, the change of its file, and the same in Python. */
interface RealChoice {
  words: string;
  settings?: Record<string, number | string>;
  flags?: string;
  edit?: Edit;
  needs?: string; // a name of rope_edu
  spec: string;
}

/** The elements of the first step, in which the real model's file comes. */
interface RealGet {
  status: HTMLElement;
  bar: HTMLProgressElement;
  fetch: HTMLButtonElement;
  file: HTMLInputElement;
  remove: HTMLButtonElement;
}

/** The real model in the page; a wait ends with an AbortError where its signal says so. */
interface RealModel {
  write(
    choice: RealChoice,
    text: string,
    tokens: number,
    told: (words: string, perSecond: number) => void,
    signal: AbortSignal,
  ): Promise<void>;
  losses(
    choice: RealChoice,
    text: string,
    told: (done: number, all: number) => void,
    signal: AbortSignal,
  ): Promise<number[]>;
  edit(choice: RealChoice): Promise<Blob>;
  length(text: string): number; // in tokens, about
  close(): Promise<void>;
  most: number; // tokens of a text and what is written after it
}
