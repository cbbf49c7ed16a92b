// Lists the rotations to choose from, each as a llama.cpp setting or an edit to the file, with the Python
// equivalent.

export const PAIRS = 32;
const HELD = 1e9; // stops a pair, because llama.cpp divides the angle by this
const [BASE, TRAINED] = [100_000, 8192];

/** A list of factors that stops the pairs for which `held` returns true. @type {(held: (pair: number) => boolean) => number[]} */
const holding = (held) => Array.from({ length: PAIRS }, (_, pair) => (held(pair) ? HELD : 1));

const STILL =
  "A pair that is held still no longer turns with the position. It goes on counting in the score, whatever the distance.";
const SAVED = "This is done in a copy of the file, and “Save the changed file” stores that copy for other programs.";

/** @type {Record<string, RealChoice>} */
export const CHOICES = {
  right: { words: "Right, as trained", means: "", spec: "model.spec" },
  base: {
    words: "Base 10,000 instead of 100,000",
    means:
      "All pairs but the first turn faster than in training, the slowest nine times as fast. The file stays as it is.",
    settings: { rope_freq_base: 10_000 },
    flags: "--rope-freq-base 10000",
    needs: "plain_rope",
    spec: "plain_rope(64, 10_000)",
  },
  pi: {
    words: "Position interpolation by 4",
    means: "Every position is divided by four, so all pairs turn at a quarter of their speed. The file stays as it is.",
    settings: { rope_scaling_type: "LLAMA_ROPE_SCALING_TYPE_LINEAR", rope_freq_scale: 0.25 },
    flags: "--rope-scaling linear --rope-freq-scale 0.25",
    needs: "position_interpolation",
    spec: `position_interpolation(64, 4, base=${BASE})`,
  },
  yarn: {
    words: "YaRN by 4",
    means: "The fast pairs turn as trained, the slow ones at a quarter of their speed. The file stays as it is.",
    settings: {
      rope_scaling_type: "LLAMA_ROPE_SCALING_TYPE_YARN",
      rope_freq_scale: 0.25,
      yarn_orig_ctx: TRAINED,
    },
    flags: `--rope-scaling yarn --rope-freq-scale 0.25 --yarn-orig-ctx ${TRAINED}`,
    needs: "yarn",
    spec: `yarn(64, 4, ${TRAINED}, base=${BASE})`,
  },
  fastest: {
    words: "The fastest 8 of 32 pairs held still",
    means: STILL,
    edit: { factors: holding((pair) => pair < 8) },
    spec: 'broken("fastest_8_still", model.spec, 0)',
  },
  slowest: {
    words: "The slowest 8 of 32 pairs held still",
    means: STILL,
    edit: { factors: holding((pair) => pair >= PAIRS - 8) },
    spec: 'broken("slowest_8_still", model.spec, 0)',
  },
  layout: {
    words: "The rows of W_q and W_k in the order of the other layout",
    means: "Pairs are now formed from features that were trained in different pairs, as after a wrong conversion.",
    edit: { permute: true },
    spec: 'model.spec.replace(layout="half_split")',
  },
  lost: {
    words: "The key with the base renamed, so that θ is lost",
    means:
      "The file states its base, 100,000, under the key llama.rope.freq_base. If that key is named otherwise, llama.cpp takes its default, 10,000.",
    edit: { forget: "llama.rope.freq_base" },
    needs: "plain_rope",
    spec: "plain_rope(64)",
  },
  hands: {
    words: "All 32 hands, set below",
    means:
      "Each pair is the hand of a clock, which turns as the position grows. Set how fast: 0 holds a hand still, 1 is as trained.",
    spec: "",
  },
};

/** What a choice does, and whether it changes the file. @type {(choice: RealChoice) => string} */
export const explained = ({ means, edit }) => (edit ? `${means} ${SAVED}` : means);

/** The choice with the given name. For "hands", `speeds` are the pairs' speeds relative to training. @type {(name: string, speeds: number[]) => RealChoice} */
export function chosen(name, speeds) {
  if (name !== "hands") return CHOICES[name];
  const factors = speeds.map((speed) => (speed === 0 ? HELD : 1 / speed));
  const spec = `model.spec.replace(inv_freq=model.spec.inv_freq * [${speeds.join(", ")}])`;
  return { ...CHOICES.hands, edit: { factors }, spec };
}

/** The Python code that writes the same text. @type {(choice: RealChoice, text: string, tokens: number) => string} */
export function python({ needs, spec }, text, tokens) {
  const names = spec.startsWith("broken") ? "broken, load" : "load";
  return [
    `from rope_book.real import ${names}`,
    ...(needs ? [`from rope_edu import ${needs}`] : []),
    "",
    "model = load()",
    `spec = ${spec}`,
    `text = ${JSON.stringify(text)}`,
    `print(model.greedy(text, ${tokens}, spec))`,
    "print(model.perplexity(model.ids(text), spec))",
  ].join("\n");
}

/** The llama.cpp command that writes the same text. @type {(name: string, choice: RealChoice, text: string, tokens: number) => string} */
export function command(name, { edit, flags }, text, tokens) {
  const file = edit ? fileName(name) : "SmolLM2-135M-Instruct.Q4_1.gguf";
  const quoted = `'${text.replaceAll("'", "'\\''")}'`;
  return `llama-completion -m ${file} -no-cnv --temp 0 -n ${tokens}${flags ? ` ${flags}` : ""} -p ${quoted}`;
}

/** The file name for an edited file. @type {(name: string) => string} */
export const fileName = (name) => `SmolLM2-135M-${name}.gguf`;
