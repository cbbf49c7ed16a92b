// A control for two numbers, which can also be dragged in the picture.
import { html, typing } from "../dom.js";
import { clamp } from "../numbers.js";

/** @type {ControlKind} */
export const point = {
  allowed: ({ limit }, value, current) =>
    value.map((/** @type {number} */ v, /** @type {number} */ i) =>
      Number.isFinite(v) ? clamp(v, -limit, limit) : current[i],
    ),

  parse: (text) => [0, 1].map((i) => Number(text.split(",")[i] || NaN)),

  make({ label, limit }, move) {
    const inputs = ["x", "y"].map((axis) =>
      html("input", { type: "number", min: -limit, max: limit, step: 0.1, "aria-label": `${label}, ${axis}` }),
    );
    const isTyped = inputs.map(typing);
    for (const input of inputs) {
      input.addEventListener("change", () => move(inputs.map((i) => (i.value === "" ? NaN : Number(i.value)))));
    }
    return {
      element: html("fieldset", { class: "rl-control rl-point" }, html("legend", {}, label), ...inputs),
      show(value) {
        inputs.forEach((input, i) => {
          const text = String(Number(value[i].toFixed(2)));
          if (!isTyped[i]() && input.value !== text) input.value = text;
        });
      },
    };
  },
};
