// What every live figure shares: a pen that draws SVG, axes, native controls, readout, Reset, the state as a line
// of Python and as a link. A figure gives `draw`, `readout` and its own few words; it holds no state of its own.

/** Colours by meaning, the same through the whole book; the style sheet gives them light and dark values. */
export const ink = {
  q: "var(--rl-q)",
  k: "var(--rl-k)",
  position: "var(--rl-position)",
  score: "var(--rl-score)",
  value: "var(--rl-value)",
  other: "var(--rl-other)", // a series without a role, beside ink.text
  text: "var(--rl-text)",
  muted: "var(--rl-muted)",
  grid: "var(--rl-grid)",
  paper: "var(--rl-paper)",
  // the same hues, dark enough to read as words
  qWords: "var(--rl-q-words)",
  kWords: "var(--rl-k-words)",
  positionWords: "var(--rl-position-words)",
  scoreWords: "var(--rl-score-words)",
  otherWords: "var(--rl-other-words)",
};

/** Light values, for the still picture that stands where no script runs. */
const LIGHT = {
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
};

// ---------------------------------------------------------------------------------------------- numbers

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

// ---------------------------------------------------------------------------------------------- drawing

const SVG = "http://www.w3.org/2000/svg";

/**
 * A pen over an SVG group. Call begin(), draw, end(): elements are reused in order, attributes are written only
 * when they change, so a redraw costs the number of elements that change. Hence the methods in the plural, which draw
 * many shapes of one style as one element (they should not overlap), and part().
 */
export function makePen(group) {
  let here = { group, slots: [], next: 0 };

  function put(tag, attributes, text) {
    let slot = here.slots[here.next];
    if (!slot || slot.tag !== tag) {
      const element = document.createElementNS(SVG, tag);
      if (slot) slot.element.replaceWith(element);
      else here.group.append(element);
      slot = here.slots[here.next] = { tag, element, attributes: {}, text: undefined };
    }
    here.next += 1;
    for (const name in slot.attributes) {
      if (attributes[name] === undefined) {
        slot.element.removeAttribute(name);
        delete slot.attributes[name];
      }
    }
    for (const name in attributes) {
      const value = attributes[name];
      if (value === undefined || slot.attributes[name] === value) continue;
      slot.element.setAttribute(name, value);
      slot.attributes[name] = value;
    }
    if (text !== undefined && slot.text !== text) slot.element.textContent = slot.text = text;
    return slot;
  }

  /** Take away what the last redraw had here and this one has not. */
  function tidy() {
    for (const slot of here.slots.splice(here.next)) slot.element.remove();
  }

  const near = (value) => (typeof value === "number" ? Math.round(value * 100) / 100 : value);
  const points = (list) => list.map(([x, y]) => `${near(x)},${near(y)}`).join(" ");
  const stroke = ({ stroke = ink.text, width = 1.5, dash, opacity } = {}) => ({
    stroke,
    "stroke-width": width,
    "stroke-dasharray": dash,
    opacity,
    fill: "none",
  });
  const filled = ({ fill = "none", opacity, ...style }) => ({ ...(style.stroke && stroke(style)), fill, opacity });
  const trace = (list) => `M${points(list)}`;

  return {
    begin() {
      here.next = 0;
    },
    end: tidy,
    /** A part whose number of elements varies: in a group of its own it moves no element that follows. */
    part(draw) {
      const [around, slot] = [here, put("g", {})];
      here = slot.inside ??= { group: slot.element, slots: [] };
      here.next = 0;
      draw();
      tidy();
      here = around;
    },
    line(x1, y1, x2, y2, style) {
      put("line", { x1: near(x1), y1: near(y1), x2: near(x2), y2: near(y2), ...stroke(style) });
    },
    curve(list, style) {
      put("polyline", { points: points(list), "stroke-linejoin": "round", ...stroke(style) });
    },
    area(list, { fill = ink.grid, opacity } = {}) {
      put("polygon", { points: points(list), fill, opacity });
    },
    circle(x, y, r, style = {}) {
      put("circle", { cx: near(x), cy: near(y), r: near(r), ...filled(style) });
    },
    rect(x, y, w, h, { radius, ...style } = {}) {
      const size = { width: near(Math.max(w, 0)), height: near(Math.max(h, 0)) };
      put("rect", { x: near(x), y: near(y), ...size, rx: radius, ...filled(style) });
    },
    /** Lines [[x1, y1, x2, y2], …]. */
    lines(list, style) {
      put("path", { d: list.map(([a, b, c, d]) => trace([[a, b], [c, d]])).join(""), ...stroke(style) });
    },
    /** Curves [[[x, y], …], …]. */
    curves(list, style) {
      put("path", { d: list.map(trace).join(""), "stroke-linejoin": "round", ...stroke(style) });
    },
    /** Areas [[[x, y], …], …]. */
    areas(list, { fill = ink.grid, opacity } = {}) {
      put("path", { d: list.map((corners) => `${trace(corners)}Z`).join(""), fill, opacity });
    },
    /** Circles [[x, y, r], …]. */
    circles(list, style = {}) {
      const half = (r, way) => `a${near(r)} ${near(r)} 0 0 0 ${near(2 * way * r)} 0`;
      const d = list.map(([x, y, r]) => `${trace([[x - r, y]])}${half(r, 1)}${half(r, -1)}Z`).join("");
      put("path", { d, ...filled(style) });
    },
    /** Rectangles [[x, y, w, h], …]. */
    rects(list, style = {}) {
      const d = list.map(([x, y, w, h]) => `${trace([[x, y], [x + w, y], [x + w, y + h], [x, y + h]])}Z`).join("");
      put("path", { d, ...filled(style) });
    },
    /** Words at (x, y). anchor: start, middle, end; turn: degrees. Coloured words carry their colour's text value. */
    text(x, y, words, { fill = ink.text, size = 13, anchor = "start", weight, turn, opacity } = {}) {
      const place = { x: near(x), y: near(y) };
      put(
        "text",
        {
          ...place,
          fill,
          "font-size": size,
          "text-anchor": anchor,
          "font-weight": weight,
          transform: turn ? `rotate(${turn} ${place.x} ${place.y})` : undefined,
          opacity,
        },
        String(words),
      );
    },
    /** An arrow from (x1, y1) to (x2, y2) with a filled head. */
    arrow(x1, y1, x2, y2, { stroke = ink.text, width = 2.5, dash, opacity, head = 9 } = {}) {
      const length = Math.hypot(x2 - x1, y2 - y1);
      const [ux, uy] = length ? [(x2 - x1) / length, (y2 - y1) / length] : [1, 0];
      const size = Math.min(head, length);
      const [bx, by] = [x2 - ux * size, y2 - uy * size];
      const beside = (x, y, far) => [x - uy * far, y + ux * far];
      const [thin, side] = [width / 2, size * 0.45];
      const shaft = (x, y, way) => [beside(x, y, -way * thin), beside(x, y, way * thin)];
      if (dash) this.line(x1, y1, bx, by, { stroke, width, dash, opacity });
      const tip = [beside(bx, by, side), [x2, y2], beside(bx, by, -side)];
      const whole = [...shaft(x1, y1, 1), beside(bx, by, thin), ...tip, beside(bx, by, -thin)];
      this.area(dash ? tip : whole, { fill: stroke, opacity });
    },
    /** A circular arc about (cx, cy) from angle a to angle b (radians, counter-clockwise, y up); may pass full turns. */
    arc(cx, cy, r, a, b, style) {
      const steps = Math.max(2, Math.ceil((Math.abs(b - a) / Math.PI) * 24));
      const at = (t) => [cx + r * Math.cos(t), cy - r * Math.sin(t)];
      this.curve(range(0, steps).map((i) => at(a + ((b - a) * i) / steps)), style);
    },
    /** A field, painted with a colour map: the arguments of bitmap(), or what it has returned. */
    raster(x, y, w, h, ...field) {
      const href = typeof field[0] === "string" ? field[0] : bitmap(...field);
      const box = { x: near(x), y: near(y), width: near(w), height: near(h) };
      put("image", { ...box, preserveAspectRatio: "none", style: "image-rendering:pixelated", href });
    },
  };
}

/**
 * Axes in a box {x, y, w, h} (pixels) over the intervals `xs`, `ys`; returns the two scales.
 * options: xLabel, yLabel, xTicks, yTicks (arrays), xLog, xFormat, yFormat.
 */
export function axes(pen, box, xs, ys, options = {}) {
  const { xLabel, yLabel, xLog, xFormat = String, yFormat = String } = options;
  const place = xLog ? Math.log : (v) => v;
  const [x0, x1] = xs.map(place);
  const X = (value) => box.x + (box.w * (place(value) - x0)) / (x1 - x0);
  const Y = (value) => box.y + box.h - (box.h * (value - ys[0])) / (ys[1] - ys[0]);
  const xTicks = options.xTicks ?? ticks(xs[0], xs[1], Math.max(2, box.w / 80));
  const yTicks = options.yTicks ?? ticks(ys[0], ys[1], Math.max(2, box.h / 45));
  const [right, bottom] = [box.x + box.w, box.y + box.h];
  const stroke = (t) => [X(t), bottom, X(t), bottom + 4];
  pen.lines(yTicks.map((t) => [box.x, Y(t), right, Y(t)]), { stroke: ink.grid, width: 1 });
  pen.lines([...xTicks.map(stroke), [box.x, bottom, right, bottom]], { stroke: ink.muted, width: 1 });
  const words = (x, y, text, anchor) => pen.text(x, y, minus(text), { anchor, size: 12, fill: ink.muted });
  pen.part(() => {
    for (const t of xTicks) words(X(t), bottom + 17, xFormat(t), "middle");
    for (const t of yTicks) words(box.x - 6, Y(t) + 4, yFormat(t), "end");
  });
  if (xLabel) pen.text(box.x + box.w / 2, bottom + 34, xLabel, { anchor: "middle" });
  if (yLabel) pen.text(box.x, box.y - 9, yLabel);
  return { X, Y };
}

const minus = (text) => String(text).replace("-", "−");

// Sixteen stops of each colour map, evenly spaced; between them the colours are mixed.
export const viridis = ramp(
  "440154 481a6c 472f7d 414487 39568c 31688e 2a788e 23888e 1f988b 22a884 35b779 54c568 7ad151 a5db36 d2e21b fde725",
);
export const cividis = ramp(
  "00224e 002e6c 1e3a6f 35456c 47516c 575d6d 666970 757575 848279 948e77 a59c74 b7a96e c8b866 dbc75a eed649 fee838",
);

/** 256 colours [r, g, b] from evenly spaced hexadecimal stops. */
function ramp(stops) {
  const colours = stops.split(" ").map((hex) => [0, 2, 4].map((i) => parseInt(hex.slice(i, i + 2), 16)));
  return range(0, 255).map((i) => {
    const at = (i / 255) * (colours.length - 1);
    const low = Math.min(Math.floor(at), colours.length - 2);
    return colours[low].map((c, j) => Math.round(c + (colours[low + 1][j] - c) * (at - low)));
  });
}

/** The CSS colour of a shade in 0 … 1. */
export function shade(value, colours = viridis) {
  return `rgb(${colours[Math.round(clamp(value, 0, 1) * 255)].join(",")})`;
}

/** Black or white, whichever reads better on that shade. */
export function onShade(value, colours = viridis) {
  const [r, g, b] = colours[Math.round(clamp(value, 0, 1) * 255)].map((c) => (c / 255) ** 2.2);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.18 ? "#000000" : "#ffffff";
}

/**
 * A field of numbers in 0 … 1, rows from the top, as a data: URL of an 8-bit bitmap (256 colours, rows from the bottom,
 * padded to 4 bytes).
 */
export function bitmap(rows, columns, shadeAt, colours = viridis) {
  const stride = (columns + 3) & ~3;
  const start = 54 + 1024;
  const bytes = new Uint8Array(start + stride * rows);
  const view = new DataView(bytes.buffer);
  bytes[0] = 66;
  bytes[1] = 77;
  view.setUint32(2, bytes.length, true);
  view.setUint32(10, start, true);
  view.setUint32(14, 40, true);
  view.setInt32(18, columns, true);
  view.setInt32(22, rows, true);
  view.setUint16(26, 1, true);
  view.setUint16(28, 8, true);
  view.setUint32(34, stride * rows, true);
  colours.forEach(([r, g, b], i) => bytes.set([b, g, r, 0], 54 + 4 * i));
  for (let r = 0; r < rows; r++) {
    const base = start + stride * (rows - 1 - r);
    for (let c = 0; c < columns; c++) bytes[base + c] = Math.round(clamp(shadeAt(r, c), 0, 1) * 255);
  }
  let text = "";
  for (let i = 0; i < bytes.length; i += 8192) text += String.fromCharCode(...bytes.subarray(i, i + 8192));
  return `data:image/bmp;base64,${btoa(text)}`;
}

// ---------------------------------------------------------------------------------------------- controls

/** Write what differs only: the same value written again is laid out again. */
function write(element, attributes) {
  for (const name in attributes) {
    const value = String(attributes[name]);
    if (element.getAttribute(name) !== value) element.setAttribute(name, value);
  }
}

/** The same for words. */
function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Create an element: html("label", {class: "…"}, child, …). */
function html(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

/** The value nearest to `value` that the control allows; `current` where it is no value at all. */
function allowed(control, value, current) {
  if (control.kind === "point") {
    return value.map((v, i) => (Number.isFinite(v) ? clamp(v, -control.limit, control.limit) : current[i]));
  }
  if (control.kind === "slider") {
    if (!Number.isFinite(value)) return current;
    const held = clamp(value, control.low, control.high);
    return control.whole ? Math.round(held) : Number(held.toPrecision(12));
  }
  if (control.kind === "choice") {
    const option = control.options.find(([v]) => String(v) === String(value));
    return option ? option[0] : current;
  }
  if (control.kind === "sentence") {
    const words = String(value).split(/\s+/).filter(Boolean).slice(0, control.max_words);
    return words.length ? words.map((word) => word.slice(0, 16)).join(" ") : current;
  }
  return Boolean(value);
}

/** Build the native control of one trait: {element, show(value)}; `move(value)` is called when a hand moves it. */
function makeControl(control, move) {
  const unit = control.unit ? ` ${control.unit}` : "";
  if (control.kind === "slider") {
    const out = html("output");
    const [to, from] = control.log ? [Math.log10, (v) => 10 ** v] : [(v) => v, (v) => v];
    const input = html("input", {
      type: "range",
      min: to(control.low),
      max: to(control.high),
      step: control.log ? 0.01 : control.step,
    });
    const decimals = (String(control.step).split(".")[1] ?? "").length;
    const words = (v) => (control.log || control.whole ? grouped(v) : fmt(v, decimals)) + unit;
    let current;
    input.addEventListener("input", () => {
      const value = from(Number(input.value));
      move(control.log ? Number(value.toPrecision(3)) : value);
    });
    const by = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 };
    input.addEventListener("keydown", (event) => {
      if (!(control.log && control.whole && by[event.key] && current < 1000)) return;
      event.preventDefault(); // on a logarithmic slider a key would pass over whole numbers
      move(clamp(current + by[event.key], control.low, control.high));
    });
    return {
      element: html("label", { class: "rl-control" }, html("span", {}, control.label, " ", out), input),
      show(value) {
        current = value;
        if (Math.abs(Number(input.value) - to(value)) > (control.log ? 0.005 : 1e-9)) input.value = to(value);
        say(out, words(value));
        write(input, { "aria-valuetext": words(value) });
      },
    };
  }
  if (control.kind === "point") {
    const inputs = ["x", "y"].map((axis) =>
      html("input", {
        type: "number",
        min: -control.limit,
        max: control.limit,
        step: 0.1,
        "aria-label": `${control.label}, ${axis}`,
      }),
    );
    for (const input of inputs) {
      input.addEventListener("change", () => move(inputs.map((i) => (i.value === "" ? NaN : Number(i.value)))));
    }
    return {
      element: html("fieldset", { class: "rl-control rl-point" }, html("legend", {}, control.label), ...inputs),
      show(value) {
        inputs.forEach((input, i) => {
          const text = String(Number(value[i].toFixed(2)));
          if (input.value !== text) input.value = text;
        });
      },
    };
  }
  if (control.kind === "choice") {
    const options = control.options.map(([value, words]) => html("option", { value }, words));
    const select = html("select", {}, ...options);
    select.addEventListener("change", () => move(select.value));
    return {
      element: html("label", { class: "rl-control" }, html("span", {}, control.label), select),
      show(value) {
        select.value = String(value);
      },
    };
  }
  if (control.kind === "toggle") {
    const input = html("input", { type: "checkbox" });
    input.addEventListener("change", () => move(input.checked));
    return {
      element: html("label", { class: "rl-control rl-toggle" }, input, html("span", {}, control.label)),
      show(value) {
        input.checked = value;
      },
    };
  }
  const input = html("input", { type: "text", autocomplete: "off", spellcheck: "false" });
  input.addEventListener("change", () => move(input.value));
  return {
    element: html("label", { class: "rl-control rl-sentence" }, html("span", {}, control.label), input),
    show(value) {
      if (input.value !== value) input.value = value;
    },
  };
}

// ---------------------------------------------------------------------------------------------- state as text

/** A value as Python writes it. */
function python(value) {
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "string") return `'${value.replace(/\\/g, "\\\\").replace(/'/g, "\\'")}'`;
  if (Array.isArray(value)) return `[${value.map(python).join(", ")}]`;
  return String(value);
}

/** The Python line that makes this state. */
function pythonLine(name, controls, state) {
  const changed = Object.keys(controls).filter((key) => !same(state[key], controls[key].default));
  return `${name}(${changed.map((key) => `${key}=${python(state[key])}`).join(", ")})`;
}

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

/** The state as an URL's hash. */
function toHash(name, controls, state) {
  const query = new URLSearchParams({ live: name });
  for (const key in controls) {
    if (!same(state[key], controls[key].initial)) query.set(key, String(state[key]));
  }
  return `#${query}`;
}

/** The values in an URL's hash that belong to this figure, or null. */
function fromHash(name, controls, hash) {
  const query = new URLSearchParams(hash.slice(1));
  if (query.get("live") !== name) return null;
  const state = {};
  for (const [key, control] of Object.entries(controls)) {
    const text = query.get(key);
    const parse = {
      slider: (t) => (t.trim() === "" ? NaN : Number(t)),
      point: (t) => [0, 1].map((i) => Number(t.split(",")[i] || NaN)),
      toggle: (t) => t === "true",
    };
    state[key] = text === null ? control.initial : allowed(control, (parse[control.kind] ?? String)(text), control.initial);
  }
  return state;
}

// ---------------------------------------------------------------------------------------------- the figure

/**
 * Make the module of a live figure.
 *
 * name      class name, the same in Python
 * title     what the picture is, in a few words
 * height    (width, state) → height of the picture in pixels
 * draw      (pen, state, {width, height}) → nothing, or {trait: {x, y, at: (px, py) → value}} for what can be dragged
 * readout   (state) → what the picture says, in one to three sentences
 * follow    (state before, changed) → more changes: what else moves when a hand moves a control
 * uses      (state) → names of the controls that mean something now; the others are dimmed (without it none are)
 * play      {trait, perSecond} or nothing: a button that moves a slider by itself
 * buttons   [{label, move: (state) → changes}]: moves that no single control makes
 */
export function live({ name, title, height, draw, readout, follow, uses, play, buttons = [] }) {
  function render({ model, el }) {
    const controls = Object.fromEntries(model.get("_controls").map((control) => [control.name, control]));
    const names = Object.keys(controls);
    const inPage = model.host === "page";
    const stops = new AbortController();
    const { signal } = stops;
    let byHand = false;
    let width = 0;

    const group = document.createElementNS(SVG, "g");
    const handleGroup = document.createElementNS(SVG, "g");
    const svg = document.createElementNS(SVG, "svg");
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", title);
    svg.append(group, handleGroup);
    const pen = makePen(group);
    const words = html("p", { class: "rl-readout" });
    const spoken = html("p", { class: "rl-spoken", role: "status" });
    const code = html("code");
    const root = html("div", {
      class: "rope-live",
      role: "group",
      "aria-label": title,
      "data-live": name,
    });
    const shown = {};
    const controlBox = html("div", { class: "rl-controls" });
    for (const key of names) {
      shown[key] = makeControl(controls[key], (value) => moved({ [key]: value }));
      shown[key].element.setAttribute("data-trait", key);
      controlBox.append(shown[key].element);
    }
    const bar = html("div", { class: "rl-bar" });
    const picture = html("div", { class: "rl-picture" }, svg);
    root.append(picture, words, spoken, controlBox, bar);

    const read = () => Object.fromEntries(names.map((key) => [key, model.get(key)]));

    /** A hand has moved something: hold it to what is allowed, tell the model, draw once. */
    function moved(changes) {
      const before = read();
      const held = {};
      for (const key in changes) held[key] = allowed(controls[key], changes[key], before[key]);
      Object.assign(held, follow?.(before, held));
      byHand = true;
      for (const key in held) if (!same(held[key], before[key])) model.set(key, held[key]);
      byHand = false;
      model.save_changes();
      paint();
      remember();
    }

    function paint() {
      const state = read();
      const size = { width: width || 640 };
      size.height = height(size.width, state);
      write(svg, { viewBox: `0 0 ${size.width} ${size.height}`, ...size });
      pen.begin();
      const dragged = draw(pen, state, size);
      pen.end();
      placeHandles(dragged ?? {});
      const text = readout(state);
      say(words, text);
      const used = uses?.(state) ?? names;
      for (const key of names) {
        shown[key].show(state[key]);
        shown[key].element.classList.toggle("rl-idle", !used.includes(key));
      }
      say(code, pythonLine(name, controls, state));
      speak(text);
    }

    let speaking;
    function speak(text) {
      clearTimeout(speaking);
      // a screen reader hears the words once the hand rests
      speaking = setTimeout(() => say(spoken, text), 500);
    }

    // ---- dragging: the handles lie over the picture; keyboards use the native controls
    const handles = {};
    let dragging = null;
    function placeHandles(wanted) {
      for (const key in wanted) {
        let handle = handles[key];
        if (!handle) {
          handle = handles[key] = { circle: document.createElementNS(SVG, "circle") };
          handle.circle.setAttribute("class", "rl-handle");
          handle.circle.setAttribute("r", 20);
          handle.circle.addEventListener("pointerdown", (event) => grab(event, key), { signal });
          handleGroup.append(handle.circle);
        }
        handle.at = wanted[key].at;
        write(handle.circle, { cx: wanted[key].x, cy: wanted[key].y });
      }
      for (const key in handles) {
        if (wanted[key]) continue;
        handles[key].circle.remove();
        delete handles[key];
      }
    }
    function grab(event, key) {
      dragging = key;
      event.target.setPointerCapture(event.pointerId);
      event.preventDefault();
    }
    handleGroup.addEventListener(
      "pointermove",
      (event) => {
        if (!dragging || !handles[dragging]) return;
        const box = svg.getBoundingClientRect();
        const scale = box.width / svg.viewBox.baseVal.width;
        moved({ [dragging]: handles[dragging].at((event.clientX - box.left) / scale, (event.clientY - box.top) / scale) });
      },
      { signal },
    );
    for (const type of ["pointerup", "pointercancel"]) {
      handleGroup.addEventListener(type, () => (dragging = null), { signal });
    }

    // ---- the bar: play, moves, reset, the state as text
    let playing = 0;
    if (play) {
      const button = html("button", { type: "button", class: "rl-play" }, "▶ Play");
      let last = 0;
      let carried = 0;
      const stop = () => {
        cancelAnimationFrame(playing);
        playing = 0;
        button.textContent = "▶ Play";
      };
      const tick = (now) => {
        if (!root.isConnected) return stop();
        const { low, high, step } = controls[play.trait];
        // who asks for less motion gets one step a second
        const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
        const unit = controls[play.trait].whole ? step : 1e-9;
        carried += ((now - last) / 1000) * (calm ? 1 : play.perSecond);
        last = now;
        if (carried >= (calm ? 1 : unit)) {
          const gone = controls[play.trait].whole ? Math.floor(carried / step) * step : carried;
          carried -= gone;
          const value = model.get(play.trait) + gone;
          moved({ [play.trait]: value > high ? low : value });
        }
        playing = requestAnimationFrame(tick);
      };
      button.addEventListener("click", () => {
        if (playing) return stop();
        button.textContent = "⏸ Pause";
        last = performance.now();
        playing = requestAnimationFrame(tick);
      });
      bar.append(button);
    }
    for (const { label, move } of buttons) {
      const button = html("button", { type: "button" }, label);
      button.addEventListener("click", () => moved(move(read())));
      bar.append(button);
    }
    const reset = html("button", { type: "button", class: "rl-reset" }, "Reset");
    reset.addEventListener("click", () =>
      moved(Object.fromEntries(names.map((key) => [key, controls[key].initial]))),
    );
    const copy = html("button", { type: "button", class: "rl-copy" }, "Copy");
    copy.setAttribute("aria-label", "Copy this state as Python");
    copy.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(code.textContent);
        copy.textContent = "Copied";
      } catch {
        // no clipboard here: the line is selected, to be copied by hand
        getSelection().selectAllChildren(code);
        copy.textContent = "Selected";
      }
      setTimeout(() => (copy.textContent = "Copy"), 1500);
    });
    bar.append(reset, html("span", { class: "rl-python" }, code, copy));

    // JupyterLab: keys pressed in a control are the control's, not the notebook's (the mark must stand on it)
    for (const input of root.querySelectorAll("input, select, button")) {
      input.setAttribute("data-lm-suppress-shortcuts", "true");
    }

    // ---- the page's address holds the state, so that it can be linked
    let writing;
    let written = "";
    function remember() {
      if (!inPage) return;
      clearTimeout(writing);
      writing = setTimeout(() => {
        written = toHash(name, controls, read());
        history.replaceState(history.state, "", written);
      }, 300);
    }
    function recall(scroll) {
      if (location.hash === written) return;
      const state = fromHash(name, controls, location.hash);
      if (!state) return;
      for (const key of names) model.set(key, state[key]);
      if (scroll) root.scrollIntoView({ block: "center" });
    }

    const redraw = () => {
      if (!byHand) paint();
    };
    for (const key of names) model.on(`change:${key}`, redraw);
    // what stands below must not jump when a sentence takes another line: each part keeps its greatest height
    const parts = [words, controlBox, bar];
    const steady = new ResizeObserver((entries) => {
      for (const { target } of entries) {
        const least = Number.parseFloat(target.style.minHeight) || 0;
        if (target.offsetHeight > least) target.style.minHeight = `${target.offsetHeight}px`;
      }
    });
    for (const part of parts) steady.observe(part);
    const watch = new ResizeObserver(() => {
      const now = Math.round(clamp(picture.clientWidth, 240, 760));
      if (picture.clientWidth && now !== width) {
        width = now;
        for (const part of parts) part.style.minHeight = "";
        paint();
        root.dataset.ready = "true";
      }
    });

    el.append(root);
    if (inPage) {
      recall(true);
      addEventListener("hashchange", () => recall(true), { signal });
    }
    width = picture.clientWidth ? Math.round(clamp(picture.clientWidth, 240, 760)) : 0;
    paint();
    clearTimeout(speaking); // nothing has moved yet
    root.dataset.ready = "true";
    watch.observe(picture);
    root.still = () => still(svg, title, readout(read()));

    return () => {
      stops.abort();
      watch.disconnect();
      steady.disconnect();
      cancelAnimationFrame(playing);
      clearTimeout(writing);
      clearTimeout(speaking);
      for (const key of names) model.off(`change:${key}`, redraw);
      root.remove();
    };
  }
  return { render };
}

/** The picture as a file of its own: light colours, white ground, its words inside. */
function still(svg, title, description) {
  const copy = svg.cloneNode(true);
  copy.querySelectorAll(".rl-handle").forEach((handle) => handle.remove());
  copy.setAttribute("xmlns", SVG);
  copy.setAttribute("font-family", "system-ui, 'DejaVu Sans', sans-serif");
  const words = document.createElementNS(SVG, "desc");
  words.textContent = description;
  const ground = document.createElementNS(SVG, "rect");
  for (const [name, value] of Object.entries({ width: "100%", height: "100%", fill: LIGHT.paper })) {
    ground.setAttribute(name, value);
  }
  copy.prepend(words, ground);
  copy.setAttribute("aria-label", title);
  return new XMLSerializer().serializeToString(copy).replace(/var\(--rl-([a-z-]+)\)/g, (_, name) => LIGHT[name]);
}
