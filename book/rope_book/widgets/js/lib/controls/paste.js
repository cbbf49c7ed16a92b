// A control for a longer text, typed, pasted or dropped as a file. The text does not appear in the URL, and the
// file never leaves the page.
import { html, say, write } from "../dom.js";
import { textOf } from "../gguf.js";
import { phrase } from "../phrase.js";

/** @type {ControlKind} */
export const paste = {
  allowed: ({ most }, value) => [...String(value)].slice(0, most).join(""),

  make(control, move, tell) {
    const place = phrase`Paste or drop it here: it stays in this page.`;
    const area = html("textarea", { rows: "2", autocomplete: "off", spellcheck: "false", placeholder: place });
    const chosen = html("input", { type: "file", class: "rl-spoken" });
    write(chosen, { "aria-label": phrase`${control.label}, or a file` });
    const note = html("span", { class: "rl-note", "aria-hidden": "true" }); // announced by tell()
    area.addEventListener("input", () => {
      say(note, "");
      move(area.value);
    });
    chosen.addEventListener("change", () => take(chosen.files?.[0]));
    area.addEventListener("dragover", (event) => event.preventDefault());
    area.addEventListener("drop", (event) => {
      const file = event.dataTransfer?.files[0];
      if (!file) return; // leave dragged text to the browser
      event.preventDefault();
      take(file);
    });

    async function take(/** @type {File | undefined} */ file) {
      if (!file) return;
      try {
        move(await textOf(file, control.most));
        say(note, phrase`${file.name} is read.`);
      } catch (error) {
        say(note, phrase`${file.name} is not read: ${/** @type {Error} */ (error).message}.`);
      }
      tell(note.textContent);
    }
    const typed = html("label", {}, html("span", {}, control.label), area);
    const file = html("label", { class: "rl-file" }, html("span", {}, phrase`Choose a file`), chosen);
    return {
      element: html("div", { class: "rl-control rl-paste" }, typed, file, note),
      show(value) {
        if (area.value !== value) area.value = value;
      },
    };
  },
};
