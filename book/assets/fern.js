// The fern on the first page. Scrolling, a slider and links lead through its stages. With reduced motion or without
// scripts, the page shows the stages as stills, one below the other. In the last stage, readers can grow their own
// fern (from a config file if they like), save it as a picture or a loop, and listen to it.
(() => {
  "use strict";
  const tour = document.querySelector(".fern-tour");
  if (!tour) return;
  let figure; // once it is there
  const said = JSON.parse(document.getElementById("page-words")?.textContent ?? "{}");
  const say = (text) => said[text] ?? text;
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  const READER = new URL("live/ferns.js", document.currentScript.src);

  function make(name, attributes = {}, ...children) {
    const element = Object.assign(document.createElement(name), attributes);
    element.append(...children);
    return element;
  }

  /** The figure's distance in tokens. */
  function distance() {
    let now;
    figure.dispatchEvent(new CustomEvent("rl-ask", { detail: { take: (state) => (now = state.distance) } }));
    return now;
  }

  // Paint the current picture on a canvas, in light colours like every still. Browsers can encode the smaller size
  // in real time.
  const [WIDE, SMALL] = [1280, 640];
  async function paint(canvas, width) {
    const image = make("img", { src: `data:image/svg+xml,${encodeURIComponent(figure.still())}` });
    await image.decode();
    const height = 2 * Math.round((width * image.naturalHeight) / image.naturalWidth / 2); // encoders require an even number
    if (canvas.height !== height) Object.assign(canvas, { width, height }); // resizing would end a recording
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

  // A six-second film: the pig walks from the dog to its current position and back.
  const LOOP = 6000;
  async function film(canvas) {
    const [far, since] = [distance(), performance.now()];
    for (let share = 0; share < 1; share = (performance.now() - since) / LOOP) {
      const way = (1 - Math.cos(2 * Math.PI * share)) / 2;
      figure.take({ distance: (1 + far) ** way - 1 }); // the axis is logarithmic
      await paint(canvas, SMALL);
      await new Promise(requestAnimationFrame);
    }
    figure.take({ distance: far });
  }

  const KIND = ["webm", "mp4"].find((kind) => window.MediaRecorder?.isTypeSupported(`video/${kind}`));
  const CODING = 10_000; // time for the browser to encode the last frames, in ms

  /** Record the film. The result is empty if a browser claims to record a format but lacks its encoder. */
  async function record() {
    const [canvas, parts] = [make("canvas"), []];
    await paint(canvas, SMALL);
    const recorder = new MediaRecorder(canvas.captureStream(30), { mimeType: `video/${KIND}` });
    recorder.addEventListener("dataavailable", ({ data }) => parts.push(data));
    const ended = new Promise((end) => {
      for (const event of ["stop", "error"]) recorder.addEventListener(event, end);
    });
    recorder.start();
    await film(canvas);
    if (recorder.state !== "inactive") recorder.stop();
    await Promise.race([ended, new Promise((end) => setTimeout(end, CODING))]);
    return new Blob(parts, { type: recorder.mimeType });
  }

  /** A button that saves the loop, and the sentence that replaces the button if the browser cannot record one. */
  function makeLoop() {
    const button = make("button", { type: "button", onclick: save }, say("Save as loop of 6 seconds"));
    const note = make("span", { role: "status" });
    function refuse() {
      button.hidden = true;
      note.textContent = say("This browser cannot record a loop, but it can save the picture.");
    }
    async function save() {
      button.disabled = true;
      const loop = await record().catch(() => new Blob());
      button.disabled = false;
      if (loop.size) keep(loop, `fern.${KIND}`);
      else refuse();
    }
    if (!KIND) refuse();
    return [button, note];
  }

  // The chord has one voice for each of the twelve fastest pairs of a head of width 64 at base 10,000, tuned almost
  // a fourth apart. The higher a hand points, the louder its voice is. At distance 0 all voices are loud; then they
  // fall out of step.
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
      const now = distance();
      voices.forEach((gain, i) => {
        const up = (1 + Math.cos(now / FOURTH ** i)) / 2;
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
      button.textContent = say("Sound");
    }
    button.addEventListener("click", () => {
      if (end) return stop();
      end = startChord(volume);
      loudness.hidden = false;
      button.textContent = say("Silence");
    });
    document.addEventListener("visibilitychange", stop);
    addEventListener("pagehide", stop);
    new IntersectionObserver(([seen]) => seen.isIntersecting || stop()).observe(tour);
    return [button, loudness];
  }

  // The script that reads files is fetched when the first file is opened. A file never leaves the page.
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
      if (refused) note.textContent = `${say("This file cannot be read.")} ${refused}.`;
      else note.textContent = ferns.length ? grow(ferns) : say("No layer of this model rotates, so it has no fern.");
    }
    async function take(file) {
      try {
        area.value = await (await reader()).textOf(file, 65_536);
        await read(area.value);
      } catch (error) {
        note.textContent = `${say("This file cannot be read.")} ${error.message ?? ""}`;
      }
    }
    area.addEventListener("input", () => read(area.value));
    area.addEventListener("dragover", (event) => event.preventDefault());
    area.addEventListener("drop", (event) => {
      const [file] = event.dataTransfer.files;
      if (!file) return; // the browser handles dragged text
      event.preventDefault();
      take(file);
    });
    chosen.addEventListener("change", () => chosen.files[0] && take(chosen.files[0]));
    return make("div", { className: "fern-file" }, make("label", {}, label, area), chosen, note, kinds);
  }

  function makeTools() {
    const picture = make("button", { type: "button", onclick: savePicture }, say("Save as picture"));
    const sound = "AudioContext" in window ? makeSound() : [];
    return make("div", { className: "fern-tools" }, makeFile(), picture, ...makeLoop(), ...sound);
  }

  // The figure's state in each stage. A stage applies wherever its sentence is visible, so the two never disagree.
  const OWN = { model: "Llama 3.1 8B", distance: 8000, gathered: 1, start: 0, shown: "one" };
  const steps = [...tour.querySelectorAll(".fern-step")];
  const states = steps.map(({ id }) => (id === "fern-yours" ? OWN : { stage: id.replace("fern-", "") }));

  /** Numbered links to the stages, and a slider that moves through them. */
  function makeWay() {
    const titles = steps.map((step, i) => `${i + 1}: ${step.querySelector("strong").textContent}`);
    const links = steps.map(({ id }, i) => make("a", { href: `#${id}`, ariaLabel: titles[i] }, String(i + 1)));
    const slider = make("input", { type: "range", min: 0, max: steps.length - 1, value: 0 });
    slider.setAttribute("aria-label", say("Stage of the fern"));
    const list = make("ol", {}, ...links.map((link) => make("li", {}, link)));
    const element = make("nav", { className: "fern-way" }, list, slider);
    element.setAttribute("aria-label", say("Stages of the fern"));
    function show(place) {
      for (const [i, link] of links.entries()) {
        if (i === place) link.setAttribute("aria-current", "step");
        else link.removeAttribute("aria-current");
      }
      if (!slider.matches(":active")) slider.value = place;
      slider.setAttribute("aria-valuetext", titles[place]);
    }
    return { element, links, slider, show };
  }

  function guide() {
    const last = steps.length - 1;
    const way = makeWay();
    const anchors = steps.map(({ id }) => make("span", { className: "fern-anchor", id }));
    for (const step of steps) step.removeAttribute("id"); // the id moves to the scroll target
    const texts = make("div", { className: "fern-steps" }, ...steps);
    const view = make("div", { className: "fern-view" }, texts, figure.closest(".live-slot"), way.element);
    tour.append(...anchors, view);
    tour.classList.add("fern-guided");

    let [long, roof, shown, frame] = [1, 0, -1, 0]; // pixels per stage, header height in pixels, stage shown
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
      const place = Math.round((roof - tour.getBoundingClientRect().top) / long);
      const now = Math.min(last, Math.max(0, place));
      if (now === shown) return; // keep whatever the reader has moved
      shown = now;
      for (const [i, step] of steps.entries()) step.classList.toggle("is-now", i === now);
      way.show(now);
      figure.leap(states[now]);
      tour.classList.toggle("fern-free", now === last);
      figure.querySelector(".rl-more").open = now === last;
    }
    function go(place, behavior) {
      const top = scrollY + tour.getBoundingClientRect().top - roof;
      scrollTo({ top: top + place * long, behavior });
    }
    way.slider.addEventListener("input", () => go(Number(way.slider.value), "instant"));
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
    new ResizeObserver(() => requestAnimationFrame(measure)).observe(view); // the last stage's controls make it taller
    show();
    anchors.find(({ id }) => `#${id}` === location.hash)?.scrollIntoView();
  }

  function begin() {
    figure ??= tour.querySelector('[data-live="Fern"]');
    if (!figure) return;
    figure.append(makeTools());
    if (!calm.matches) guide();
  }
  tour.addEventListener("rl-alive", begin);
  tour.addEventListener("rl-failed", () => tour.style.setProperty("min-height", "0"));
})();
