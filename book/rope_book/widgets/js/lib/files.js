// Saves a figure's file to the user's disk and loads it again, without sending any data over the network.
import { html, say } from "./dom.js";
import { phrase } from "./phrase.js";

/**
 * Create the Save and Load buttons and a status line. `files.save(state)` returns the file's text;
 * `files.load(text, controls)` returns the changes to make, or throws an Error whose message can be shown to the user.
 * @type {(files: NonNullable<Figure['files']>, state: Live, calls: {moved: Moved, tell: Tell}) => HTMLSpanElement[]}
 */
export function makeFiles(files, state, { moved, tell }) {
  const note = html("span", { class: "rl-note" });
  const chooser = html("input", { type: "file", accept: ".json,application/json", hidden: "" });
  chooser.setAttribute("aria-label", phrase`A model that was saved`);

  async function attempt(/** @type {() => Promise<string>} */ act) {
    const words = await act().catch((error) => (error instanceof Error ? error.message : String(error)));
    say(note, words);
    if (words) tell(words);
  }
  const save = () =>
    attempt(async () => {
      const href = URL.createObjectURL(new Blob([await files.save(state.read())], { type: "application/json" }));
      html("a", { href, download: files.name }).click();
      setTimeout(() => URL.revokeObjectURL(href), 10_000);
      return "";
    });
  const load = () =>
    attempt(async () => {
      const file = chooser.files?.[0];
      if (!file) return "";
      chooser.value = ""; // lets the user choose the same file again
      moved(await files.load(await file.text(), state.controls));
      return phrase`Loaded ${file.name}.`;
    });
  const [saving, loading] = [phrase`Save the model`, phrase`Load a model`].map((words) =>
    html("button", { type: "button" }, words),
  );
  saving.addEventListener("click", save);
  loading.addEventListener("click", () => chooser.click());
  chooser.addEventListener("change", load);
  return [saving, loading, chooser, note];
}
