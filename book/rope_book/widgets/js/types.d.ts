// Types shared by several scripts, for type checking only: none of this reaches a page.

/** A point in pixels, a vector of the plane, or a complex number [real, imaginary]. */
type Pair = [number, number];
type Vector = number[];
type Matrix = number[][];

/** A rectangle in pixels. */
type Box = { x: number; y: number; w: number; h: number };

/** A line or a box, given by its ends in pixels: [x1, y1, x2, y2]. */
type Segment = [number, number, number, number];

/** How a rule turns a head: radians per token for each pair, and the factor on cosine and sine. */
type Rotation = { invFreq: Vector; attentionFactor: number };

/** Attributes of an element; undefined ones are left out. */
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

/** A point where a picture can be grabbed, and the value that a pixel position represents. */
type Handle = {
  x: number;
  y: number;
  at: (px: number, py: number) => unknown;
  several?: boolean; // at returns several traits: {trait: value}
  ink?: string; // the object's colour
  box?: number[]; // its width and height, unless it is a dot
  ring?: number; // the visible radius, if the object is larger or smaller than a dot
  trait?: string; // the trait that it moves, if that differs from its name
};

/** A clickable box in a picture, and the state that a click sets: a fixed one, or one that depends on where the click lands. */
type Tap = Box & { set?: State; at?: (px: number, py: number) => State };

/** The interactive parts of a picture: things to drag, by name, boxes to click, and boxes that a question may ask about. */
type Grasp = { [name: string]: any; taps?: Record<string, Tap>; marks?: Record<string, Box> };

/** A point between two states: the first state, and the fraction of the way from it, 0 to 1. */
type Way = { from: State; share: number };

/** {trait: value}; each figure has its own traits. */
type State = Record<string, any>;

/** A trait as returned by `describe` in _traits.py, which omits any field that its kind lacks. */
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
  groups?: [string, any[]][]; // headings, each with the options below it
  max_words: number;
  most: number;
  letters: string;
  rules?: ControlRule[];
}
type Controls = Record<string, Control>;

/** A rule between controls, as returned by `describe` in _rules.py; each kind has only some of these fields. */
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
  widget_manager?: any; // in JupyterLab and Notebook 7, it has a reference to the notebook
  get(name: string): any;
  set(name: string, value: unknown): void;
  save_changes(): void;
  send?(content: any): void; // to Python, in a kernel
  on(event: string, heard: (content?: any) => void): void;
  off(event: string, heard: (content?: any) => void): void;
}

/** The number format of each step from position to turn. */
type Pipeline = { frequencies: string; positions: string; angles: string; cos_sin: string };

/** One head's parameters: matrices, ALiBi's slope, T5's bias for each bucket, Shaw's vector for each relative position. */
type Head = { wQuery: Matrix; wKey: Matrix; slope: number; t5: Vector; shaw: Matrix };

/** Called when the reader moves something: {trait: value}, not yet limited to allowed values. */
type Moved = (changes: State) => void;

/** Announces a text immediately. */
type Tell = (text: string) => void;

/** The URL of a state, and a way to show it to the reader. */
type Link = { text(): string; show(): void };

/** A kind of control: the nearest allowed value, how to parse a text from a URL (by default, as it is), and the control's element. */
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
  set(values: State): void; // apply values that are already allowed
  move(changes: State): void; // apply the reader's changes, limited to allowed values
  listen(f: () => void): () => void; // call f when anything but the reader changes a value; returns a function that stops this
}

type Pen = import("./lib/pen.js").Pen;

/** How much of a figure is shown: a small form has few controls, and often omits parts of the picture. */
type View = { small: boolean; shows(part: string): boolean };

/** The interface that every figure implements. */
interface Figure {
  name: string; // of its class, the same in Python
  title: string; // a short description of the picture
  height(width: number, state: State, view: View): number;
  /** Draws the whole picture; `way` is set during a transition from another state. */
  draw(pen: Pen, state: State, size: { width: number; height: number; way?: Way } & View): Grasp | void;
  readout(state: State, view: View): string; // a description of the picture in one to three sentences
  lines?: number; // of the longest readout on a desk, which are kept free; 3 if not given
  source?(state: State): string; // where the picture's data come from, beside the line of Python
  results?(state: State): Record<string, number>; // numbers that challenges judge, as in Python
  follow?(before: State, changes: State): State; // other changes that follow from the reader's move, beyond the control rules
  uses?(state: State, used: string[]): string[]; // names of controls that currently have an effect; `used` are those that the control rules allow
  work?(state: State, whole?: boolean): Iterator<unknown>; // steps that work towards the finished picture; see lib/work.js
  play?: { trait: string; perSecond: number; speeds?: number[] }; // a button that moves a slider by itself
  panel?(width: number, state: State, view: View): Pair; // top and bottom of the part to show when space is tight
  smooth?: string[]; // whole-number traits that the picture can also draw at fractional values during a transition
  answers?: string; // a choice across the full width, with the readout directly below the picture
  glides?: string[]; // sliders whose every step the picture follows in a transition, as it does a choice
  time?: number; // duration of a transition in milliseconds, if the default of 400 is too short to follow
  unfolds?: boolean; // "More" opens when a choice makes a control in it relevant
  /** The reader's own file, saved and loaded. */
  files?: { name: string; save(state: State): Promise<string>; load(text: string, controls: Controls): Promise<State> };
  /** Moves that no single control makes; the primary one stands out, and seldom ones are under "More". */
  buttons?: { label: string; move(state: State): State; kind?: "primary" | "seldom" }[];
}

/** A question as defined in book/rope_book/widgets/_questions.py, and the feedback on an answer. */
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
  verdicts?: Record<string, string>; // for each answer (names separated by spaces), a sentence; empty for a right one
  rules?: Ruled; // for the numbers in an answer
  hints?: string[];
  order?: string[];
  items?: string[];
  place?: string;
  places?: string[];
  control?: string;
}

/** [condition tree, sentence with {0}, {1}, … or null if right, [tree, format] for each {n}] */
type Rule = [any, string | null, any[][]];

/** Names for an answer's numbers, its rules, and the reply to a right answer that no rule mentions. */
type Ruled = { values?: string[]; rules: Rule[]; shows?: Rule };

type Give = (given: any) => void;
type Verdict = { right: boolean; why: string };

/** The click in a picture that a question waits for, on one of these places; without names, it waits for none. */
type Wanted = { id?: string; names?: string[]; take?: (name: string) => void };

/** The surroundings of a question. */
interface Around {
  now?: () => State | undefined; // the state of its figure
  link?: (words?: string) => HTMLElement | undefined; // a button that takes the reader to the figure
  pick?: (names?: string[], take?: (name: string) => void) => void; // asks for clicks in the figure
  tell: Tell;
}

/** A tensor of a GGUF: its shape, fastest axis first, its ggml type, and where its data begins. */
type Placed = { name: string; shape: number[]; kind: number; start: number };

/** A GGUF's header, and the bytes that it was read from. */
type GgufHead = { values: Record<string, any>; tensors: Placed[]; end: number; data: number; bytes: ArrayBuffer };

/** Changes to a GGUF: per-pair factors are added, a key is renamed, the rows of W_q and W_k are permuted. */
type Edit = { factors?: number[]; forget?: string; permute?: boolean };

/** A rotation for the real model: its name, llama.cpp's settings and flags, the edit to its file, and the Python equivalent. */
interface RealChoice {
  words: string;
  settings?: Record<string, number | string>;
  flags?: string;
  edit?: Edit;
  needs?: string; // a name in rope_edu
  spec: string;
}

/** The elements of the first step, which gets the real model's file. */
interface RealGet {
  status: HTMLElement;
  bar: HTMLProgressElement;
  fetch: HTMLButtonElement;
  file: HTMLInputElement;
  remove: HTMLButtonElement;
}

/** The real model in the page; a wait ends with an AbortError when its signal aborts. */
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
  length(text: string): number; // in tokens, approximately
  close(): Promise<void>;
  threads(): number; // in use; 0 while nothing is loaded
  most: number; // tokens in a text plus those generated after it
}
