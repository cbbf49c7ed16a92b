"""Readers of fields and matrices: the colours and the numbers of their cells, and the charts beside them."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from rope_book.results.page_heads import load_page_heads
from rope_book.widgets import RealHead
from rope_book.widgets.maths.patients import OFFSETS, PATIENTS, PLACES, matrix_at, symptoms, turned
from rope_book.widgets.maths.real_head import pair_shares
from rope_book.widgets.maths.words import random_matrix
from rope_book.widgets.patch_scores import SIDE, frequencies_of
from rope_book.widgets.real_head import spec_of, weights_of
from rope_book.widgets.sentence_attention import square
from rope_book.widgets.state_steps import read
from rope_edu.attention import attention_scores, linear_attention, softmax
from rope_edu.encodings import apply_rope, inv_freq, rope_angles, rotation_matrix, sinusoidal

from . import Reading, reads
from .picture import Picture, directions, number, says, scale, towards


@reads("BlockMatrix")
def block_matrix(drawn: Picture, figure: Any) -> Iterator[Reading]:
    """Read each number at its cell, and the row in words."""
    frequencies, d = inv_freq(figure.head_dim, figure.base), figure.head_dim
    angles = rope_angles([figure.position], frequencies)[0]
    matrix = rotation_matrix(angles, layout=figure.pairing)
    colours = {colour: n for n, colour in enumerate(drawn.diverging)}
    boxes = [
        (x, y, w, 2 * colours[style["fill"]] / 255 - 1)
        for x, y, w, _, style in drawn.styled("rect", width=0.5)
    ]
    columns = sorted({x for x, *_ in boxes})
    x = [value for at, _, _, value in boxes if at == columns[-2 if figure.form == "matrix" else 0]]
    last = [value for at, _, _, value in boxes if at == columns[-1]]
    yield "x′", np.abs(last - matrix @ x).max() < 0.02, True
    top, tall = min(y for _, y, _, _ in boxes), boxes[0][2]
    if figure.form == "matrix":
        cells = [
            (round((y - top) / tall), round((at - columns[0]) / tall), value)
            for at, y, w, value in boxes[: 2 * d]
        ]
        rows, across, values = np.array(cells).T
        found = np.zeros((d, d))
        found[rows.astype(int), across.astype(int)] = values
        yield "R", np.abs(found - matrix).max() < 0.01, True
    else:
        cosines, sines = ([v for at, _, _, v in boxes if at == columns[n]] for n in (1, 3))
        yield "cos", np.abs(cosines - np.diag(matrix)).max() < 0.01, True
        yield (
            "sin",
            np.abs(np.abs(sines) - np.abs(matrix - np.diag(np.diag(matrix))).max(axis=1)).max() < 0.01,
            True,
        )
    written = [
        abs(number(call[3]) - (2 * colours[before[5]["fill"]] / 255 - 1)) < 0.01
        for before, call in pairwise(drawn.calls)
        if before[0] == "rect" and before[5].get("width") == 0.5 and call[0] == "text"
    ]
    yield "numbers in the cells", all(written), True
    said = drawn.said(rf"x′\[{figure.row}\] = cos (\S+) ")
    yield "the angle", said, [round(figure.angle, 2)]


@reads("PatchScores")
def patch_scores(drawn: Picture, figure: Any) -> Iterator[Reading]:
    """Read the score of every patch, the query's place, and the direction in which each pair turns fastest."""
    by_height, by_width = frequencies_of(figure)
    down, right = np.arange(SIDE) - figure.row, np.arange(SIDE) - figure.column
    angles = down[:, None, None] * by_height + right[None, :, None] * by_width
    field = drawn.fields()[0]
    yield "scores", 2 * field - 1, np.cos(angles).mean(axis=-1)
    numbers = [(x, y, float(words), style["anchor"]) for x, y, words, style in drawn.texts if words.isdigit()]
    (foot,) = {
        y
        for x, y, _, anchor in numbers
        if anchor == "middle" and y < drawn.raster()[1] + drawn.raster()[3] + 20
    }
    columns = scale(*zip(*((x, value) for x, y, value, _ in numbers if y == foot), strict=True))
    rows = scale(*zip(*((y - 4, value) for _, y, value, anchor in numbers if anchor == "end"), strict=True))
    x, y, w, h = drawn.shapes("rect", stroke="q")[0]
    place = [rows.read(y + h / 2), columns.read(x + w / 2)]
    yield "the query", place, [figure.row, figure.column]
    spokes = drawn.shapes("line", stroke="position", width=1.2)
    wanted = np.array([by_width, -by_height]).T
    yield "pairs", directions(spokes), wanted / np.hypot(*wanted.T)[:, None]


@reads("RealHead")
def real_head(drawn: Picture, figure: Any) -> Iterator[Reading]:
    """Read the attention weights, each pair's share of a score, and how well the job is done."""
    yield "weights", drawn.fields()[0], weights_of(figure)
    head, n = load_page_heads()[figure.job], figure.sentence - 1
    m, k = figure.query - 1, figure.key - 1
    chart = drawn.chart("pair, fastest to slowest")
    at = (head.q[n][m], head.k[n][k], figure.start + m, figure.start + k)
    shares = pair_shares(*at, spec_of(figure))
    bars = drawn.shapes("rect", stroke="text", width=0.8)
    low, high = chart.y.read([bar[1] + bar[3] for bar in bars]), chart.y.read([bar[1] for bar in bars])
    yield "shares", np.where(np.abs(high) > np.abs(low), high, low), shares
    marks = drawn.shapes("line", stroke="score", width=2)[1:]  # after the legend's
    trained = pair_shares(*at, spec_of(RealHead()))
    yield "shares as trained", chart.y.read([mark[1] for mark in marks]), trained
    yield "their sum", drawn.said("add up to (.*)"), [round(float(shares.sum()), 1) + 0.0]
    outline, done = drawn.shapes("rect", stroke="muted")[0], drawn.shapes("rect", fill="position")[0]
    yield "the job", done[2] / outline[2], np.nan_to_num(figure.done)
    yield "its number", drawn.said(r"^(\d+) % of its attention"), [float(f"{100 * figure.done:.0f}")]
    was = RealHead(job=figure.job, sentence=figure.sentence).done
    yield "its number as trained", drawn.said(r"^as trained, (\d+) %"), [float(f"{100 * was:.0f}")]
    turn = figure.first_pair == 1 and figure.last_pair == 32
    yield "pairs that stand still", "still, but counts" in drawn.words, not turn


@reads("SinusoidHeatmap")
def sinusoid_heatmap(drawn: Picture, figure: Any) -> Iterator[Reading]:
    """Read the encoding, the two rows, the pair's arrows, and the products at each offset."""
    rows = sinusoidal(np.arange(160), figure.d_model, figure.base)
    yield "encoding", 2 * drawn.fields()[0] - 1, rows
    theta = inv_freq(figure.d_model, figure.base)[figure.pair]
    angles = theta * np.array([figure.position + figure.offset, figure.position])
    yield "arrows", directions(drawn.shapes("arrow")), towards(angles)
    turn = figure.offset * theta
    yield "k·θ", np.allclose(drawn.said(r"^k·θ = (.*) rad"), [turn], rtol=6e-3, atol=6e-7), True
    chart = drawn.chart("offset k (tokens)")
    x, y = chart.at(drawn.shapes("curve", stroke="position", width=3.5)[0])
    left = rows[figure.position]
    if figure.between == "projection":
        left = random_matrix(2, figure.d_model) @ left
    yield "products", y, rows[figure.position + np.round(x).astype(int)] @ left
    dot = drawn.shapes("circle", fill="position", stroke="text")[-1]
    yield "the product", chart.at([dot])[:, 0], [figure.offset, figure.product]


@reads("StateSteps")
def state_steps(drawn: Picture, figure: Any) -> Iterator[Reading]:
    """Read both answers' bars by the numbers beside them, and how many numbers the cache holds."""
    query, keys, angles = read(figure)
    weights = softmax(attention_scores(apply_rope(query, angles)[-1:], apply_rope(keys, angles)))[0]
    factors = linear_attention(query, keys, np.eye(figure.step), angles=angles)[-1]
    levels = [
        (words, y - 4)
        for _, y, words, style in drawn.texts
        if words in ("0", "1") and style.get("anchor") == "end"
    ]
    for name, shares, n in (("cache", weights, 0), ("state", factors, 2)):
        (_, zero), (_, one) = sorted(levels[n : n + 2])
        bars = [bar for ink in ("muted", "text") for bar in drawn.shapes("rect", fill=ink) if bar[2] < 10]
        bars = sorted(bar for bar in bars if one - 1 <= bar[1] <= zero + 0.01 or abs(bar[1] - zero) < 0.01)
        tall = [(zero - (y if y < zero - 1e-9 else y + h)) / (zero - one) for _, y, _, h in bars]
        yield name, tall, np.clip(shares, -0.2, 1)
    yield "numbers", drawn.said(r"^([\d,]+) numbers, 16 more"), [figure.cached]


@reads("SentenceAttention")
def sentence_attention(drawn: Picture, figure: Any) -> Iterator[Reading]:
    """Read the cells, split where they change, the positions above them, and the change at the cursor."""
    now = square(figure, figure.encoding, figure.start)
    before = square(figure, figure.encoding if figure.against == "start" else "none", 0)
    times = 100 if figure.show == "weights" else 1
    count = len(figure.sentence.split())
    cells = drawn.after("rect")[count:-1]  # between the positions and the note
    wanted = []
    for m, n in np.ndindex(count, count):
        if figure.causal and n > m:
            wanted.append(None)
        elif abs(now[m, n] - before[m, n]) < 1e-9:
            wanted.append(now[m, n])
        else:
            wanted += [before[m, n], now[m, n]]
    for words, value in zip(cells, wanted, strict=True):
        right = words == "·" if value is None else words == "" or says(words, value * times)
        yield "a cell", right, True
    places = [number(words) for *_, words, style in drawn.texts if "position-words" in str(style)]
    yield "positions", places[:count], figure.start + np.arange(count)
    (chart,) = drawn.charts()
    dot = drawn.shapes("circle", fill="position", stroke="text")[-1]
    yield "the largest change", chart.at([dot])[:, 0], [figure.start, figure.change]


@reads("WhichBug")
def which_bug(drawn: Picture, figure: Any) -> Iterator[Reading]:
    """Read the hands of patient and healthy, the matrix in numbers, and the chart of the symptoms."""
    name, vector = PATIENTS[figure.patient - 1], np.tile([0.8, 0.6], 4)
    clocks = drawn.shapes("circle", stroke="grid")
    for who, hands in (
        ("right", drawn.shapes("line", stroke="position", width=1.5)[-4:]),
        (name, drawn.shapes("arrow")),
    ):
        found = [
            [(x2 - cx) / r, (cy - y2) / r] for (_, _, x2, y2), (cx, cy, r) in zip(hands, clocks, strict=True)
        ]
        yield f"hands, {who}", np.ravel(found), turned(who, vector, np.array([figure.position]))[0]
    measured, known = symptoms(name), symptoms("right")
    labels = {
        "score": ("distance (tokens)", "Score", OFFSETS, measured["scores"][-1], known["scores"][0]),
        "length": (
            "position (tokens)",
            "Length after ÷ before",
            PLACES,
            measured["lengths"],
            known["lengths"],
        ),
        "place": ("position (tokens)", "Off the right place by", PLACES, measured["errors"], known["errors"]),
    }
    across, up, xs, wanted, right = labels[figure.chart]
    chart = drawn.chart(across, up)
    *_, healthy = drawn.shapes("curve", stroke="position", width=1.5)
    ends = (-1.5, 1.5) if figure.chart == "score" else (0, 2)
    yield "healthy", chart.at(healthy), [xs, np.clip(right, *ends)]
    patient = drawn.shapes("curve", stroke="score" if figure.chart == "score" else "text")[-1]
    yield "patient", chart.at(patient), [xs, np.clip(wanted, *ends)]
    entries = [
        words
        for *_, words, style in drawn.texts
        if style.get("size") == 12 and style.get("anchor") == "middle"
    ]
    matrix, healthy = matrix_at(name, figure.position), matrix_at("right", figure.position)
    shown = matrix[(np.abs(matrix - healthy) > 0.02) | (np.abs(matrix) > 0.005)]
    for words, value in zip(entries, shown, strict=False):
        yield "an entry", abs(number(words) - value) <= 0.0500001, True
    frame = drawn.styled("rect", stroke="var(--rl-muted)", width=1)[0]
    boxes = drawn.shapes("rect", fill="other", stroke="text")
    places = [((y - frame[1]) // (frame[3] / 8), (x - frame[0]) // (frame[2] / 8)) for x, y, *_ in boxes]
    yield (
        "wrong entries",
        sorted(places),
        sorted(zip(*np.nonzero(np.abs(matrix - healthy) > 0.02), strict=True)),
    )
