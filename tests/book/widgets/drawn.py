"""Figures drawn in V8 by a pen that only records words: the texts of any state, without a browser."""

import json
import random
from collections.abc import Iterator
from typing import Any

from py_mini_racer import MiniRacer

from rope_book.widgets import LiveFigure
from rope_book.widgets._bundle import modules, scopes
from rope_book.widgets._modules import constant
from rope_book.widgets._traits import Control, Slider

from .v8 import START

SAID = """
globalThis.btoa ??= () => "";
const only = (names) => viewOf(names ?? undefined, Object.keys(controls));
function placed(x, y, words, { anchor = "start", size = 13, weight = 400, turn } = {}) {
    const [text, wide] = [String(words), textWidth(String(words), size, weight > 500)];
    const left = x - { start: 0, middle: wide / 2, end: wide }[anchor];
    return { text, size, left: turn ? x : left, right: turn ? x : left + wide };
}
const noting = (texts) => new Proxy({}, { get: (_, name) => (...given) => {
    if (name === "text") texts.push(placed(...given));
    if (name === "part") given[0]();
} });
function madeState(values) {
    const held = Object.fromEntries(Object.values(controls).map((each) => [each.name, each.initial]));
    const model = {
        get: (name) => (name === "_controls" ? Object.values(controls) : held[name]),
        set: (name, value) => { held[name] = value; },
        save_changes() {}, on() {}, off() {},
    };
    const state = makeState(model, figure.follow);
    for (const [name, value] of Object.entries(values)) state.move({ [name]: value });
    return state.read();
}
function said(values, width, names) {
    const { only: _, ...view } = only(names);
    const state = madeState(values);
    for (const _ of figure.work?.(state, true) ?? []) {}
    const texts = [];
    const height = figure.height(width, state, view);
    const drawn = figure.draw(noting(texts), state, { width, height, ...view }) ?? {};
    const marks = Object.keys(drawn.marks ?? {});
    const words = { title: figure.title, buttons: (figure.buttons ?? []).map(({ label }) => label) };
    const handles = Object.entries(drawn).filter(([trait, { at } = {}]) => trait in controls && at);
    const held = Object.fromEntries(handles.map(([trait, { x, y, at }]) => [trait, at(x, y)]));
    const results = figure.results?.(state);
    return { ...words, state, results, texts, height, marks, held, readout: joined(figure.readout(state, view)) };
}
"""
PASTED = (
    '{"model_type": "a_name_that_nobody_knows", "head_dim": 8, "rope_theta": 10000.5, '
    '"max_position_embeddings": 4096, "rope_scaling": {"type": "su", "short_factor": [1, 1, 1, 1], '
    '"long_factor": [1, 2.5, 4, 64], "factor": 8, "original_max_position_embeddings": 512}}'
)
MARKED = """globalThis.RopeWords = new Proxy({}, { get: (_, key) => typeof key === "string"
    ? "⟦" + key.replace(/\\{(\\d+)\\}/g, "⟧{$1}⟦") + "⟧" : undefined });
"""  # each template in brackets, the values put into it outside them


def along(slider: Slider, share: float) -> float:
    """Return the value at a share of the slider's way."""
    low, high, start = slider.low, slider.high, 1 if slider.low == 0 else 0  # a logarithmic one from 0
    ratio = (high + start) / (low + start) if slider.log else 1
    return (low + start) * ratio**share - start if slider.log else low + share * (high - low)


def moved(control: Control, chance: random.Random) -> Any:
    """Return a value that a reader may set a control to."""
    if control.kind == "slider":
        share = chance.choice([0, 1, chance.random(), chance.random()])
        value = min(control.high, max(control.low, along(control, share)))
        return round(value) if control.whole else round(value, 3)
    if control.kind == "point":
        return [round(chance.uniform(-control.limit, control.limit), 2) for _ in "xy"]
    if control.kind == "choice":
        return chance.choice(list(control.options))
    if control.kind == "toggle":
        return chance.random() < 0.5
    if control.kind == "sketch":
        count = chance.choice([0, control.most, chance.randint(0, control.most)])
        return [round(chance.uniform(-1, 1), 2) for _ in range(count)]
    if control.kind == "numbers":
        count = chance.choice([0, control.most, chance.randint(0, control.most)])
        return [round(chance.uniform(control.low, min(control.high, 9)), 2) for _ in range(count)]
    if control.kind == "paste":
        return chance.choice(["", "", "{", PASTED, PASTED.replace("8", "-8")])
    if control.kind == "text":
        return "".join(chance.choices(control.letters, k=chance.randint(0, 20)))
    words = ["the", "dog", "chases", "the", "pig", "now"][: chance.randint(1, control.max_words)]
    return " ".join(chance.sample(words, len(words)))


def states(name: str, count: int) -> Iterator[dict[str, Any]]:
    """Yield the first state of a figure, each control moved alone, then seeded random moves of several."""
    chance, controls = random.Random(name), LiveFigure.figures[name].controls()
    yield {}
    for trait, control in controls.items():
        for value in control.options if control.kind == "choice" else [moved(control, chance)] * 2:
            yield {trait: value}
    for _ in range(count):
        some = chance.sample(list(controls), chance.randint(1, len(controls)))
        yield {trait: moved(controls[trait], chance) for trait in some}


class Drawn:
    """A figure's script in V8; ``table`` is a script that the page runs before it."""

    replaced = "$lib$figure.live = (figure) => figure;"  # what a figure imports, made plain

    def __init__(self, name: str, table: str = "") -> None:
        figure = LiveFigure.figures[name]
        script = f"figures/{figure.module_name()}"
        before = [
            each
            for each in modules(script, "lib/state", "lib/leads", "lib/phrase", "lib/words")
            if each != script
        ]
        made = figure()
        text = f"""{table}{scopes(*before)}
{self.replaced}
{scopes(script, without=before)}
const figure = {constant(script)}.default;
const {{ makeState }} = $lib$state;
const {{ viewOf }} = $lib$leads;
const {{ joined }} = $lib$phrase;
const {{ textWidth }} = $lib$words;
const controls = Object.fromEntries({json.dumps(made._controls)}.map((each) => [each.name, each]));
{START}{SAID}0"""
        self.engine = MiniRacer()
        self.engine.eval(text)

    def said(self, values: dict[str, Any], width: int = 640, only: list[str] | None = None) -> dict[str, Any]:
        """Return the words of a state: title, buttons, texts with their places, readout; and the settled state."""
        call = f"said({json.dumps(values)}, {width}, {json.dumps(only)})"
        return json.loads(self.engine.eval(f"JSON.stringify({call})"))

    def close(self) -> None:
        """End V8."""
        self.engine.close()
