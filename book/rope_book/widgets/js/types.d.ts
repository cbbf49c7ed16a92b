// Declares the types that several scripts share, for type checking only. Nothing in this file reaches a page.

/** A point in pixels, a vector of the plane, or a complex number [real, imaginary]. */
type Pair = [number, number];
type Vector = number[];
type Matrix = number[][];

/** A rectangle in pixels. */
type Box = { x: number; y: number; w: number; h: number };

/** A line's two ends in pixels, [x1, y1, x2, y2], or a box, [x, y, w, h]. */
type Segment = [number, number, number, number];

/** A head's rotation under a rule: radians per token for each pair, and the factor on cosine and sine. */
type Rotation = { invFreq: Vector; attentionFactor: number };

/** Attributes of an element. Undefined attributes are omitted. */
type Attributes = Record<string, string | number | undefined>;

/** The style of a shape, as in SVG. */
type Style = { stroke?: string; width?: number; dash?: string; opacity?: number; fill?: string };
type TextStyle = {
  fill?: string;
  size?: number;
  anchor?: string; // start, middle or end
  weight?: number;
  turn?: number; // in degrees
  opacity?: number;
};

/** A drag handle of a picture. `at` returns the trait's value at a pixel position. */
type Handle = {
  x: number;
  y: number;
  at: (px: number, py: number) => unknown;
  several?: boolean; // whether `at` returns several traits, as {trait: value}
  ink?: string; // colour of the ring
  box?: number[]; // width and height, for a box instead of a dot
  ring?: number; // visible radius, if it differs from a dot's
  trait?: string; // the trait to set, if it differs from the handle's name
};

/** A click target in a picture. A click applies the changes `set`, or those that `at` returns for the click's position. */
type Tap = Box & { set?: State; at?: (px: number, py: number) => State };

/** The interactive parts of a picture: drag handles by name, click targets, and boxes that a question may ask about. */
type Grasp = { [name: string]: any; taps?: Record<string, Tap>; marks?: Record<string, Box> };

/** The progress of a transition: the state where it started, and the completed fraction, from 0 to 1. */
type Way = { from: State; share: number };

/** Values by trait. Each figure has different traits. */
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
  groups?: [string, any[]][]; // headings, each with its options
  max_words: number;
  most: number;
  letters: string;
  rules?: ControlRule[];
}
type Controls = Record<string, Control>;

/** A rule between controls, as returned by `describe` in _rules.py. Each kind of rule has only some of these fields. */
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
  widget_manager?: any; // refers to the notebook in JupyterLab and Jupyter Notebook
  get(name: string): any;
  set(name: string, value: unknown): void;
  save_changes(): void;
  send?(content: any): void; // sends a message to Python, if there is a kernel
  on(event: string, heard: (content?: any) => void): void;
  off(event: string, heard: (content?: any) => void): void;
}

/** In the classic Notebook, its global object. */
interface Window {
  Jupyter?: any;
}

/** A notebook: its outputs, the widgets that it stores, and its saving; beforeSave returns a function that stops calling. */
interface Notebook {
  outputs(): { output: any; replace: (output: any) => void }[];
  widgets(): any;
  store(widgets: any): void;
  beforeSave(call: () => void): () => void;
}

/** An output that shows a widget, and the widget's id. */
type Shown = { output: any; replace: (output: any) => void; id: string };

/** The number format of each step from position to rotation. */
type Pipeline = { frequencies: string; positions: string; angles: string; cos_sin: string };

/** One head's parameters: its matrices, ALiBi's slope, T5's bias per bucket, and Shaw's vector per relative position. */
type Head = { wQuery: Matrix; wKey: Matrix; slope: number; t5: Vector; shaw: Matrix };

/** Called with the changes that the reader makes, before they are limited to allowed values. */
type Moved = (changes: State) => void;

/** Announces a text to screen readers immediately. */
type Tell = (text: string) => void;

/** A state's URL: `text` returns it, and `show` puts it in the address bar. */
type Link = { text(): string; show(): void };

/** A kind of control, which finds the nearest allowed value, parses text from a URL (by default, returns it as it is), and creates the element. */
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

/** The state that a figure keeps in its model. */
interface Live {
  controls: Controls;
  names: string[];
  read(): State;
  set(values: State): void; // applies values that are already allowed
  move(changes: State): void; // applies the reader's changes, limited to allowed values
  listen(f: () => void): () => void; // calls f when anything but the reader changes a value; returns a function that stops listening
}

type Pen = import("./lib/pen.js").Pen;

/** Which parts of a figure are shown. The small form has few controls, and often omits parts of the picture. */
type View = { small: boolean; shows(part: string): boolean };

/** The interface that every figure implements. */
interface Figure {
  name: string; // the name of its class in Python
  title: string; // a short description of the picture
  height(width: number, state: State, view: View): number;
  /** Draws the whole picture; `way` is set during a transition from another state. */
  draw(pen: Pen, state: State, size: { width: number; height: number; way?: Way } & View): Grasp | void;
  readout(state: State, view: View): string; // a description of the picture in one to three sentences
  lines?: number; // number of lines to reserve for the readout on a wide screen; 3 by default
  scrolls?: boolean; // whether a longer readout scrolls in that room
  source?(state: State): string; // where the picture's data come from, shown beside the line of Python
  results?(state: State): Record<string, number>; // the numbers that challenges judge, as in Python
  follow?(before: State, changes: State): State; // changes that follow from the reader's, beyond the rules between controls
  uses?(state: State, used: string[]): string[]; // the controls that currently have an effect, out of `used`, which the rules between controls allow
  work?(state: State, whole?: boolean): Iterator<unknown>; // runs the computation in steps; see lib/work.js
  play?: { trait: string; perSecond: number; speeds?: number[] }; // a Play button, which animates a slider
  panel?(width: number, state: State, view: View): Pair; // top and bottom of the part to show when space is tight
  smooth?: string[]; // whole-number traits that the picture can draw at fractional values during a transition
  answers?: string; // a choice that gets the full width, with the readout directly below the picture
  glides?: string[]; // sliders whose changes the picture animates like those of a choice
  time?: number; // duration of a transition in milliseconds; 400 by default
  unfolds?: boolean; // whether "More" opens when a choice makes a control in it relevant
  /** Saves the reader's file and loads it again. */
  files?: { name: string; save(state: State): Promise<string>; load(text: string, controls: Controls): Promise<State> };
  /** Buttons that change several controls at once. A primary button stands out, and seldom ones are under "More". */
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
  numbers?: number[]; // a correct answer
  verdicts?: Record<string, string>; // a sentence per answer (names separated by spaces), which is empty for a correct one
  rules?: Ruled; // rules that judge the numbers in an answer
  hints?: string[];
  order?: string[];
  items?: string[];
  place?: string;
  places?: string[];
  control?: string;
}

/** A rule, [condition, sentence, numbers]: the condition as a tree, a sentence with {0}, {1}, … (null for a right answer), and [tree, format] for each {n}. */
type Rule = [any, string | null, any[][]];

/** Names for the numbers in an answer, the rules, and the reply to a right answer to which no rule applies. */
type Ruled = { values?: string[]; rules: Rule[]; shows?: Rule };

type Give = (given: any) => void;
type Verdict = { right: boolean; why: string };

/** A question's request for a click on one of the named targets. Without names, it ends the request. */
type Wanted = { id?: string; names?: string[]; take?: (name: string) => void };

/** The functions that a question receives from its surroundings. */
interface Around {
  now?: () => State | undefined; // returns the state of the question's figure
  link?: (words?: string) => HTMLElement | undefined; // creates a button that takes the reader to the figure
  pick?: (names?: string[], take?: (name: string) => void) => void; // asks for clicks in the figure
  tell: Tell;
}

/** A tensor in a GGUF: its shape with the fastest axis first, its ggml type, and the offset of its data. */
type Placed = { name: string; shape: number[]; kind: number; start: number };

/** A GGUF's header, with the bytes that contain it. */
type GgufHead = { values: Record<string, any>; tensors: Placed[]; end: number; data: number; bytes: ArrayBuffer };

/** Edits to a GGUF: factors to add, one per pair; a key to rename; and whether to permute the rows of W_q and W_k. */
type Edit = { factors?: number[]; forget?: string; permute?: boolean };

/** A rotation for the real model: its name, llama.cpp's settings and flags, the edit to the file, and the Python equivalent. */
interface RealChoice {
  words: string;
  means: string;
  settings?: Record<string, number | string>;
  flags?: string;
  edit?: Edit;
  needs?: string; // the function to import from rope_edu
  spec: string;
}

/** The page elements of the first step, which gets the real model's file. */
interface RealGet {
  status: HTMLElement;
  bar: HTMLProgressElement;
  fetch: HTMLButtonElement;
  file: HTMLInputElement;
  remove: HTMLButtonElement;
}

/** The real model in the page. Its promises reject with an AbortError when `signal` aborts. */
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
  length(text: string): number; // approximate number of tokens
  close(): Promise<void>;
  threads(): number; // number of threads in use, or 0 if no model is loaded
  most: number; // maximum number of tokens in a text and its continuation
}
