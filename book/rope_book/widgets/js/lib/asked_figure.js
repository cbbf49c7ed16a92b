// The figure that a question is about: the nearest of its class above the question, as the reader sees them.
import { button } from "./dom.js";
import { phrase } from "./phrase.js";

/** The figure above an element in its notebook or page. @type {(element: Element, name: string) => Element | undefined} */
function above(element, name) {
  const all = [...(element.closest(".jp-Notebook") ?? document).querySelectorAll(`[data-live="${name}"]`)];
  return all.findLast((figure) => figure.compareDocumentPosition(element) & Node.DOCUMENT_POSITION_FOLLOWING);
}

// The figure in the document, reached by events. @param {HTMLElement} root
function inDocument(/** @type {HTMLElement} */ root) {
  const figure = (/** @type {Asked} */ asked) => above(root, asked.figure ?? "");
  const tell = (/** @type {Asked} */ asked, /** @type {string} */ type, /** @type {any} */ detail) =>
    figure(asked)?.dispatchEvent(new CustomEvent(type, { detail }));
  function now(/** @type {Asked} */ asked) {
    const states = /** @type {State[]} */ ([]);
    tell(asked, "rl-ask", { take: (/** @type {State} */ state) => states.push(state) });
    return states.at(0);
  }
  return {
    now,
    isThere: (/** @type {Asked} */ asked) => Boolean(figure(asked)),
    show: (/** @type {Asked} */ asked) => tell(asked, "rl-show", asked.show),
    look: (/** @type {Asked} */ asked) => figure(asked)?.scrollIntoView({ block: "start" }),
    /** @type {(asked: Asked, names?: string[], take?: (name: string) => void) => void} */
    pick: (asked, names, take) => tell(asked, "rl-pick", { id: asked.id, names, take }),
  };
}

// The figure that Python knows, reached through the kernel. @param {Model} model
function inKernel(/** @type {Model} */ model) {
  let turn = 0;
  function show(/** @type {Asked} */ { id, show: state }) {
    turn += 1; // makes an unchanged state count as new, since the user may have moved the figure
    model.set("_show", { id, state, turn });
    model.save_changes();
  }
  /** @type {(asked: Asked, names?: string[], take?: (name: string) => void) => void} */
  function pick({ id }, names, take) {
    takes[id] = take;
    model.send?.({ pick: { id, names } });
  }
  const takes = /** @type {Record<string, ((name: string) => void) | undefined>} */ ({});
  model.on("msg:custom", (content) => takes[content?.picked?.id]?.(content.picked.name));
  const isThere = () => Object.keys(model.get("_now") ?? {}).length > 0;
  const look = (/** @type {Asked} */ { id }) => model.send?.({ look: id });
  return { now: () => model.get("_now"), isThere, show, look, pick };
}

// The figure's {now(asked), show(asked), link(asked, words), pick(asked, names, take)}. In a notebook, Python's figure
// takes over if it was named in code or no figure is above, as in Colab, which keeps each output in its own document.
/** @param {HTMLElement} root @param {Model} model */
export function askedFigure(root, model) {
  const [here, there] = [inDocument(root), inKernel(model)];
  const isPage = model.host === "page";
  const of = (/** @type {Asked} */ asked) => (isPage || (!model.get("_named") && here.isThere(asked)) ? here : there);
  /** @type {(asked: Asked, words?: string) => HTMLElement | undefined} */
  function link(asked, words = phrase`See it in the figure`) {
    if (!asked.figure || !(isPage || there.isThere())) return undefined;
    return button(words, () => of(asked).look(asked), { class: "rl-look" });
  }
  return {
    link,
    now: (/** @type {Asked} */ asked) => of(asked).now(asked),
    show: (/** @type {Asked} */ asked) => of(asked).show(asked),
    /** @type {(asked: Asked, names?: string[], take?: (name: string) => void) => void} */
    pick: (asked, names, take) => of(asked).pick(asked, names, take),
  };
}
