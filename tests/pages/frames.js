// Served to an empty page by test_frames.py: draw a figure in many states and say what is wrong with its labels and edges.

/**
 * Where a label's ink may lie, as four corners: from the height of its capitals to its tails, turned as it is. What its
 * box has beyond that is room for accents.
 */
function inkOf(node) {
  const number = (name) => Number(node.getAttribute(name)) || 0;
  const [x, y, size, words] = [number("x"), number("y"), number("font-size"), node.textContent];
  const wide = node.getComputedTextLength();
  const left = x - wide * { start: 0, middle: 0.5, end: 1 }[node.getAttribute("text-anchor") ?? "start"];
  const [top, bottom] = [y - 0.74 * size, y + (/[gjpqyQ,;()|]/.test(words) ? 0.2 : 0) * size];
  const turn = (Number(/rotate\(([-\d.]+)/.exec(node.getAttribute("transform") ?? "")?.[1] ?? 0) * Math.PI) / 180;
  const [c, s] = [Math.cos(turn), Math.sin(turn)];
  const turned = ([px, py]) => [x + c * (px - x) - s * (py - y), y + s * (px - x) + c * (py - y)];
  const corners = [[left, top], [left + wide, top], [left + wide, bottom], [left, bottom]].map(turned);
  const range = (values) => [Math.min(...values), Math.max(...values)];
  return { words, corners, across: range(corners.map(([px]) => px)), down: range(corners.map(([, py]) => py)) };
}

/** Whether two labels may cover each other: their bounds do. */
const meet = (a, b) =>
  a.across[0] < b.across[1] && b.across[0] < a.across[1] && a.down[0] < b.down[1] && b.down[0] < a.down[1];

/** By how much two rectangles, turned or not, lie in each other. */
function overlap(a, b) {
  let least = Infinity;
  for (const corners of [a, b]) {
    for (const i of [0, 1]) {
      const [p, q] = [corners[i], corners[i + 1]];
      const far = Math.hypot(q[0] - p[0], q[1] - p[1]) || 1;
      const along = ([x, y]) => (x * (q[0] - p[0]) + y * (q[1] - p[1])) / far;
      const [one, two] = [a.map(along), b.map(along)];
      least = Math.min(least, Math.max(...one) - Math.min(...two), Math.max(...two) - Math.min(...one));
      if (least <= 0) return 0;
    }
  }
  return least;
}

/** What of a picture leaves it. */
function outside(svg, nodes) {
  const frame = svg.getBoundingClientRect();
  return nodes.flatMap((node) => {
    const box = node.getBoundingClientRect();
    const far = Math.max(frame.left - box.left, box.right - frame.right, frame.top - box.top, box.bottom - frame.bottom);
    if (far <= (node.tagName === "text" ? 2.5 : 1)) return []; // a label's box has room for accents above and below
    const words = node.textContent || [...node.attributes].map((a) => `${a.name}=${a.value}`).join(" ").slice(0, 160);
    return [`${node.tagName} "${words}" leaves the picture by ${far.toFixed(1)} px`];
  });
}

/** Which labels cover each other by more than a pixel. */
function covered(nodes) {
  const labels = nodes.filter((node) => node.tagName === "text").map(inkOf);
  return labels.flatMap((a, i) =>
    labels.slice(i + 1).flatMap((b) => {
      const deep = meet(a, b) ? overlap(a.corners, b.corners) : 0;
      return deep > 1 ? [`"${a.words}" and "${b.words}" cover each other by ${deep.toFixed(1)} px`] : [];
    }),
  );
}

/** Draw the figure in each state at a width, all its work done where `whole`; the faults, each with its state. */
function faults([states, description, width, whole = false]) {
  const place = document.querySelector("#place");
  place.style.width = `${width}px`;
  let state = states[0];
  let changed; // what a figure does when one of its values has changed
  const model = {
    get: (key) => (key === "_controls" ? description : state[key]),
    set() {},
    save_changes() {},
    on(event, listener) {
      if (event === `change:${description[0].name}`) changed = listener;
    },
    off() {},
  };
  const stop = figure.render({ model, el: place });
  const svg = place.querySelector("svg");
  const shown = (node) =>
    !node.matches(".rl-handle, .rl-ring, g, defs, defs *") && // a ring lies around what a hand may take
    node.getAttribute("opacity") !== "0" &&
    (node.tagName !== "text" || node.textContent.trim());
  const found = states.flatMap((next) => {
    state = next;
    changed();
    if (!svg.isConnected) throw new Error("the picture is no longer in the page");
    if (whole) place.firstChild.still();
    const nodes = [...svg.querySelectorAll("*")].filter(shown);
    return [...outside(svg, nodes), ...covered(nodes)].map((fault) => `${fault} in ${JSON.stringify(state)}`);
  });
  stop();
  return found;
}
