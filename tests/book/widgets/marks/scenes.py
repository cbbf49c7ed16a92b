"""Readers of scenes: planes, rails, stems and texts."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from rope_book.results.page_models import PageModel, load_page_models
from rope_book.widgets.fern import spec_of
from rope_book.widgets.maths import fern as ferns
from rope_book.widgets.maths import long_text
from rope_book.widgets.maths.damage import CASES, damage, right_words
from rope_book.widgets.maths.derivation import PLACES, encoder, slide, steps_of, turns_of
from rope_book.widgets.maths.order import read_words
from rope_book.widgets.maths.rail import rail_score, turned_arrow
from rope_book.widgets.model_in_the_page import rope_of
from rope_edu.encodings import RopeSpec, inv_freq

from . import Reading, reads
from .picture import Picture, Scale, directions, number, says, scale, towards

CELLS = 128  # of a picture of attention, at most, across


@reads("ComplexPlane")
def complex_plane(drawn: Picture, figure: Any) -> Iterator[Reading]:
    """Read the encoded pairs in the plane, and the chart of the line."""
    q, k, m, n = complex(*figure.q), complex(*figure.k), figure.position, figure.key_position
    f, distance = encoder(figure.candidate, figure.inv_freq), m - n
    cx, cy, unit = drawn.shapes("circle", stroke="grid")[0]

    def read(**style: Any) -> np.ndarray:
        tips = np.array(drawn.shapes("arrow", **style))[:, 2:]
        return ((tips - [cx, cy]) / [unit, -unit]) @ [1, 1j]

    yield "given", read(dash="5 4", stroke="q"), [q]
    at_equal = {1: (0, None), 2: (m, n), 3: (m, m), 4: (m, m), 5: (m, None), 6: (m, n)}[figure.line]
    wide = 2.5 if figure.line in (2, 6) else 3.5
    yield "f(q)", read(stroke="q", width=wide), [f(q, at_equal[0])]
    if at_equal[1] is not None:
        yield "f(k)", read(stroke="k", width=wide), [f(k, at_equal[1])]
    if figure.line == 1:
        return
    across = {
        2: "n, with m − n kept (tokens)",
        5: "from m to m + 1 (tokens)",
        6: "n, with m − n kept (tokens)",
    }
    up = {
        2: "Product: length, angle (rad)",
        3: "Length times length",
        4: "Turned so far, φ(m) (rad)",
        5: "Step of q (rad)",
        6: f"Score at distance {distance}".replace("-", "−"),
    }
    chart = drawn.chart(across.get(figure.line, "position m of both (tokens)"), up[figure.line])
    products = np.array(slide(f, q, k, distance))
    if figure.line == 5:
        bars = drawn.shapes("rect", fill="position")
        tops = chart.y.read([bar[1] + bar[3] for bar in bars])
        yield "steps", tops, steps_of(f, q)
        return
    first, curves = drawn.shapes("curve", width=1.8), {}
    curves = [chart.at(path) for path in first]
    starts = max(0, -distance) if figure.line in (2, 6) else 0
    wanted = {
        2: [np.abs(products)],
        3: [[abs(f(q, p)) * abs(f(k, p)) for p in PLACES]],
        4: [turns_of(f, q), turns_of(f, k)],
        6: [products.real],
    }[figure.line]
    for (x, y), values in zip(curves, wanted, strict=False):
        yield "positions", x, starts + np.arange(len(values))
        yield "values", y, values
    if figure.line == 2 and np.abs(products).min() > 1e-6:
        yield "angles", towards(curves[1][1]), towards(np.angle(products))


@reads("WordsOnARail")
def words_on_a_rail(drawn: Picture, figure: Any) -> Iterator[Reading]:
    """Read each word's arrow at its position, the distance, and the needle."""
    arrows = drawn.shapes("arrow")
    for word, ink, place in (("pig", "k", figure.pig), ("dog", "q", figure.dog)):
        (arrow,) = drawn.shapes("arrow", stroke=ink)
        yield word, directions([arrow])[0], turned_arrow(word, figure.start + place)
    x1, y1, x2, y2 = arrows[-1]
    angle = np.arctan2(y1 - y2, x2 - x1)
    yield "the needle", 1 - 2 * angle / np.pi, figure.score
    yield (
        "score",
        drawn.said("^score (.*)"),
        [round(rail_score(round(figure.pig) - round(figure.dog)), 2) + 0.0],
    )
    yield "distance", drawn.said("^(.*) apart"), [abs(round(figure.pig) - round(figure.dog))]
    numbers = [(y, x, number(words)) for x, y, words, _ in drawn.texts if words.isdigit()]
    rail = scale(*zip(*(each[1:] for each in numbers if each[0] == numbers[0][0]), strict=True))
    spots = drawn.shapes("circle", fill="paper", width=2.5)
    yield (
        "positions",
        rail.read([spot[0] for spot in spots]),
        [figure.start + figure.pig, figure.start + figure.dog],
    )


@reads("Fern")
def fern(drawn: Picture, figure: Any) -> Iterator[Reading]:
    """Read the stem joint by joint, the score at every distance, and the words' place on the rail."""
    if figure.shown != "one" or figure.gathered < 1:
        return
    spec = spec_of(figure)
    content = {"lengths": figure.lengths, "angles": figure.angles}
    ends = [(y - 4, number(words)) for _, y, words, style in drawn.texts if style.get("anchor") == "end"]
    heights = scale(*zip(*((y, value) for y, value in ends if np.isfinite(value)), strict=True))
    stem = drawn.shapes("curve", stroke="position")
    joints = np.array([point for part in stem for point in part[(part is not stem[0]) :]])
    wanted = ferns.fern(spec.inv_freq, spec.attention_factor, figure.distance, **content)
    yield "heights of the joints", heights.read(joints[:, 1]), wanted[:, 1]
    unit = heights.read([0])[0] - heights.read([1])[0]
    yield "sideways", (joints[:, 0] - joints[0, 0]) * unit, wanted[:, 0]
    marks = [
        (x, number(words))
        for x, _, words, style in drawn.texts
        if style.get("size") == 12 and np.isfinite(number(words)) and style.get("anchor") == "middle"
    ]
    x, ticks = np.array(marks).T
    rail = Scale(x, np.log10(1 + ticks))
    yield "the pig", rail.read(drawn.shapes("circle", fill="k")[0][0]), np.log10(1 + figure.distance)
    walked = np.array(drawn.shapes("curve", stroke="score", width=2.6)[0])
    yield "the score here", heights.read(walked[-1:, 1]), wanted[-1:, 1]
    along = 10 ** rail.read(walked[:, 0]) - 1
    scores = [ferns.fern(spec.inv_freq, spec.attention_factor, r, **content)[-1, 1] for r in along]
    yield "scores", heights.read(walked[:, 1]), scores


@reads("OrderBlindness")
def order_blindness(drawn: Picture, figure: Any) -> Iterator[Reading]:
    """Read the outputs in the plane by the number at its edge, and the weights in percent."""
    first, second = (
        read_words(text.split(), causal=figure.causal, layers=figure.layers)
        for text in (figure.sentence, figure.rearranged)
    )
    cross = next(line for line in drawn.shapes("line", stroke="grid") if line[1] == line[3])
    reach = next(
        number(words)
        for *_, words, style in drawn.texts
        if style.get("anchor") == "end" and np.isfinite(number(words))
    )
    (cx, cy), unit = ((cross[0] + cross[2]) / 2, cross[1]), (cross[2] - cross[0]) / 2 / reach
    for name, r, (_, outputs) in (("second", 5, second), ("first", 8.5, first)):
        dots = [dot for dot in drawn.shapes("circle") if dot[2] == r][: len(outputs)]
        yield f"outputs, {name}", (np.array(dots)[:, :2] - [cx, cy]) / [unit, -unit], outputs
    cells = [
        number(words)
        for *_, words, style in drawn.texts
        if style.get("size") == 12 and style.get("anchor") == "middle" and words.isdigit()
    ]
    weights = 100 * second[0][np.tril(np.ones_like(second[0], bool)) if figure.causal else slice(None)]
    yield "weights", np.abs(np.array(cells[-weights.size :]) - weights.ravel()).max() <= 0.5000001, True


@reads("ReadTheDamage")
def read_the_damage(drawn: Picture, figure: Any) -> Iterator[Reading]:
    """Read both texts word by word, or the factors of all mistakes with such a text."""
    if figure.task not in ("guess", "choose"):
        alike = [
            each for each in damage()["mistakes"] if each["written"][figure.prompt]["looks"] == figure.task
        ]
        right = damage()["right"]["perplexity"]
        worst = [
            max((bad or np.inf) / good for bad, good in zip(each["perplexity"], right, strict=True))
            for each in alike
        ]
        factors = [words.removeprefix("× ") for words in drawn.words if words.startswith("× ")]
        shown = [
            words == "∞" if np.isinf(times) else says(words, times)
            for words, times in zip(factors, worst, strict=True)
        ]
        yield "times as perplexed", shown, [True] * len(alike)
        return
    name = CASES[figure.number - 1] if figure.task == "guess" else figure.mistake
    mistakes = {each["name"]: each for each in damage()["mistakes"]}
    found, beside = mistakes[name], damage()["right"]
    if figure.task == "guess" and figure.guess not in ("none", name):
        beside = mistakes[figure.guess]
    headings = [n for n, (*_, style) in enumerate(drawn.texts) if style.get("weight") == 600]
    shared = right_words(*(each["written"][figure.prompt]["text"] for each in (found, beside)))
    for text, start, end in zip((beside, found), headings, (*headings[1:], None), strict=True):
        pieces = [(words, style["fill"]) for *_, words, style in drawn.texts[start + 1 : end]]
        shown = [words for words, _ in pieces if not words.startswith("↵")]
        yield "the words", shown == text["written"][figure.prompt]["text"].split()[: len(shown)], True
        yield "how many", len(pieces) <= figure.words and bool(shown) == (figure.words > 1), True
        grey = sum(fill == "var(--rl-muted)" for _, fill in pieces)
        yield "the same in both", grey, min(len(pieces), shared)


@reads("ModelInThePage")
def model_in_the_page(drawn: Picture, figure: Any) -> Iterator[Reading]:
    """Read the model's answers by place, and the farthest angle of each pair in training and now."""
    from rope_book.training.answers import answered

    model, spec = load_page_models()[figure.task], rope_of(figure)
    (chart,) = (chart for chart in drawn.charts() if chart.x_label.startswith("place in the text ("))
    labels = {"right": "Right answers (%)", "loss": "Loss (nats)"}
    yield "the measure", chart.y_label == labels[figure.measure], True
    foot, size = chart.y.pixels[0], long_text.bin_size(model.length, figure.times)
    bars = sorted(bar for bar in drawn.shapes("rect", width=0.7) if abs(bar[1] + bar[3] - foot) < 0.01)
    right, loss = answered(model, spec, 1 + figure.times * model.length)
    rows = (100 * right if figure.measure == "right" else loss)[:, 1:]
    means = [mean for mean in long_text.means(rows, size) if np.isfinite(mean)]
    yield "answers", chart.y.read([bar[1] for bar in bars]), means[: len(bars)], 2e-3
    yield from attention_field(drawn, figure, model, spec)
    row = next(y for _, y, words, _ in drawn.texts if words == "0.0001")
    turns = scale(*zip(*((x, number(words)) for x, y, words, _ in drawn.texts if y == row), strict=True))
    known = long_text.turns_within(inv_freq(model.head_dim, model.base), model.length + 1)
    edges, now = (
        [
            x + wide
            for x, y, wide, _ in drawn.shapes("rect", **style)
            if abs(x - turns.pixels[0]) < 0.01 and y < row
        ]
        for style in (
            {"stroke": "text", "width": 1, "fill": None},
            {"fill": "position", "stroke": None, "opacity": None},
        )
    )
    yield "angles in training", turns.read(edges), np.maximum(known, 1e-4)
    met = np.minimum(long_text.turns_within(spec.inv_freq, figure.times * model.length + 1), known)
    yield "of them now", turns.read(now), met[met > 1e-4]


def attention_field(drawn: Picture, figure: Any, model: PageModel, spec: RopeSpec) -> Iterator[Reading]:
    """Read the attention weights of the chosen head, the frame of the trained places and the query's row."""
    from rope_book.training.restore import restore

    from ..golden_model import attention_of

    places, (layer, head) = 1 + figure.times * model.length, (int(n) - 1 for n in figure.head.split("."))
    size = -(-places // CELLS)
    weights = attention_of(restore(model, spec), model.texts[0, :places], layer)[head]
    (field, *_), (x, y, side, _) = drawn.fields(), drawn.raster()
    yield "attention", field, long_text.pooled(weights, size)
    unit = side / (size * len(field))
    (frame,) = (rect for rect in drawn.shapes("rect", stroke="position", width=2) if rect[:2] == [x, y])
    yield "the trained places", frame[2] / unit, min(size * len(field), model.length + 1)
    (row,) = (line for line in drawn.shapes("line", stroke="q", dash="3 3") if line[1] == line[3])
    yield "the query's row", (row[1] - y) / unit - 0.5, min(figure.place, places - 1)


@reads("TrainInThePage")
def train_in_the_page(drawn: Picture, figure: Any) -> Iterator[Reading]:
    """Read, before training, how far the trained places reach and how many answers a guess gets right."""
    chart = drawn.chart("place in the text", "Right answers (%)")
    edge = drawn.shapes("line", stroke="text", width=2)[-1]
    yield "trained places", chart.x.read(edge[0]), figure.trained_places
    yield "its words", drawn.said("^trained to (.*)"), [figure.trained_places]
    level = drawn.shapes("line", stroke="text", dash="5 3")[-1]
    yield "guessing", chart.y.read(level[1]), figure.guessing
    total = figure.trained_places + figure.new_places
    yield "all places", chart.x.read(chart.right), total
