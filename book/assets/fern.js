// The first page's fern: scrolling, a slider and keys lead through its stages. A reader who prefers less motion has the stages as
// stills, one below the other; so has a page without scripts. The last stage is the reader's own fern: that of a file, if one is
// brought. It can be saved and heard.
(() => {
  "use strict";
  const tour = document.querySelector(".fern-tour");
  const figure = tour?.querySelector('[data-live="Fern"]');
  if (!figure) {
    tour?.style.setProperty("min-height", "0"); // it could not be drawn
    return;
  }
  const said = JSON.parse(document.getElementById("page-words")?.textContent ?? "{}");
  const say = (text) => said[text] ?? text;
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  const READER = new URL("live/ferns.js", document.currentScript.src);

  function make(name, attributes = {}, ...children) {
    const element = Object.assign(document.createElement(name), attributes);
    element.append(...children);
    return element;
  }

  const slider = figure.querySelector('[data-trait="distance"] input');
  const placed = (distance) => Math.log10(1 + distance);
  const distance = () => 10 ** Number(slider.value) - 1; // the slider is logarithmic from 0

  // The picture as it is now, on a canvas; light, like every still. A browser encodes a smaller one in time.
  const [WIDE, SMALL] = [1280, 640];
  async function paint(canvas, width) {
    const image = make("img", { src: `data:image/svg+xml,${encodeURIComponent(figure.still())}` });
    await image.decode();
    const height = 2 * Math.round((width * image.naturalHeight) / image.naturalWidth / 2); // even, as encoders ask
    if (canvas.height !== height) Object.assign(canvas, { width, height }); // a new size would end a recording
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  }

  function keep(blob, name) {
    const link = make("a", { href: URL.createObjectURL(blob), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  }

  async function savePicture() {
    const canvas = make("canvas");
    await paint(canvas, WIDE);
    canvas.toBlob((blob) => keep(blob, "fern.png"));
  }

  // Six seconds in which the pig walks from the dog to where it is now, and back.
  const LOOP = 6000;
  const KIND = ["webm", "mp4"].find((kind) => window.MediaRecorder?.isTypeSupported(`video/${kind}`));
  async function saveLoop({ target }) {
    target.disabled = true;
    const [far, canvas, parts] = [distance(), make("canvas"), []];
    await paint(canvas, SMALL);
    const recorder = new MediaRecorder(canvas.captureStream(30), { mimeType: `video/${KIND}` });
    recorder.addEventListener("dataavailable", ({ data }) => parts.push(data));
    recorder.addEventListener("stop", () => keep(new Blob(parts, { type: recorder.mimeType }), `fern.${KIND}`));
    recorder.start();
    const since = performance.now();
    for (let share = 0; share < 1; share = (performance.now() - since) / LOOP) {
      const way = (1 - Math.cos(2 * Math.PI * share)) / 2;
      figure.take({ distance: 10 ** (way * placed(far)) - 1 });
      await paint(canvas, SMALL);
      await new Promise(requestAnimationFrame);
    }
    recorder.stop();
    figure.take({ distance: far });
    target.disabled = false;
  }

  // The chord: a voice for each of the twelve fastest pairs of a head of 64 at base 10,000. Neighbours are almost a fourth apart, and a
  // voice is as loud as its hand points up: all together at distance 0, then out of step.
  const [VOICES, TOP, FOURTH] = [12, 1760, 10_000 ** (2 / 64)];
  function startChord(volume) {
    const context = new AudioContext();
    const out = new GainNode(context, { gain: Number(volume.value) });
    out.connect(context.destination);
    const voices = Array.from({ length: VOICES }, (_, i) => {
      const [tone, gain] = [new OscillatorNode(context, { frequency: TOP / FOURTH ** i }), new GainNode(context)];
      tone.connect(gain).connect(out);
      tone.start();
      return gain.gain;
    });
    const tune = () => {
      voices.forEach((gain, i) => {
        const up = (1 + Math.cos(distance() / FOURTH ** i)) / 2;
        gain.setTargetAtTime(up / VOICES, context.currentTime, 0.03);
      });
      out.gain.value = Number(volume.value);
    };
    const timer = setInterval(tune, 40);
    return () => {
      clearInterval(timer);
      context.close();
    };
  }

  function makeSound() {
    const volume = make("input", { type: "range", min: 0, max: 0.6, step: 0.02, value: 0.2 });
    const loudness = make("label", { hidden: true }, make("span", {}, say("Volume")), volume);
    const button = make("button", { type: "button" }, say("Sound"));
    let end;
    function stop() {
      end?.();
      end = undefined;
      loudness.hidden = true;
      button.setAttribute("aria-pressed", "false");
      button.textContent = say("Sound");
    }
    button.addEventListener("click", () => {
      if (end) return stop();
      end = startChord(volume);
      loudness.hidden = false;
      button.setAttribute("aria-pressed", "true");
      button.textContent = say("Silence");
    });
    button.setAttribute("aria-pressed", "false");
    document.addEventListener("visibilitychange", stop);
    addEventListener("pagehide", stop);
    new IntersectionObserver(([seen]) => seen.isIntersecting || stop()).observe(tour);
    return [button, loudness];
  }

  // What reads a file is fetched when the first one is brought. The file stays in this page.
  let fetched;
  const reader = () =>
    (fetched ??= new Promise((done, fail) => {
      const script = make("script", { src: READER, onload: () => done(RopeLive.ferns), onerror: fail });
      document.head.append(script);
    }));

  function makeFile() {
    const area = make("textarea", { rows: 3, autocomplete: "off", spellcheck: false });
    const chosen = make("input", { type: "file", ariaLabel: say("A config.json or GGUF from a file") });
    const note = make("p", { role: "status" });
    const kinds = make("span", { className: "fern-kinds" });
    const label = say("Or paste or drop a config.json or GGUF: it stays in this page");

    function grow(ferns) {
      const [[, first]] = ferns;
      figure.take(first);
      if (ferns.length === 1) return say("This is the fern of your file.");
      const choose = ([layers, settings]) =>
        make("button", { type: "button", onclick: () => figure.take(settings) }, layers);
      kinds.replaceChildren(...ferns.map(choose));
      return say("Your file's layers turn in different ways. Choose some:");
    }
    async function read(text) {
      kinds.replaceChildren();
      note.textContent = "";
      if (!text.trim()) return;
      const { ferns, refused } = (await reader()).readFerns(text);
      if (refused) note.textContent = `${say("This file is not read.")} ${refused}.`;
      else note.textContent = ferns.length ? grow(ferns) : say("No layer of this model rotates, so it has no fern.");
    }
    async function take(file) {
      try {
        area.value = await (await reader()).textOf(file, 65_536);
        await read(area.value);
      } catch (error) {
        note.textContent = `${say("This file is not read.")} ${error.message ?? ""}`;
      }
    }
    area.addEventListener("input", () => read(area.value));
    area.addEventListener("dragover", (event) => event.preventDefault());
    area.addEventListener("drop", (event) => {
      const [file] = event.dataTransfer.files;
      if (!file) return; // dragged text is dropped as usual
      event.preventDefault();
      take(file);
    });
    chosen.addEventListener("change", () => chosen.files[0] && take(chosen.files[0]));
    return make("div", { className: "fern-file" }, make("label", {}, label, area), chosen, note, kinds);
  }

  function makeTools() {
    const picture = make("button", { type: "button", onclick: savePicture }, say("Save as picture"));
    const loop = make("button", { type: "button", onclick: saveLoop }, say("Save as loop of 6 seconds"));
    const records = KIND !== undefined && "captureStream" in HTMLCanvasElement.prototype;
    const sound = "AudioContext" in window ? makeSound() : [];
    return make("div", { className: "fern-tools" }, makeFile(), picture, ...(records ? [loop] : []), ...sound);
  }

  // The stages, as the figure knows them, and a state between two of them.
  const { state } = JSON.parse(tour.querySelector('script[type*="widget-state"]').textContent);
  const [{ state: stored }] = Object.values(state);
  const controls = Object.fromEntries(stored._controls.map((control) => [control.name, control]));
  const stages = controls.stage.rules[0].table;
  const steps = [...tour.querySelectorAll(".fern-step")];
  const names = steps.map(({ id }) => id.replace("fern-", "")).filter((name) => name in stages); // the last is no stage

  function between(from, to, share) {
    const part = (name) => {
      const [a, b, { log, low, kind }] = [from[name], to[name], controls[name]];
      if (kind !== "slider") return share < 0.5 ? a : b;
      const start = low === 0 ? 1 : 0;
      return log ? (a + start) * ((b + start) / (a + start)) ** share - start : a + (b - a) * share;
    };
    return Object.fromEntries(Object.keys(from).map((name) => [name, part(name)]));
  }

  /** The state at a place on the way: at rest around a whole number, in motion between two. */
  function stateAt(place) {
    const at = Math.min(Math.floor(place), names.length - 1);
    const next = Math.min(at + 1, names.length - 1);
    const share = Math.min(1, Math.max(0, (place - at - 0.12) / 0.76));
    if (share === 0 || share === 1 || at === next) return { stage: names[share === 1 ? next : at] };
    return between(stages[names[at]], stages[names[next]], share ** 2 * (3 - 2 * share));
  }

  /** Numbered links to the stages, and a slider along them. */
  function makeWay() {
    const titles = steps.map((step, i) => `${i + 1}: ${step.querySelector("strong").textContent}`);
    const links = steps.map(({ id }, i) => make("a", { href: `#${id}`, ariaLabel: titles[i] }, String(i + 1)));
    const slider = make("input", { type: "range", min: 0, max: steps.length - 1, step: 0.01, value: 0 });
    slider.setAttribute("aria-label", say("Stage of the fern"));
    const list = make("ol", {}, ...links.map((link) => make("li", {}, link)));
    const element = make("nav", { className: "fern-way" }, list, slider);
    element.setAttribute("aria-label", say("Stages of the fern"));
    function show(place, now) {
      for (const [i, link] of links.entries()) {
        if (i === now) link.setAttribute("aria-current", "step");
        else link.removeAttribute("aria-current");
      }
      if (!slider.matches(":active")) slider.value = place;
      slider.setAttribute("aria-valuetext", titles[now]);
    }
    return { element, links, slider, show };
  }

  const OWN = { model: "Llama 3.1 8B", distance: 8000, gathered: 1, start: 0, shown: "one" }; // where the reader's own begins
  const KEYS = { ArrowRight: 1, ArrowUp: 1, PageUp: 1, ArrowLeft: -1, ArrowDown: -1, PageDown: -1, Home: -99, End: 99 };

  function guide() {
    const last = steps.length - 1;
    const way = makeWay();
    const anchors = steps.map(({ id }) => make("span", { className: "fern-anchor", id }));
    for (const step of steps) step.removeAttribute("id"); // the place to scroll to has it
    const texts = make("div", { className: "fern-steps" }, ...steps);
    const view = make("div", { className: "fern-view" }, texts, figure.closest(".live-slot"), way.element);
    tour.append(...anchors, view);
    tour.classList.add("fern-guided");

    let [long, roof, shown, frame] = [1, 0, -1, 0]; // pixels of a stage and of the header, the place that is shown
    const isOwn = () => Math.round(shown) === last;
    function measure() {
      const page = document.documentElement;
      long = Math.round(0.75 * page.clientHeight);
      roof = Number.parseFloat(getComputedStyle(page).scrollPaddingTop) || 0;
      tour.style.setProperty("--fern-roof", `${roof}px`);
      tour.style.setProperty("--fern-height", `${view.offsetHeight + last * long}px`);
      for (const [i, anchor] of anchors.entries()) anchor.style.top = `${i * long}px`;
    }
    function show() {
      frame = 0;
      const place = Math.min(last, Math.max(0, (roof - tour.getBoundingClientRect().top) / long));
      if (Math.abs(place - shown) < 0.001) return; // what the reader has moved stays
      const was = isOwn();
      shown = place;
      for (const [i, step] of steps.entries()) step.classList.toggle("is-now", i === Math.round(place));
      way.show(place, Math.round(place));
      if (!isOwn()) figure.take(stateAt(place));
      else if (!was) figure.take(OWN);
      if (was !== isOwn()) {
        tour.classList.toggle("fern-free", isOwn());
        figure.querySelector(".rl-more").open = isOwn();
      }
    }
    function go(place, behavior) {
      const top = scrollY + tour.getBoundingClientRect().top - roof;
      scrollTo({ top: top + Math.min(last, Math.max(0, place)) * long, behavior });
    }
    way.slider.addEventListener("input", () => go(Number(way.slider.value), "instant"));
    way.slider.addEventListener("keydown", (event) => {
      if (!KEYS[event.key]) return;
      event.preventDefault();
      go(Math.round(shown) + KEYS[event.key], "smooth");
    });
    for (const [i, link] of way.links.entries()) {
      link.addEventListener("click", (event) => {
        event.preventDefault();
        history.replaceState(history.state, "", link.hash);
        go(i, "smooth");
      });
    }
    addEventListener("scroll", () => (frame ||= requestAnimationFrame(show)), { passive: true });
    addEventListener("resize", () => {
      measure();
      show();
    });
    measure();
    new ResizeObserver(measure).observe(view); // the last stage's controls need room
    show();
    anchors.find(({ id }) => `#${id}` === location.hash)?.scrollIntoView();
  }

  figure.append(makeTools());
  if (!calm.matches) guide();
})();
