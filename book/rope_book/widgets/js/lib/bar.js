// Builds the bar below the controls: Play, buttons that change several controls, Reset, and the button that shares the
// state.
import { button, html } from "./dom.js";
import { makeFiles } from "./files.js";
import { phrase } from "./phrase.js";
import { makePlay } from "./play.js";
import { makeShare } from "./share.js";
import { initialOf } from "./state.js";

// {element, folded, show(state), playing(), stop()}; `rested()` is called when Play stops. `folded` contains the
// buttons that belong under "More", including those for files. In a small form the bar contains at most Play.
/** @param {Figure} figure @param {Live} state @param {string[] | undefined} only
 * @param {{moved: Moved, leapt: Moved, rested: () => void, tell: Tell, link?: Link, inKernel?: boolean}} calls */
export function makeBar(
  { name, source, play, files, buttons = [] },
  state,
  only,
  { moved, leapt, rested, tell, link, inKernel },
) {
  const element = html("div", { class: "rl-bar" });
  const isShown = (/** @type {string} */ name) => only?.includes(name) ?? true;
  const player = play && isShown(play.trait) ? makePlay(play, state, moved, rested) : undefined;
  if (player) element.append(...player.elements);
  const share = makeShare({ name, source }, state.controls, only, { tell, link, inKernel });
  const pressed = (/** @type {NonNullable<Figure["buttons"]>[number]} */ { label, move, kind }) =>
    button(label, () => leapt(move(state.read())), { class: kind === "primary" ? "rl-primary" : undefined });
  const seldom = buttons.filter(({ kind }) => kind === "seldom").map(pressed);
  const folded = html(
    "div",
    { class: "rl-bar" },
    ...seldom,
    ...(files ? makeFiles(files, state, { moved, tell }) : []),
  );
  const rest = [
    ...buttons.filter(({ kind }) => kind !== "seldom").map(pressed),
    button(phrase`Reset`, () => leapt(initialOf(state.controls)), { class: "rl-reset" }),
    share.element,
  ];
  for (const part of rest) part.hidden ||= Boolean(only);
  element.append(...rest);
  element.hidden = Boolean(only) && !player;
  return {
    element,
    folded,
    show: share.show,
    playing: () => player?.playing() ?? false,
    stop: () => player?.stop(),
  };
}
