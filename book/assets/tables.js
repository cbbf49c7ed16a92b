// Tables that a reader can search, filter and sort. Without this script, they are plain tables.
(() => {
  "use strict";

  const REST = 300; // ms without typing before the count is announced
  const SENSES = { ascending: 1, descending: -1 };
  const words = (element) => element.textContent.trim();
  const plain = (text) => text.normalize("NFKD").toLowerCase();

  function make(tag, properties, ...inside) {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...inside);
    return element;
  }

  /** The rows of a table, with the words and sort keys of their cells; `order` is the original order. */
  function rowsOf(table) {
    return [...table.tBodies[0].rows].map((element, order) => {
      const cells = [...element.cells].map(words);
      const keys = [...element.cells].map((cell) => cell.dataset.key ?? words(cell));
      return { element, order, cells, keys, text: plain([...cells, ...keys].join(" ")) };
    });
  }

  /** Compare numbers by size and words alphabetically, with missing values last. */
  function compare(a, b, sense) {
    if (a === b) return 0;
    if (a === "–" || b === "–") return a === "–" ? 1 : -1;
    return sense * a.localeCompare(b, "en", { numeric: true });
  }

  function shown(row, state) {
    const sought = plain(state.sought).split(/\s+/);
    return (
      sought.every((word) => row.text.includes(word)) &&
      Object.entries(state.chosen).every(([column, value]) => value === "" || row.keys[column] === value)
    );
  }

  /** Describe the visible rows and their order. */
  function say(left, all, noun, headings, { column, sense }) {
    const sorted = column === null ? "" : `, sorted by ${headings[column]}, ${sense}`;
    return `${left === all ? `All ${all}` : `${left} of ${all}`} ${noun}${sorted}.`;
  }

  function select(heading, column, rows, state, update) {
    const values = [...new Set(rows.map((row) => row.keys[column]))].sort((a, b) => compare(a, b, 1));
    const list = make("select", {}, new Option("all", ""), ...values.map((value) => new Option(value)));
    list.addEventListener("change", () => {
      state.chosen[column] = list.value;
      update();
    });
    return make("label", {}, make("span", { textContent: heading }), list);
  }

  function search(noun, state, update) {
    const field = make("input", { type: "search", autocomplete: "off", spellcheck: false });
    field.addEventListener("input", () => {
      state.sought = field.value;
      update();
    });
    return make("label", { className: "table-search" }, make("span", { textContent: `Search the ${noun}` }), field);
  }

  /** Turn a heading into a sort button: ascending, descending, then the original order. */
  function sorter(heading, column, state, update) {
    const button = make("button", { type: "button", textContent: words(heading) });
    heading.replaceChildren(button);
    button.addEventListener("click", () => {
      const sense = state.column !== column ? "ascending" : state.sense === "ascending" ? "descending" : null;
      Object.assign(state, { column: sense && column, sense });
      update();
    });
  }

  function arrange(table, rows, state) {
    const { column, sense } = state;
    const order = (a, b) =>
      (column === null ? 0 : compare(a.cells[column], b.cells[column], SENSES[sense])) || a.order - b.order;
    for (const row of rows) row.element.hidden = !shown(row, state);
    table.tBodies[0].append(...[...rows].sort(order).map((row) => row.element));
    for (const [n, heading] of [...table.tHead.rows[0].cells].entries()) {
      if (n === column) heading.setAttribute("aria-sort", sense);
      else heading.removeAttribute("aria-sort");
    }
  }

  function bringToLife(box) {
    const table = box.querySelector("table");
    const { noun } = box.dataset;
    const rows = rowsOf(table);
    const headings = [...table.tHead.rows[0].cells];
    const names = headings.map(words);
    const state = { sought: "", chosen: {}, column: null, sense: null };
    const count = make("p", { className: "table-count" });
    count.setAttribute("role", "status");
    let waiting;
    const update = () => {
      arrange(table, rows, state);
      const left = rows.filter((row) => !row.element.hidden).length;
      clearTimeout(waiting);
      waiting = setTimeout(() => (count.textContent = say(left, rows.length, noun, names, state)), REST);
    };
    for (const [column, heading] of headings.entries()) sorter(heading, column, state, update);
    const filters = headings.flatMap((heading, column) =>
      "filter" in heading.dataset ? [select(names[column], column, rows, state, update)] : [],
    );
    box.querySelector(".table-controls").append(search(noun, state, update), ...filters, count);
    count.textContent = say(rows.length, rows.length, noun, names, state);
    box.dataset.ready = "true";
  }

  for (const box of document.querySelectorAll(".search-table")) bringToLife(box);
})();
