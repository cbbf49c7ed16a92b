"""Readers of clocks: where hands point, how far they have been, and what is written beside them."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from rope_book.widgets.cache_steps import VISIBLE
from rope_book.widgets.maths.decoding import decoding_work, held_keys
from rope_book.widgets.maths.stretch import stretched
from rope_edu.encodings import (
    inv_freq,
    meets_new_angle,
    p_rope,
    partial_rope,
    wavelength,
)

from . import Reading, reads
from .picture import Picture, directions, number, says, towards

TURN = 2 * np.pi


@reads("AngleChart")
def angle_chart(drawn: Picture, figure: Any) -> Iterator[Reading]:
    """Read the hands of all clocks, and the unrolled angle of one."""
    frequencies = inv_freq(figure.head_dim, figure.base)
    hands = drawn.shapes("line", stroke="text", width=2)
    pairs = [int(drawn.below(cx, cy)) for cx, cy, *_ in hands]
    yield "hands", directions(hands), towards(figure.position * frequencies[pairs])
    (big,) = drawn.shapes("line", stroke="text", width=3)
    yield "the large hand", directions([big])[0], towards(figure.angle)
    labels = {
        "linear": ("position m (tokens)", "Angle m·θ, unrolled (rad)"),
        "turn": ("position m (tokens)", "Angle within one turn (rad)"),
        "log": ("position m (tokens, logarithmic)", "Angle m·θ (rad, logarithmic)"),
    }
    chart = drawn.chart(*labels[figure.axis])
    if figure.axis == "linear":
        turns = [number(words) for x, _, words, _ in drawn.texts if x == chart.right + 6]
        yield (
            "whole turns, those of the fastest clock, by number",
            turns,
            np.arange(1, int(1.04 * figure.n / TURN) + 1),
        )
    for path in drawn.shapes("curve", stroke="position", width=1.6):
        x, y = chart.at(path)
        wanted = x * frequencies[figure.pair]
        if figure.axis == "turn":
            yield "within one turn", towards(y), towards(wanted)
        else:
            yield "unrolled", y, wanted
    said = drawn.said(rf"^pair {figure.pair}: (?:(.*) turns? and )?(.*) rad")
    whole, rest = divmod(figure.angle, TURN)
    yield "its words", np.nan_to_num(said), [whole, round(rest, 2)]


@reads("Clocks")
def clocks(drawn: Picture, figure: Any) -> Iterator[Reading]:
    """Read every hand, the tokens of a turn below it, the angles that it reaches, and the diamonds."""
    frequencies = inv_freq(figure.head_dim, figure.base)
    hands = drawn.shapes("line", stroke="text", width=2.4)
    pairs = [int(words) for _, _, words, style in drawn.texts[2::2]]
    yield (
        "hands",
        directions(hands),
        np.concatenate([towards(figure.position * frequencies[i])[None] for i in pairs]),
    )
    waves = wavelength(frequencies[pairs])
    below = [words for _, _, words, _ in drawn.texts[3::2]]
    yield "tokens for a turn", list(map(says, below, waves)), [True] * len(pairs)
    partly = [i for i in pairs if waves[i] > figure.context]
    wedges = drawn.shapes("area", fill="position")
    ends = [[*wedge[0], *wedge[-1]] for wedge in wedges]
    if partly:
        yield "farthest angles", directions(ends), towards(figure.context * frequencies[partly])
    astray = (figure.position * frequencies[partly]) % TURN > figure.context * frequencies[partly]
    yield "diamonds", len(drawn.shapes("area", fill="other")), int(astray.sum())


@reads("StretchedClocks")
def stretched_clocks(drawn: Picture, figure: Any) -> Iterator[Reading]:
    """Read the rail, the slowdowns, each pair's bar and hand, and the clock."""
    plain = inv_freq(figure.head_dim, figure.base)
    changed = stretched(
        figure.rule, figure.head_dim, figure.base, figure.trained, figure.wanted, figure.abf_base
    ).inv_freq
    chart = drawn.chart("pair i (the fast ones left, the slow ones right)", "Share of a turn")
    slow = wavelength(plain) > figure.trained
    seen = [shape for shape in drawn.shapes("rect", fill="position", opacity=0.28) if shape[1] > 100]
    bars = [bar for bar in seen if abs(bar[1] + bar[3] - chart.y.pixels[0]) < 0.01]
    shares = [chart.y.read(bar[1]) for bar in bars[-slow.sum() :]] if slow.any() else []
    yield "seen in training", shares, figure.trained * plain[slow] / TURN
    dots = [dot for dot in drawn.shapes("circle", fill="text") if dot[1] > 100]
    odd = [np.mean(shape, axis=0) for shape in drawn.shapes("area", fill="other") if len(shape) == 4]
    x, y = chart.at(
        [[*dot[:2]] for dot in dots] + [list(at) for at in odd if at[0] < chart.right and at[1] > 100]
    )
    order = np.argsort(x)
    shown = np.flatnonzero(slow | (np.arange(len(plain)) == figure.pair))
    yield "pairs with a hand", x[order], shown
    fresh = meets_new_angle([figure.position], changed, figure.trained, plain)[0]
    yield "diamonds", np.sort(x[len(dots) :]), np.flatnonzero(fresh)
    yield "angles of the hands", towards(TURN * y[order]), towards(figure.position * changed[shown])
    yield "m", drawn.said("^m = (.*)"), [figure.position]
    hand = drawn.shapes("line", stroke="text", width=2.6)[0]
    yield "the clock", directions([hand])[0], towards(figure.position * changed[figure.pair])
    by = plain[figure.pair] / changed[figure.pair]
    yield "slowed down by", drawn.said("^slowed down by (.*)"), [round(by, 2 if by < 100 else 0)]


@reads("TrainedTurns")
def trained_turns(drawn: Picture, figure: Any) -> Iterator[Reading]:
    """Read each pair's angle, the angles that training has shown, and the distances at which they are new."""
    plain, trained = inv_freq(figure.head_dim, figure.base), figure.trained
    upper = drawn.chart("", "Angle at distance r (turns)")
    lower = drawn.chart("pair i (the fast ones left, the slow ones right)", "Distance (trained lengths)")
    counts = min(figure.times, 1) * trained if figure.window else figure.times * trained
    bars = drawn.shapes("rect", fill="position", opacity=0.28)[1:][: len(plain)]
    yield "shown in training", upper.y.read([bar[1] for bar in bars]), np.minimum(trained * plain / TURN, 1)
    fresh = meets_new_angle([counts], plain, trained)[0]
    dots = drawn.shapes("circle", fill="text")[1:]
    yield (
        "known angles",
        towards(TURN * upper.y.read([dot[1] for dot in dots])),
        towards(counts * plain[~fresh]),
    )
    odd = [np.mean(shape, axis=0)[1] for shape in drawn.shapes("area", fill="other")]
    yield "new angles", towards(TURN * upper.y.read(odd)), towards(counts * plain[fresh])
    column = np.diff(lower.x.pixels)[0] / np.diff(lower.x.numbers)[0]
    fields = drawn.shapes("rect", fill="other", opacity=0.8)[1:]
    for distance in (0.5, 1.5, 3.25, 7.75):
        inside = [x for x, y, _, h in fields if lower.y.read(y + h) < distance < lower.y.read(y)]
        new = meets_new_angle([distance * trained], plain, trained)[0] & (not figure.window)
        places = sorted(lower.x.read(np.array(inside) + column / 2) - 0.5)
        yield f"new at {distance} L", places, np.flatnonzero(new)
    (level,) = drawn.shapes("circle", fill="paper", stroke="text", width=2)
    yield "the distance", lower.y.read(level[1]), figure.times


@reads("WhatTurns")
def what_turns(drawn: Picture, figure: Any) -> Iterator[Reading]:
    """Read the hands of every feature that turns, and the wavelengths of the pairs."""
    whole = int(figure.head_dim * figure.fraction)
    heads = [
        inv_freq(figure.head_dim, figure.base),
        partial_rope(figure.head_dim, whole, figure.base).inv_freq,
        p_rope(figure.head_dim, figure.fraction, figure.base).inv_freq,
    ]
    pairs = [frequencies[frequencies > 0] for frequencies in heads]
    hands = sorted((hand[1], hand[0], *hand[2:]) for hand in drawn.shapes("line", width=2.2))
    rows = np.unique([hand[0] for hand in hands])
    for row, frequencies in zip(rows, pairs, strict=True):
        found = np.round(directions([[x, y, *end] for y, x, *end in hands if y == row]), 6)
        wanted = np.round(np.repeat(towards(figure.position * frequencies), 2, axis=0), 6)
        yield "hands", found[np.lexsort(found.T)], wanted[np.lexsort(wanted.T)]
    (chart,) = (chart for chart in drawn.charts() if "wavelength (tokens)" in chart.x_label)
    dots = [dot for dot in drawn.shapes("circle", stroke="text") if dot[2] in (5.5, 8)]
    for y, frequencies in zip(np.unique([dot[1] for dot in dots]), pairs, strict=True):
        waves = chart.x.read(sorted(dot[0] for dot in dots if dot[1] == y))
        yield "wavelengths", waves, wavelength(frequencies)
    yield "L", drawn.said(r"^L = (.*)"), [figure.trained_length]


@reads("CacheSteps")
def cache_steps(drawn: Picture, figure: Any) -> Iterator[Reading]:
    """Read the hands of all keys, now and where they belong, and the work in bars and numbers."""
    keys = held_keys(figure.store, figure.pair, figure.capacity, figure.step)
    stroke = "position" if figure.store == "unrotated" else "k"
    hands = drawn.shapes("line", stroke=stroke, width=3, dash=None)
    lengths = np.round([np.hypot(x2 - x1, y2 - y1) for x1, y1, x2, y2 in hands], 3)
    now = [hand for hand, long in zip(hands, lengths, strict=True) if long == lengths.max()][: len(keys)]
    yield "keys", directions(now), towards([key["used"] for key in keys])
    stale = [key["wanted"] for key in keys if abs(key["used"] - key["wanted"]) > VISIBLE]
    belong = drawn.shapes("line", stroke="position", width=2, dash="3 2")[: len(stale)]
    yield "where stale keys belong", directions(belong).reshape(-1, 2), towards(stale).reshape(-1, 2)
    if figure.store == "unrotated":
        stored = drawn.shapes("line", stroke="k", width=1.5)[: len(keys)]
        yield "as stored", directions(stored), towards([key["stored"] for key in keys])
    history = [
        key["used"]
        for step in range(1, figure.step + 1)
        for key in held_keys(figure.store, figure.pair, figure.capacity, step)
    ]
    rows = drawn.shapes("line", stroke=stroke, width=1.8)
    yield "one hand per key and step", directions(rows), towards(history)
    work = decoding_work(figure.store, figure.capacity, figure.step)
    bars = [
        (before[3], number(call[3]))
        for before, call in pairwise(drawn.calls)
        if before[0] == "rect" and call[-1] == {"size": 12}
    ]
    yield "work", [value for _, value in bars], [value for of in work.values() for value in of]
    for (with_cache, held), (without, again) in zip(bars[::2], bars[1::2], strict=True):
        if min(with_cache, without) > 1:
            yield "its bars", with_cache / without, held / again
