// A control for typed text, limited to characters that the model knows. The picture updates with every keystroke.
import { html, say } from "../dom.js";
import { phrase } from "../phrase.js";

/** @type {(control: Control, typed: string) => string[]} */
const known = ({ letters }, typed) => [...typed].filter((letter) => letters.includes(letter));

// A sentence that lists the characters removed from typed text, or "" if none were removed.
function lost(/** @type {Control} */ control, /** @type {string} */ typed) {
  const odd = [...new Set(typed)].filter((letter) => !control.letters.includes(letter));
  const out = odd.length ? phrase`Left out, since the model does not know them: ${odd.join(" ")}.` : "";
  const cut = known(control, typed).length > control.most ? phrase`Cut: at most ${control.most} characters.` : "";
  return [out, cut].filter(Boolean).join(" ");
}

/** @type {ControlKind} */
export const text = {
  allowed: (control, value) => known(control, String(value)).slice(0, control.most).join(""),

  make(control, move, tell) {
    const input = html("input", { type: "text", autocomplete: "off", spellcheck: "false" });
    const note = html("span", { class: "rl-note", "aria-hidden": "true" }); // announced by tell()
    function typed(/** @type {Event} */ event) {
      if (event instanceof InputEvent && event.isComposing) return; // wait until the character is composed
      say(note, lost(control, input.value));
      if (note.textContent) tell(note.textContent);
      move(input.value);
    }
    for (const type of ["input", "compositionend"]) input.addEventListener(type, typed);
    return {
      element: html("label", { class: "rl-control rl-sentence" }, html("span", {}, control.label), input, note),
      show(value) {
        if (input.value !== value) input.value = value;
      },
    };
  },
};
