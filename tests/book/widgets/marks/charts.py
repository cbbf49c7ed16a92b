"""Readers of charts: curves at all their points, cursors, and the numbers that ticks and labels say."""

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from rope_book.results import MODELS, load_grid
from rope_book.results.grid import Grid
from rope_book.widgets._grid import ENCODINGS
from rope_book.widgets.angle_error import STEPS
from rope_book.widgets.config_inspector import reading_of
from rope_book.widgets.maths.error_curve import error_curve
from rope_book.widgets.maths.example_bias import bias_curve, table_entry
from rope_book.widgets.maths.gained import K, Q, gained_pair, gained_score
from rope_book.widgets.maths.length import REMEDIES, TOKENS, costs
from rope_book.widgets.maths.sharpness import matching_share, sharing_keys
from rope_book.widgets.maths.stretch import RULES, score_trend, stretched
from rope_book.widgets.maths.two_layouts import DISTANCE, score_of
from rope_book.widgets.score_distance import head_of
from rope_doctor.precision import Pipeline, pipeline_cos_sin
from rope_edu.attention import softmax
from rope_edu.encodings import (
    inv_freq,
    llama3,
    mean_cosine,
    ntk_by_parts,
    roformer_bound,
    score_curve,
    wavelength,
    yarn,
    yarn_mscale,
)

from . import Reading, reads
from .picture import Chart, Picture, directions, says, towards

TURN = 2 * np.pi


@reads("AngleError")
def angle_error(drawn: Picture, figure: Any) -> Iterator[Reading]:
    """Read the error's curve and its dot, and the worst pair's exact hand."""
    step, of = figure.measure == "step", {True: "a token's turn", False: "an angle"}
    chart = drawn.chart("position m (tokens, logarithmic)", f"Largest error of {of[step]} up to m (radians)")
    frequencies = inv_freq(figure.head_dim, figure.base)
    pipeline = Pipeline(*(getattr(figure, f"{name}_in") for name in STEPS))
    at, largest = error_curve(frequencies, pipeline, int(step))
    x, y = chart.at(drawn.shapes("curve", stroke="other", width=4)[0])
    known = np.isin(np.round(x).astype(int), at)
    yield "positions of the curve", np.unique(np.round(x[known])), at
    wanted = np.array(largest)[np.searchsorted(at, np.round(x[known]))]
    wanted = np.where(x[known] < figure.position, wanted, np.maximum(wanted, np.nan_to_num(figure.error)))
    own = x[known] != figure.position
    pixel = np.log10(1.1)  # the script leaves out what would raise the curve by less
    yield "largest errors", np.log10(y[known][own]), np.maximum(np.log10(wanted + 1e-300), -9.5)[own], pixel
    if np.isfinite(figure.error):
        (dot,) = drawn.shapes("circle", r=None, fill="other", stroke="text", width=1.5)
        yield "the dot", chart.at([dot])[:, 0], [figure.position, max(figure.error, 10**-9.5)]
    pair = int(drawn.said(r"^Pair (\d+)")[0])
    exact = (1 if step else figure.position) * frequencies[pair]
    hand = drawn.shapes("line", stroke="text", width=2, dash="5 3")[0]
    yield "the exact hand", directions([hand])[0], towards(exact)
    yield "its number", says(drawn.found(r"^exact: (.*?) rad")[0], exact % TURN), True
    if np.isfinite(figure.error):
        places = [figure.position, figure.position - step]
        to, start = pipeline_cos_sin(places, frequencies[[pair]], pipeline)[:, 0]
        turned = np.angle(to * np.conj(start) if step else to)
        (found,) = drawn.shapes("line", stroke="other", width=5)[:1]
        yield "the pipeline's hand", directions([found])[0], towards(turned)
        yield "its number", says(drawn.found(r"^pipeline: (.*?) rad")[0], turned % TURN), True


@reads("BaseBound")
def base_bound(drawn: Picture, figure: Any) -> Iterator[Reading]:
    """Read the mean cosine, its first negative distance, and the models' bases and contexts."""
    chart = drawn.chart("distance r (tokens)", "Mean of cos(r·θ)")
    x, y = chart.at(drawn.shapes("curve", stroke="score")[0])
    means = mean_cosine(inv_freq(figure.head_dim, figure.base), np.round(x))
    yield "whole distances", x, np.round(x)
    yield "mean cosines", y, np.maximum(means, -0.25)
    (tick,) = drawn.shapes("line", width=2.5, stroke="text")
    yield "first negative", chart.x.read(tick[0]), figure.first_negative
    yield "its words", drawn.said(r"^first negative: (.*)"), [figure.first_negative]
    (dot,) = drawn.shapes("circle", fill="position", width=1.5)[1:2]  # after the legend's
    yield "the context's mean", chart.at([dot])[:, 0], [figure.context, max(figure.at_context, -0.25)]
    yield "the context's words", drawn.said(r"^context (.*)"), [figure.context]
    plane = drawn.chart("base b", "Context (tokens)")
    yield (
        "this state",
        plane.at(drawn.shapes("circle", fill="position", width=1.5)[-1:])[:, 0],
        [
            figure.base,
            figure.context,
        ],
    )
    dots = [dot for dot in drawn.shapes("circle", fill="value") if dot[2] == 4.5][1:]  # after the legend's
    others = [(model.base, model.context) for model in MODELS if model.name != figure.model]
    yield "models", plane.at(dots), np.array(others).T


@reads("BiasMatrix")
def bias_matrix(drawn: Picture, figure: Any) -> Iterator[Reading]:
    """Read the biases, the attention weights, and the colours of all pairs."""
    table = {"num_buckets": figure.num_buckets, "max_distance": figure.max_distance, "clip": figure.clip}
    curve = np.array(bias_curve(figure.scheme, figure.head, figure.length, **table))
    chart = drawn.chart("relative position j − i (tokens)")
    x, y = chart.at(drawn.shapes("curve", stroke="muted", width=1.5)[0])
    yield "relative positions", x, np.arange(len(curve)) + 1 - figure.length
    yield "biases", y, curve
    last = figure.query if figure.scheme in ("alibi", "t5_causal") else figure.length - 1
    weights = drawn.chart("key position j (tokens)", f"Attention weights of row {figure.query}")
    bars = weights.at(drawn.shapes("area", fill="q", opacity=0.6)[0])
    seen = curve[np.arange(last + 1) - figure.query + figure.length - 1]
    yield "bars' places", bars[0].reshape(-1, 4).mean(axis=1), np.arange(last + 1)
    yield "weights", bars[1].reshape(-1, 4).max(axis=1), softmax(seen)
    yield from bias_cells(drawn, figure, curve, table)


def bias_cells(drawn: Picture, figure: Any, curve: np.ndarray, table: dict[str, int]) -> Iterator[Reading]:
    """Read the colours of all pairs: ALiBi's factors, or the entries of a table, and the numbers in the cells."""
    length, places = figure.length, np.arange(figure.length)
    relative = places - places[:, None]
    seen = relative <= (0 if figure.scheme in ("alibi", "t5_causal") else length)
    field = drawn.fields()[0]
    if figure.scheme == "alibi":
        yield "factors", field[seen], np.exp(curve[relative[seen] + length - 1])
        return
    entries = np.array([table_entry(figure.scheme, n, **table) for n in range(1 - length, length)])
    entries = entries[relative + length - 1]
    last = 2 * figure.clip if figure.scheme == "shaw" else figure.num_buckets - 1
    yield "table entries", last * field[seen], entries[seen]
    x, y, side, _ = drawn.raster()
    cell = side / length
    numbers = [
        (round((below - y - 4) / cell - 0.5), round((across - x) / cell - 0.5), int(words))
        for across, below, words, _ in drawn.texts
        if words.isdigit() and x < across < x + side and y < below < y + side
    ]
    yield "their numbers", [n for *_, n in numbers], [entries[row, column] for row, column, _ in numbers]
    if cell >= 19:
        yield "how many", len(numbers), np.sum(seen) - 1  # the dot covers one


@reads("GainAndTurn")
def gain_and_turn(drawn: Picture, figure: Any) -> Iterator[Reading]:
    """Read the score along the text for both orders, and the turned arrows."""
    chart, gains = drawn.chart("position of the key, n (tokens)"), (figure.first, figure.second)
    yield "distance", drawn.said(r"^Score at distance (\d+), gains"), [figure.distance]
    after = figure.where == "after"
    for late, style in ((after, {"stroke": "score", "width": 3}), (not after, {"dash": "3 4"})):
        x, y = chart.at(drawn.shapes("curve", **style)[0])
        wanted = [gained_score(Q, K, n, figure.distance, figure.inv_freq, gains, late) for n in x]
        yield f"scores, gains after: {late}", y, wanted
    turned = [(figure.position + figure.distance, Q), (figure.position, K)]
    tips = np.array([gained_pair(pair, at * figure.inv_freq, gains, after) for at, pair in turned])
    arrows = drawn.shapes("arrow")
    yield "arrows' directions", directions(arrows), tips / np.hypot(*tips.T)[:, None]
    lengths = np.hypot(*(np.array(arrows)[:, 2:] - np.array(arrows)[:, :2]).T)
    yield "arrows' lengths", lengths[0] / lengths[1], np.hypot(*tips[0]) / np.hypot(*tips[1])


@reads("Layouts")
def layouts(drawn: Picture, figure: Any) -> Iterator[Reading]:
    """Read the score by position, and the score as trained, each in the ink that the legend gives it."""
    chart = drawn.chart("position of q, m (tokens)")
    x, y = chart.at(drawn.shapes("curve", stroke=drawn.sign("as run")["stroke"])[0])
    whole = np.round(x) == x
    wanted = [score_of(figure.run, figure.head_dim, int(m)) for m in x[whole]]
    yield "scores as run", y[whole], wanted
    known = drawn.sign("as trained")
    level = drawn.shapes("line", dash=known["dash"], stroke="text")[-1]
    yield "score as trained", chart.y.read(level[1]), score_of("trained", figure.head_dim, DISTANCE)
    dot = drawn.shapes("circle", fill="score")[-1]
    yield "the dot", chart.at([dot])[:, 0], [figure.position, figure.score]


@reads("LengthCurve")
def length_curve(drawn: Picture, figure: Any) -> Iterator[Reading]:
    """Read the cost of each part of the text, for every remedy."""
    chart = drawn.chart("place in the text (tokens)", "Extra cost (nats per token)")
    if figure.guess_first and len(figure.guess) < 16:
        return
    curves = [chart.at(path) for path in drawn.shapes("curve", width=1.2)]
    wanted = [each["costs"][figure.text] for each in costs()["remedies"]]
    parts = len(wanted[0])
    yield "places", curves[0][0], TOKENS * (np.arange(parts) + 0.5) / parts
    yield "costs", [y for _, y in curves], np.clip(wanted, -0.25, 3)
    (bold,) = drawn.shapes("curve", width=4)
    yield "in bold", chart.at(bold)[1], np.clip(wanted[list(REMEDIES).index(figure.remedy)], -0.25, 3)
    names = ("as trained", "PI", "NTK-aware", "distances held", "slow pairs held", "fast pairs held")
    for name, of_name in zip(names, wanted, strict=True):
        place = next(n for n, call in enumerate(drawn.calls) if call[0] == "text" and call[3] == name)
        _, *end = drawn.calls[place - 1][:3]  # of the line from the curve to its name
        yield f"the end of {name}", chart.at([end])[1], np.clip(of_name[-1:], -0.25, 3)


@reads("Ramps")
def ramps(drawn: Picture, figure: Any) -> Iterator[Reading]:
    """Read what each rule does to each pair, the knees, and the number of turns."""
    across = {"pair": "pair i (fast to slow)", "turns": "turns in the trained length (linear)"}
    up = {"kept": "Share of θ kept, γ", "multiplier": "What θ is multiplied by, θ′ / θ"}
    chart = drawn.chart(across[figure.across], up[figure.shown])
    plain, to = inv_freq(figure.head_dim, figure.base), (figure.factor, figure.trained_length)
    betas = {"beta_fast": figure.beta_fast, "beta_slow": figure.beta_slow, "base": figure.base}
    rules = [
        yarn(figure.head_dim, *to, **betas, truncate=figure.truncate),
        ntk_by_parts(figure.head_dim, *to, **betas),
        llama3(figure.head_dim, *to, base=figure.base),
    ]
    turns = figure.trained_length * plain / TURN
    place = np.arange(len(plain)) if figure.across == "pair" else turns
    names = ("YaRN, code", "YaRN, paper", "Llama 3: 1, 4")
    for name, rule in zip(names, rules, strict=True):
        style = drawn.sign(name)
        x, y = chart.at(drawn.shapes("curve", stroke=style["stroke"], dash=style.get("dash"))[0])
        times, most = rule.inv_freq / plain, 1 - 1 / figure.factor
        kept = np.clip((times - 1 / figure.factor) / most, 0, 1) if most > 1e-9 else np.ones_like(times)
        on = place <= (len(plain) - 1 if figure.across == "pair" else 1.25 * figure.beta_fast)
        yield f"{name}: pairs", x, place[on]
        yield name, y, (kept if figure.shown == "kept" else times)[on]
        whole, none = (int((np.abs(kept - end) < 1e-9).sum()) for end in (1, 0))
        counts = f"{whole} / {len(kept) - whole - none} / {none}"
        (line,) = [y for _, y, words, _ in drawn.texts if words == name]
        yield f"{name}: counts", counts in [words for _, y, words, _ in drawn.texts if y == line], True
    yield "turns", says(drawn.found(r"^pair \d+: (.*) turns")[0], figure.turns), True
    if figure.across == "pair":
        betas = np.array([figure.beta_fast, figure.beta_slow])
        knees = np.clip(np.interp(-np.log(betas), -np.log(turns), np.arange(len(turns))), 0, len(turns) - 1)
        low = 0 if figure.shown == "kept" else 1 / figure.factor
        rounded = [np.floor(knees[0] + 1e-9), np.ceil(knees[1] - 1e-9)] if figure.truncate else knees
        yield "knees", chart.at(drawn.shapes("circle", fill="paper", width=2)), [rounded, [1, low]]


@reads("ScoreDistance")
def score_distance(drawn: Picture, figure: Any) -> Iterator[Reading]:
    """Read the sum of the waves, and the hands of the pairs."""
    q, k, frequencies = head_of(figure)
    log = figure.reach == 100_000
    label = "distance m − n (tokens, logarithmic)" if log else "distance m − n (tokens)"
    name = "Size of the score, |q·k|, logarithmic" if figure.bound else "The score: the sum of all waves"
    chart = drawn.chart(label, name)
    if not (figure.guess_first and not figure.bound and not log and len(figure.guess) < 16):
        x, y = chart.at(drawn.shapes("curve", stroke="score", width=2.5 if figure.reach == 256 else 1.6)[-1])
        count = len(frequencies) if figure.bound else int(figure.added * len(frequencies) / 8 + 0.5)
        scores = (
            score_curve(q[: 2 * count], k[: 2 * count], frequencies[:count], np.round(x)) if count else 0 * x
        )
        low = figure.most / 100
        yield "whole distances", x, np.round(x)
        yield "scores", y, np.maximum(np.abs(scores), low) if figure.bound else scores
        yield from score_bounds(drawn, figure, chart, x)
    pairs = len(frequencies)
    rows = min(8, pairs)
    shown = [int(row * (pairs - 1) / (rows - 1) + 0.5) for row in range(rows)]
    hands = drawn.shapes("line", stroke="text", width=2.2)
    yield "hands", directions(hands), towards(figure.distance * frequencies[shown])


def score_bounds(drawn: Picture, figure: Any, chart: Chart, distances: np.ndarray) -> Iterator[Reading]:
    """Read RoFormer's bound and the trivial one, each in the style that the legend gives it."""
    head, levels = head_of(figure), [figure.most, -figure.most]
    if figure.bound:
        x, y = chart.at(drawn.shapes("curve", **line_of(drawn.sign("RoFormer bound")))[-1])
        yield "distances of the bound", np.isin(np.round(x, 6), np.round(distances, 6)).mean() > 0.3, True
        yield "RoFormer's bound", np.log(y), np.log(roformer_bound(*head, np.round(x)))
    if figure.trivial:
        found = drawn.shapes("line", **line_of(drawn.sign("trivial bound")))[1:]  # after the legend's
        yield "trivial bound", chart.y.read([line[1] for line in found]), levels[: 1 if figure.bound else 2]


def line_of(style: dict) -> dict:
    """Return what tells a line of a chart by the sign in its legend."""
    return {key: style.get(key) for key in ("stroke", "width", "dash")}


@reads("ScoreUnderRules")
def score_under_rules(drawn: Picture, figure: Any) -> Iterator[Reading]:
    """Read each rule's score, in the ink that its switch gives it, and the distance of the cursor."""
    label, up = "distance r (tokens, logarithmic)", "Score of equal vectors (share of plain RoPE’s at 0)"
    chart = drawn.chart(label, up)
    traits = dict(zip(RULES, ("plain", "pi", "abf", "ntk_aware", "by_parts", "yarn", "llama3"), strict=True))
    for rule in (rule for rule, trait in traits.items() if getattr(figure, trait)):
        place = next(n for n, call in enumerate(drawn.calls) if call[0] == "text" and call[3] == RULES[rule])
        style = drawn.calls[place - 1][-1]
        x, y = chart.at(drawn.shapes("curve", stroke=style["stroke"], dash=style.get("dash"))[0])
        spec = stretched(rule, figure.head_dim, figure.base, figure.trained, figure.wanted, figure.abf_base)
        spread = 0.1 if figure.smooth else 0.0
        yield rule, y, [score_trend(spec.inv_freq, spec.attention_factor, r, spread) for r in x]
    foot = drawn.shapes("circle", fill="position")[-1]
    farthest = max(figure.wanted, figure.trained)
    yield "the cursor", chart.x.read(foot[0]), min(figure.distance, farthest)
    yield "its words", drawn.said(r"^r = ([\d,]+)"), [figure.distance]


@reads("Sharpness")
def sharpness(drawn: Picture, figure: Any) -> Iterator[Reading]:
    """Read the three lines, each in the style that the legend gives it, and the cursor."""
    share = figure.shown == "share"
    up = "Weight of the matching key" if share else "Keys that share the attention, e to the entropy"
    of = matching_share if share else sharing_keys
    charts = [
        drawn.chart("length of the text (tokens, logarithmic)", up, thousand) for thousand in (1000, 1024)
    ]
    chart = charts[0]._replace(x=charts[1].x)
    scales = {
        "no factor, a = 1": lambda n: 1.0,
        "YaRN, static": lambda n: yarn_mscale(figure.factor) ** 2,
        "YaRN, s = length / 4,096": lambda n: yarn_mscale(max(1.0, n / 4096)) ** 2,
    }
    for name, at in scales.items():
        style = drawn.sign(name)
        x, y = chart.at(drawn.shapes("curve", stroke=style["stroke"], dash=style.get("dash"))[0])
        values = np.array([of(n, figure.match, figure.spread, at(n)) for n in x])
        yield name, y, values if share else np.maximum(values, 1)
    yield "the cursor", drawn.said(r"^(.*) tokens$"), [figure.length]


@reads("RotatePair")
def rotate_pair(drawn: Picture, figure: Any) -> Iterator[Reading]:
    """Read the arrows on the plane, the places on the rail, and the score at each distance."""
    chart = drawn.chart("distance m − n (tokens)", "Score at that distance")
    x, y = chart.at(drawn.shapes("curve", stroke="score")[0])
    q, k = complex(*figure.q), complex(*figure.k)
    yield "scores", y, (q * np.exp(1j * x * figure.inv_freq) * np.conj(k)).real
    dot = drawn.shapes("circle", fill="score")[-1]
    yield "the dot", chart.at([dot])[:, 0], [figure.distance, figure.score]
    (cx, cy, *radii), (*_, other) = drawn.shapes("circle", stroke="grid")
    unit = radii[0] / abs(q)
    yield "the circles are the paths of the tips", [*radii, other], unit * np.abs([q, k])
    for style, turned in (({"dash": "5 4"}, (0, 0)), ({"head": 12}, (figure.position, figure.key_position))):
        tips = np.array(drawn.shapes("arrow", **style))[:, 2:]
        found = ((tips - [cx, cy]) / [unit, -unit]) @ [1, 1j]
        yield f"arrows {style}", found, [q, k] * np.exp(1j * np.array(turned) * figure.inv_freq)
    said = drawn.said(r"φ \+ \(m − n\)θ = (.*) rad")
    yield "the angle's words", said, np.round([figure.angle], 2)
    yield "the distance's words", drawn.said(r"^m − n = ([−\d]+)"), [figure.distance]
    ticks = [(x, words) for x, _, words, _ in drawn.texts if words == "0" or words == "64"]
    rail = np.interp([0, 64], *zip(*((float(words), x) for x, words in ticks[:2]), strict=True))
    places = [drawn.shapes("circle", fill="q")[-1][0], drawn.shapes("circle", stroke="k")[-1][0]]
    yield "places on the rail", np.interp(places, rail, [0, 64]), [figure.position, figure.key_position]


@reads("ConfigInspector")
def config_inspector(drawn: Picture, figure: Any) -> Iterator[Reading]:
    """Read each pair's wavelength, or the mean score of equal vectors."""
    reading = reading_of(figure)
    if reading is None:
        return
    rotation = reading.spec
    yield "the text's words", drawn.said("^text.* (.*)"), [figure.length]
    if reading.longest:
        yield "the claim's words", drawn.said("claimed (.*)"), [reading.longest]
    if figure.view == "score":
        chart = drawn.chart("distance (tokens, logarithmic)", "Mean score of equal vectors")
        x, y = chart.at(drawn.shapes("curve", stroke="score")[0])
        yield "scores", y, np.clip(mean_cosine(rotation.inv_freq, np.round(x)), -0.5, 1)
        return
    chart = drawn.chart("pair, i", "Wavelength (tokens)")
    hollow = drawn.shapes("circle", fill="none")[1:]  # after the legend's
    dots = [*drawn.shapes("circle", fill="position"), *hollow]
    x, y = chart.at(sorted(dots))
    yield "pairs", x, np.arange(len(rotation.inv_freq))
    yield "wavelengths", y, np.clip(wavelength(rotation.inv_freq), 1, 1e9)
    text = drawn.shapes("line", stroke="position", width=3)[-1]
    yield "the text's line", chart.y.read(text[1]), figure.length


@reads("TrainingCurves")
def training_curves(drawn: Picture, figure: Any) -> Iterator[Reading]:
    """Read the medians of the encodings that stand out, each in the style of the legend."""
    share, grid = figure.measure == "accuracy", load_grid()
    if figure.against != "length":
        yield from while_learning(drawn, figure, share, grid)
        return
    lengths = grid.test_lengths(figure.task)[: figure.doublings + 1]
    (chart,) = drawn.charts()
    yield (
        "lengths on the axis",
        [float(words) for words in re.findall(r"× \((\d+)\)", " ".join(drawn.words))],
        [float(length) for length in grid.test_lengths(figure.task)[:3]],
    )
    yield "the measure", chart.y_label == ("Right answers (%)" if share else "Loss (nats)"), True
    chosen = dict.fromkeys(filter(None, [figure.first, figure.second, figure.third]))
    others = [name for name in grid.encodings if name not in chosen and grid.select(figure.task, name)]
    of = grid.accuracy if share else grid.loss
    ends = [chart.at(path)[1][-1] for path in drawn.shapes("curve", stroke="muted", width=1, opacity=0.7)]
    wanted = sorted(of(figure.task, name, lengths[-1]).median for name in others)
    packed = 0.05 if share else max(1e-4, 0.01 * max(wanted))
    yield "the others", sorted(ends), np.array(wanted) * (100 if share else 1), packed
    for name in chosen:
        if figure.every_seed or not grid.select(figure.task, name):
            continue
        style = drawn.sign(ENCODINGS[name])
        lines = drawn.shapes("curve", **{key: style.get(key) for key in ("stroke", "width", "dash")})
        x, y = chart.at(max(lines[1:], key=len))
        yield f"{name}: lengths", x, np.array(lengths) / lengths[0]
        wanted = [of(figure.task, name, length).median for length in lengths]
        packed = 0.05 if share else max(1e-4, 0.01 * max(wanted))
        yield f"{name}: medians", y, np.array(wanted) * (100 if share else 1), packed


def while_learning(drawn: Picture, figure: Any, share: bool, grid: Grid) -> Iterator[Reading]:
    """Read the medians against the steps, or the seconds, of training."""
    across = {"steps": "training steps", "seconds": "CPU time (s)"}[figure.against]
    chart = drawn.chart(across, "While learning: right (%)" if share else "While learning: loss (nats)")
    for name in dict.fromkeys(filter(None, [figure.first, figure.second, figure.third])):
        if figure.every_seed or name not in {run.encoding for run in grid.select(figure.task)}:
            continue
        lines = drawn.shapes("curve", **line_of(drawn.sign(ENCODINGS[name])))
        x, y = chart.at(max(lines[1:], key=len))
        curve = grid.curve(figure.task, name, figure.measure)
        paces = [
            run.curve["cpu_seconds"][-1] / run.curve["step"][-1] for run in grid.select(figure.task, name)
        ]
        times = 1 if figure.against == "steps" else np.median(paces)
        yield f"{name}: {figure.against}", x / times, curve["step"], 1e-3 * curve["step"][-1]
        packed = 0.05 if share else max(1e-4, 0.01 * curve["median"].max())
        yield f"{name}: medians", y, curve["median"] * (100 if share else 1), packed
