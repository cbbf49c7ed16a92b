"""Python's values for the figures' mathematics: calls and their values for each file of ``js/maths``.

A call is a JavaScript expression that is a function, most often the function's name, and its arguments. `ROOMS`
maps a file's name to its calls; a test has each file answer all of them in one evaluation.
"""

import importlib.util
import itertools
import json
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import rope_edu
from rope_book.results import first_negative_distance
from rope_book.results.page_heads import load_page_heads, read_page_heads
from rope_book.widgets.maths import (
    decoding,
    derivation,
    drawn_guess,
    error_curve,
    example_bias,
    fern,
    fern_of_config,
    gained,
    order,
    pair_angle,
    patients,
    rail,
    real_head,
    sentence,
    sharpness,
    stretch,
    words,
)
from rope_doctor import precision
from rope_doctor.config import PRESETS, RULES, ConfigError, each_layer, read_config
from rope_doctor.config import kinds as config_kinds
from rope_doctor.config import layers as config_layers
from rope_doctor.config import table as config_table
from rope_doctor.config import values as config_values
from rope_doctor.precision import NUMBER_FORMATS, PIPELINES, Pipeline
from rope_edu import attention, encodings
from rope_edu.encodings import (
    RopeSpec,
    completes_turn,
    meets_new_angle,
    plain_rope,
    reach,
    scaling,
    spatial,
)
from rope_edu.plain import kept_by_turns, ramp_ends


@dataclass
class Call:
    """A call and Python's value of it; words, and everything with `exactly`, are compared exactly."""

    function: str
    arguments: list[Any]
    value: Any
    exactly: bool = False


WIDTHS = [2, 4, 8, 16, 64, 128, 256]
BASES = [2.0, 100.0, 10_000.0, 500_000.0, 1e6]
POSITIONS = [0, 1, 2, 7, 100, 777, 2048, 4096]
RNG = np.random.default_rng(2104)
VECTORS = {width: RNG.normal(size=(2, width)) for width in WIDTHS}
PLANE = [complex(*pair) for pair in RNG.normal(size=(8, 2))] + [0j, 1 + 0j, -2 + 0j, 1j]
ROOMS: dict[str, Callable[[], Iterator[Call]]] = {}


def room(function: Callable[[], Iterator[Call]]) -> Callable[[], Iterator[Call]]:
    """Register a function `of_x`, which yields the calls of the file `x`."""
    ROOMS[function.__name__.removeprefix("of_")] = function
    return function


def pair(z: complex) -> list[float]:
    return [z.real, z.imag]


def pairs(array: Any) -> np.ndarray:
    """Turn complex numbers into [real, imaginary]."""
    return np.stack([np.real(array), np.imag(array)], -1)


@room
def of_frequencies():
    for width, base in itertools.product(WIDTHS, BASES):
        rates = rope_edu.inv_freq(width, base)
        yield Call("invFreq", [width, base], rates)
        yield Call("wavelength", [rates], rope_edu.wavelength(rates))
        for position in POSITIONS:
            yield Call("ropeAngles", [position, rates], rope_edu.rope_angles(position, rates))
    yield Call("() => TURN", [], 2 * np.pi)
    for angle in [0.0, 1e-9, 1.0, 6.2, 6.3, 77.0, 4096.5, -0.5, -7.0]:
        yield Call("turnsOf", [angle], angle / (2 * np.pi))
        yield Call("withinTurn", [angle], np.mod(angle, 2 * np.pi))
        yield Call("reachWithin", [abs(angle), 0.3], np.clip(0.3 * abs(angle), 0, 2 * np.pi))


@room
def of_pair_angle():
    arrows = [(1.2, 0.3), (0.8, 0.8), (-1.0, 0.0), (-0.4, -1.1), (0.0, 1.0)]
    for q, k in itertools.product(arrows, repeat=2):
        yield Call("contentAngle", [q, k], pair_angle.content_angle(q, k))
        for distance, rate in [(4, 0.25), (-37, 0.9), (64, 1.0), (0, 0.3), (8, 0.0)]:
            between = pair_angle.angle_between(q, k, distance, rate)
            yield Call("angleBetween", [q, k, distance, rate], between)
            told = pair_angle.position_towards(q, abs(distance), rate, k, 64)
            yield Call("positionTowards", [q, abs(distance), rate, k, 64], told)


@room
def of_patients():
    for name in patients.PATIENTS:
        for position in (0, 2, 2.25, 7, 257, 320):
            vector = patients.turned(name, patients.Q, [position])[0]
            yield Call("turned", [name, patients.Q, position], vector)
            yield Call("matrixAt", [name, position], patients.matrix_at(name, position))
        yield Call("symptomsOf", [name], patients.symptoms(name))
        yield Call("(name) => summary(symptomsOf(name))", [name], patients.summary(name))


@room
def of_drawn_guess():
    shares = np.linspace(0, 1, 41)
    truth = np.cos(9 * shares)
    for start, heights in [(1.0, []), (0.3, [-0.4]), (1.0, [0.5, 0.1, 0.2]), (-0.2, list(truth[:16]))]:
        for share in (0.0, 0.1, 0.5, 1 / 3, 0.99, 1.0):
            value = drawn_guess.guess_at(start, heights, share)
            yield Call("guessAt", [start, heights, share], value)
        gap = drawn_guess.guess_gap(start, heights, shares.tolist(), truth.tolist())
        yield Call("guessGap", [start, heights, shares.tolist(), truth.tolist()], gap)


@room
def of_linear():
    for width, x in VECTORS.items():
        yield Call("eluPlusOne", [x[0]], rope_edu.attention.elu_plus_one(x[0]))
        keys, values = x[0].reshape(-1, 2), x[1].reshape(-1, 2)
        for start in (0, 777):
            angles = rope_edu.rope_angles(np.arange(start, start + width // 2), rope_edu.inv_freq(2))
            state = None
            for k, v, angle in zip(keys, values, angles, strict=True):
                _, state = rope_edu.attention.linear_attention_step(k, k, v, state, angles=angle)
            yield Call("linearState", [keys, values, angles], state.kv)
            queries = np.tile(values[0], (len(keys), 1))
            factors = rope_edu.attention.linear_attention(queries, keys, np.eye(len(keys)), angles=angles)[-1]
            yield Call("linearFactors", [values[0], keys, angles], factors)


@room
def of_rotary():
    for angle in [-7.5, -0.3, 0.0, 0.25, np.pi / 2, 3.0, 100.0]:
        yield Call("rotatePair", [[1.2, -0.3], angle], rope_edu.encodings.rotate_pair([1.2, -0.3], angle))
    for width, layout, position in itertools.product(WIDTHS, rope_edu.encodings.LAYOUTS, [0, 1, 777, 4096]):
        x, angles = VECTORS[width][0], rope_edu.rope_angles(position, rope_edu.inv_freq(width))
        for turned in (angles, angles[: max(1, len(angles) // 2)]):
            yield Call("applyRope", [x, turned, layout], rope_edu.apply_rope(x, turned, layout=layout))
        if width <= 16:
            yield Call(
                "rotationMatrix", [angles, layout], rope_edu.encodings.rotation_matrix(angles, layout=layout)
            )


@room
def of_layouts():
    for width in WIDTHS:
        yield Call("layoutPermutation", [width], rope_edu.encodings.layout_permutation(width), exactly=True)
        for layout in rope_edu.encodings.LAYOUTS:
            first, second = (range(width)[part] for part in rope_edu.encodings.pair_slices(width, layout))
            for i in range(width // 2):
                yield Call("pairFeatures", [i, width // 2, layout], [first[i], second[i]], exactly=True)
        whose = np.repeat(np.arange(width // 2), 2)
        yield Call("(n) => Array.from({ length: n }, (_, i) => pairOf(i))", [width], whose, exactly=True)


@room
def of_partial():
    for width, base in itertools.product([8, 16, 64, 256], BASES):
        for p in (0.0, 0.25, 0.3, 0.5, 1.0):
            yield Call("pRope", [width, p, base], encodings.p_rope(width, p, base).inv_freq)
            if (turning := 2 * int(p * width / 2)) > 0:
                spec = encodings.partial_rope(width, turning, base)
                yield Call("partialRope", [turning, base], spec.inv_freq)


@room
def of_absolute():
    for width, base, position in itertools.product(WIDTHS, BASES, POSITIONS):
        expected = rope_edu.sinusoidal([position], width, base)[0]
        yield Call("sinusoidal", [position, width, base], expected)


@room
def of_relative():
    relative = np.arange(-1500, 1501)
    each = "(list, ...rest) => list.map((r) => t5Bucket(r, ...rest))"
    for both, (buckets, longest) in itertools.product(
        [True, False], [(32, 128), (16, 64), (8, 32), (32, 256), (64, 512)]
    ):
        expected = rope_edu.t5_bucket(relative, bidirectional=both, num_buckets=buckets, max_distance=longest)
        yield Call(each, [relative, both, buckets, longest], expected, exactly=True)
    for clip in [1, 2, 5, 24]:
        rows = rope_edu.encodings.shaw_index(48, 48, clip)
        for i, j in [(0, 0), (0, 47), (47, 0), (20, 22), (22, 20), (30, 29)]:
            yield Call("shawIndex", [j - i, clip], rows[i, j], exactly=True)
    for heads in range(1, 41):
        yield Call("alibiSlopes", [heads], rope_edu.alibi_slopes(heads))


@room
def of_decay():
    distances = [-300, -1, *POSITIONS]
    for width, (q, k) in VECTORS.items():
        rates = rope_edu.inv_freq(width)
        arguments = [q, k, rates, distances]
        products = q.reshape(-1, 2) @ [1, 1j] * (k.reshape(-1, 2) @ [1, -1j])
        yield Call("pairProducts", [q, k], pairs(products))
        yield Call("scoreCurve", arguments, rope_edu.encodings.score_curve(q, k, rates, distances))
        yield Call("roformerBound", arguments, rope_edu.encodings.roformer_bound(q, k, rates, distances))
        yield Call("trivialBound", [q, k], rope_edu.encodings.trivial_bound(q, k))
        kept = [*range(0, 1025, 5), 1024, 1025, 4096]
        turns = pairs(np.exp(1j * rope_edu.rope_angles(kept, rates))).reshape(len(kept), -1)
        yield Call("(f, list) => list.map(makeTurns(f))", [rates, kept], turns)
        yield Call("meanCosine", [rates, distances], rope_edu.encodings.mean_cosine(rates, distances))
    steep_first, steep_last, small = [9.0, 0.0, 1.0, 0.0], [1.0, 0.0, 9.0, 0.0], [0.1, 0.0, 0.2, 0.0]
    for q in (steep_first, steep_last, small):
        arguments = [q, [1.0, 0.0, 1.0, 0.0], rope_edu.inv_freq(4), [0, 3]]
        yield Call("roformerBound", arguments, rope_edu.encodings.roformer_bound(*arguments))


@room
def of_base_bound():
    for width, base in itertools.product([2, 4, 64, 128, 256], [3.0, 100.0, 10_000.0, 500_000.0]):
        rates = rope_edu.inv_freq(width, base)
        for limit in (1, 300, 20_000):
            found = first_negative_distance(rates, limit)
            yield Call("firstNegativeDistance", [rates, limit], found, exactly=True)
    for rates in (
        [0.0],
        [1.0, 0.1, 0.0],
        [1.0, 0.5, 0.0, 0.0],
        [3.0, 2.0],
        [1.0, 1.0],
    ):  # pairs that do not turn, equal pairs
        found = first_negative_distance(rates, 2000)
        yield Call("firstNegativeDistance", [rates, 2000], found, exactly=True)


@room
def of_gained():
    for (q, k), gains, theta in itertools.product(
        [([1.1, 0.3], [0.7, 0.8]), ([0.0, -2.0], [1.0, 0.0])],
        [[1.6, 0.7], [1.0, 1.0], [0.2, 2.0]],
        [0.01, 0.37],
    ):
        for after, angle in itertools.product([True, False], [0.0, 1.2, -40.0]):
            yield Call("gainedPair", [q, angle, gains, after], gained.gained_pair(q, angle, gains, after))
        for after, position in itertools.product([True, False], [0, 12, 96]):
            given = [q, k, position, 4, theta, gains, after]
            yield Call("gainedScore", given, gained.gained_score(*given))
        yield Call("gainedParts", [q, k, 4, theta, gains], gained.gained_parts(q, k, 4, theta, gains))


@room
def of_sharpness():
    for keys, match, spread, scale in itertools.product(
        [1.0, 2.0, 256.0, 4096.5, 262_144.0], [0.0, 4.0, 16.0], [0.0, 0.7, 2.0], [1.0, 1.63]
    ):
        given = [keys, match, spread, scale]
        yield Call("matchingShare", given, sharpness.matching_share(*given))
        yield Call("attentionEntropy", given, sharpness.attention_entropy(*given))
        yield Call("sharingKeys", given, sharpness.sharing_keys(*given))


def turning(spec: RopeSpec) -> dict:
    return {"invFreq": spec.inv_freq, "attentionFactor": spec.attention_factor}


@room
def of_scaling():
    for width, base in itertools.product(WIDTHS, BASES):
        yield Call("plainRope", [width, base], turning(plain_rope(width, base)))
        yield Call("abf", [width, base], turning(scaling.abf(width, base)))
        for s in (1.0, 2.5, 8.0, 32.0):
            yield Call(
                "positionInterpolation",
                [width, s, base],
                turning(scaling.position_interpolation(width, s, base=base)),
            )
            if width > 2:
                yield Call("ntkAware", [width, s, base], turning(scaling.ntk_aware(width, s, base=base)))
    grid = itertools.product([4, 8, 64, 128], [8, 4096], [1.0, 2.0, 4.0], [100.0, 10_000.0, 500_000.0])
    for width, trained, s, base in grid:
        for length in (1, trained - 1, trained, trained + 1, 2 * trained, 10 * trained):
            spec = scaling.dynamic_ntk(width, trained, length=length, factor=s, base=base)
            yield Call("dynamicNtk", [width, trained, length, s, base], turning(spec))
    yield from of_scaling_by_parts()
    yield from of_longrope()


def of_scaling_by_parts():
    thresholds = [(1.0, 4.0), (1.0, 32.0), (0.25, 2.0), (1.0, 1.0)]
    grid = itertools.product([4, 64, 128], [32, 4096, 8192], [1.0, 8.0, 40.0], [10.0, 1e4, 5e5], thresholds)
    for width, trained, s, base, (slow, fast) in grid:
        given = [width, s, trained]
        turns, own = (
            {"beta_slow": slow, "beta_fast": fast, "base": base},
            {"betaSlow": slow, "betaFast": fast, "base": base},
        )
        yield Call("ntkByParts", [*given, own], turning(scaling.ntk_by_parts(*given, **turns)))
        spec = scaling.llama3(*given, low_freq_factor=slow, high_freq_factor=fast, base=base)
        own_names = {"lowFreqFactor": slow, "highFreqFactor": fast, "base": base}
        yield Call("llama3", [*given, own_names], turning(spec))
        yield Call(
            "yarn", [*given, {**own, "ramp": "turns"}], turning(scaling.yarn(*given, ramp="turns", **turns))
        )
        rates = rope_edu.inv_freq(width, base)
        yield Call("keptByTurns", [rates, trained, slow, fast], kept_by_turns(rates, trained, slow, fast))
        for truncate in (True, False):
            ends = ramp_ends(width, trained, base, slow, fast, truncate)
            yield Call("rampEnds", [width, trained, {**own, "truncate": truncate}], ends)
            if ends[0] <= ends[1]:
                spec = scaling.yarn(*given, truncate=truncate, **turns)
                yield Call("yarn", [*given, {**own, "truncate": truncate}], turning(spec))
    yield Call("rampEnds", [128, 4096], ramp_ends(128, 4096, 10_000.0))
    yield Call("rampEnds", [8, 10**6, {"base": 10.0}], ramp_ends(8, 10**6, 10.0))
    for s, (mscale, all_dim) in itertools.product([1.0, 16.0, 40.0], [(1.0, 0.0), (1.0, 1.0), (0.707, 0.3)]):
        spec = scaling.yarn(128, s, 4096, mscale=mscale, mscale_all_dim=all_dim)
        yield Call("yarn", [128, s, 4096, {"mscale": mscale, "mscaleAllDim": all_dim}], turning(spec))
        yield Call("yarnMscale", [s, mscale], scaling.yarn_mscale(s, mscale))
    stated = scaling.yarn(128, 8, 4096, attention_factor=1.5)
    yield Call("yarn", [128, 8, 4096, {"attentionFactor": 1.5}], turning(stated))
    for low, high in [(0, 3), (1.5, 3.5), (2, 2)]:
        kept = 1 - np.clip((np.arange(8) - low) / ((high - low) or 0.001), 0, 1)
        yield Call("keptByIndex", [8, [low, high]], kept)


def of_longrope():
    for width, length, stated in itertools.product([4, 128], [1, 4096, 4097], [None, 1.5]):
        short, long = 1 + RNG.random(width // 2), 1 + 60 * RNG.random(width // 2)
        spec = scaling.longrope(
            width, 32, 4096, length=length, short_factor=short, long_factor=long, attention_factor=stated
        )
        settings = {"length": length, "shortFactor": short.tolist(), "longFactor": long.tolist()}
        settings |= {"attentionFactor": stated} if stated else {}
        yield Call("longrope", [width, 32, 4096, settings], turning(spec))


@room
def of_stretch():
    settings = [
        (4, 100.0, 64, 64),
        (64, 1e4, 4096, 65_536),
        (128, 5e5, 8192, 131_072),
        (128, 1e4, 4096, 2048),
    ]
    for rule, given in itertools.product(stretch.RULES, settings):
        spec = stretch.stretched(rule, *given, 1e6)
        yield Call("stretched", [rule, *given, 1e6], turning(spec))
        rates = rope_edu.inv_freq(*given[:2])
        yield Call("divisors", [rates, spec.inv_freq], rates / spec.inv_freq)
        for distance, spread in itertools.product([0, 1, 77.7, 4096, 100_000], [0.0, 0.1]):
            share = stretch.score_trend(spec.inv_freq, spec.attention_factor, distance, spread)
            yield Call("scoreTrend", [turning(spec), distance, spread], share)


@room
def of_fern():
    lengths, phases = np.abs(RNG.normal(size=64)), RNG.uniform(-np.pi, np.pi, 64)
    contents = [((), ()), (lengths, phases), (lengths[:5], ()), ((0.0,) * 64, phases)]
    rules = itertools.product(["rope", "pi", "yarn"], [16, 64, 128])
    for (rule, width), (sizes, angles) in itertools.product(rules, contents):
        spec = stretch.stretched(rule, width, 1e4, 4096, 32_768)
        content = {"lengths": list(sizes), "angles": list(angles)}
        grown = [
            fern.fern(spec.inv_freq, spec.attention_factor, r, sizes, angles) for r in (0, 0.3, 12, 8000)
        ]
        for distance, joints in zip((0, 0.3, 12, 8000), grown, strict=True):
            yield Call("fern", [turning(spec), distance, content], joints)
            yield Call("heightOf", [joints], joints[-1, 1])
            yield Call("contentScore", [joints, content], fern.content_score(joints, sizes))
        yield Call("extent", [grown], fern.extent(grown))
        for point in grown[1][-1], grown[2][-1], (0.1, 0.4):
            near = fern.followed(spec.inv_freq, spec.attention_factor, 9, point, sizes, angles)
            yield Call("followed", [turning(spec), 9, point, content], near)


@room
def of_fern_of_config():
    for preset in PRESETS:
        ferns = [list(each) for each in fern_of_config.ferns(preset.config).items()]
        yield Call("fernsOf", [preset.config], ferns)
        yield Call("readFerns", [json.dumps(preset.config)], {"ferns": ferns})


@room
def of_trained_range():
    for width, base, length in itertools.product([4, 64, 128], [100.0, 1e4, 5e5], [64, 4096]):
        rates = rope_edu.inv_freq(width, base)
        yield Call("completesTurn", [rates, length], completes_turn(rates, length), exactly=True)
        far = np.array([0, length, length + 0.5, 2 * length, 7.3 * length, 100 * length])
        for now in (rates, scaling.ntk_aware(width, 8, base=base).inv_freq, rates / 8):
            new = meets_new_angle(far, now, length, rates)
            for r, row in zip(far, new, strict=True):
                yield Call("meetsNewAngle", [r, now, length, rates], row, exactly=True)
            yield Call("reach", [now, length, rates], reach(now, length, rates))
        inside = "(f, L, far, rs) => rs.map((r) => newStretches(f, L, far).some(([a, b]) => r > a && r < b))"
        walk = np.arange(0.5, 16 * length, length / 7)
        for i, new in enumerate(meets_new_angle(walk, rates, length).T):
            yield Call(inside, [rates[i], length, 16 * length, walk], new, exactly=True)


@room
def of_dot_product():
    for q, k in VECTORS.values():
        yield Call("dot", [q, k], q @ k)
        yield Call("matVec", [np.outer(q, k), q], np.outer(q, k) @ q)
        yield Call("softmax", [30 * q], rope_edu.softmax(30 * q))
    for length, causal in itertools.product([1, 2, 5], [True, False]):
        q, k, v = np.random.default_rng(length).normal(size=(3, length, 4))
        mask = rope_edu.causal_mask(length, length) if causal else None
        outputs, weights = attention.attention(q, k, v, mask=mask)
        yield Call("attention", [q, k, v, causal], {"weights": weights, "outputs": outputs})


SENTENCE = "I love natural language processing I"
DOORS = ("none", "sinusoidal", "alibi", "t5", "shaw", "rotary")


def reading_head(causal: bool) -> dict:
    w_q, w_k, _ = words.head_matrices()
    t5 = words.t5_table(bidirectional=not causal)[:, 0]
    return {"wQuery": w_q, "wKey": w_k, "shaw": words.shaw_table(), "t5": t5, "slope": words.ALIBI_SLOPE}


@room
def of_encoding():
    call = "(rows, head, encoding, causal, k) => makeHead(rows, head, encoding, causal)(k).map(softmax)"
    rows, eye = words.word_vectors(SENTENCE), np.eye(8)
    w_q, w_k, _ = words.head_matrices()
    for name, causal, k in itertools.product(DOORS, [True, False], [0, 1, 300, 1000]):
        door, positions = sentence.encoding_of(name, causal=causal), np.arange(k, k + len(rows))
        x = door.embed(rows, positions)
        _, weights = attention.multi_head_attention(
            x, w_q, w_k, eye, eye, n_heads=1, encoding=door, positions=positions, causal=causal
        )
        yield Call(call, [rows, reading_head(causal), name, causal, k], weights[0])
    scores = "(rows, head, encoding, k) => makeHead(rows, head, encoding, false)(k)"  # softmax hides a sum
    for name, k in itertools.product(DOORS, [0, 300]):
        found = sentence.sentence_scores(SENTENCE, name, k, causal=False)
        yield Call(scores, [rows, reading_head(False), name, k], found)


@room
def of_complex():
    for z, w in itertools.product(PLANE, PLANE):
        yield Call("timesConj", [pair(z), pair(w)], pair(z * w.conjugate()))
        yield Call("distance", [pair(z), pair(w)], abs(z - w))
    for z in PLANE:
        yield Call("length", [pair(z)], abs(z))
        yield Call("angleOf", [pair(z)], np.angle(z))
        yield Call("scaled", [pair(z), -0.7], pair(-0.7 * z))
    for angle in [-10.0, -3.0, 0.0, 3.0, 3.2, 100.0]:
        yield Call("wrapped", [angle], np.angle(np.exp(1j * angle)))


@room
def of_derivation():
    made = "const f = encoder(candidate, theta);"
    for candidate, theta in itertools.product(derivation.CANDIDATES, [0.0, 0.3, 1.0]):
        f = derivation.encoder(candidate, theta)
        for q, k in [*zip(PLANE[:4], PLANE[4:8], strict=True), (0j, PLANE[0]), (PLANE[0], 0j)]:
            given = [candidate, theta, pair(q)]
            places = [pair(f(q, m)) for m in derivation.PLACES]
            yield Call(
                f"(candidate, theta, q) => {{ {made} return PLACES.map((m) => f(q, m)); }}", given, places
            )
            for name, expected in (("stepsOf", derivation.steps_of), ("turnsOf", derivation.turns_of)):
                call = f"(candidate, theta, q) => {{ {made} return {name}(f, q); }}"
                yield Call(call, given, expected(f, q))
            call = f"(candidate, theta, q, k) => {{ {made} return breaks(f, q, k); }}"
            yield Call(call, [*given, pair(k)], derivation.breaks(f, q, k))
            for distance in (-8, -3, 0, 5):
                slid = derivation.slide(f, q, k, distance)
                call = f"(candidate, theta, q, k, d) => {{ {made} return slide(f, q, k, d).products; }}"
                yield Call(call, [*given, pair(k), distance], pairs(slid))
                angles = np.angle(slid[0]) + np.cumsum(
                    [0, *np.angle(np.array(slid[1:]) * np.conj(slid[:-1]))]
                )
                yield Call("followedAngles", [pairs(slid)], angles)


TEXTS = ["I", "love", "Love", "processing", "naïve", "Ünïcode", "日本語", "🙂", "👩‍👩‍👧", "don't"]


@room
def of_words():
    for seed in [0, 7, 126, 2**31, 2**32 - 1]:
        yield Call("normals", [seed, 100], words.normals(seed, 100))
    for text in TEXTS:
        yield Call("wordVector", [text], words.word_vector(text))
    for seed, width in [(2, 8), (2, 64), (126, 8)]:
        yield Call("randomMatrix", [seed, width], words.random_matrix(seed, width))
    for causal in (True, False):
        yield Call("readingHead", [causal], reading_head(causal))


@room
def of_rail():
    places = (0, 0.5, 1, 3.2, 4, 5.9, 6)
    for dog, pig in itertools.product(places, places):
        yield Call("otherPlaces", [dog, pig], rail.other_places(dog, pig), exactly=True)
        yield Call("passed", [dog, 2, pig], rail.passed(dog, 2, pig))
        yield Call("railScore", [pig - dog], rail.rail_score(pig - dog))
    for word, position in itertools.product(rail.ARROWS, (0, 3, 7.25, 48)):
        yield Call("turnedArrow", [word, position], rail.turned_arrow(word, position))


@room
def of_order():
    for text in TEXTS:
        yield Call("wordDirection", [text], order.word_direction(text))
    for text in ["one", "the dog chases the pig", "the pig chases the dog", "a b c d e f"]:
        for causal, layers in itertools.product([True, False], [1, 2]):
            weights, outputs = order.read_words(text.split(), causal=causal, layers=layers)
            expected = {"weights": weights, "outputs": outputs, "mean": outputs.mean(axis=0)}
            yield Call("readWords", [text.split(), causal, layers], expected)


@room
def of_example_bias():
    for scheme in example_bias.SCHEMES:
        yield Call("isCausal", [scheme], scheme in ("alibi", "t5_causal"))
        for length, buckets, longest, clip in [(8, 8, 40, 1), (32, 32, 128, 4), (48, 64, 256, 24)]:
            table = {"num_buckets": buckets, "max_distance": longest, "clip": clip}
            own = {"numBuckets": buckets, "maxDistance": longest, "clip": clip}
            for head in (1, 3, 8):
                expected = example_bias.bias_curve(scheme, head, length, **table)
                yield Call("biasCurve", [scheme, head, length, own], expected)
            if scheme != "alibi":
                for relative in (-47, -5, -1, 0, 1, 7, 47):
                    entry = example_bias.table_entry(scheme, relative, **table)
                    yield Call("tableEntry", [scheme, relative, own], entry, exactly=True)
    for head in range(1, example_bias.N_HEADS + 1):
        yield Call("slopeOf", [head], rope_edu.alibi_slopes(example_bias.N_HEADS)[head - 1])
        yield Call("factorOf", [-head / 3], np.exp(-head / 3))
        yield Call("exampleValue", [head, 3], example_bias.example_value(head, 3))


@room
def of_decoding():
    for store, step in itertools.product(decoding.STORES, [1, 2, 9, 16]):
        for pair_shown, capacity in itertools.product(range(4), [2, 7, 16]):
            keys = decoding.held_keys(store, pair_shown, capacity, step)
            yield Call("heldKeys", [store, pair_shown, capacity, step], keys)
            yield Call("decodingWork", [store, capacity, step], decoding.decoding_work(store, capacity, step))
        yield Call("keyAngle", [store, 2, 5, 12], decoding.key_angle(store, 2, 5, 12))


TIES = [
    m * (1 + odd * 2.0**-bits) for m in (1, 2049, 2**-14, 2**-24) for bits in range(6, 27) for odd in (-1, 1)
]
ENDS = [2**-25, 2**-149, 2**-150, 3.3961775292304957e38, 3.4028235e38, 3.5e38, 0.0, math.inf, math.nan]
SIZES = (RNG.uniform(1, 2, 400) * 2.0 ** RNG.integers(-150, 129, 400)).tolist()
ROUNDED = [
    sign * x for sign in (1, -1) for x in (*range(200, 600), *range(65_400, 65_540), *TIES, *ENDS, *SIZES)
]
PIPES = {
    **PIPELINES,
    "float64": Pipeline(*("float64",) * 4),
    "bfloat16": Pipeline(*("bfloat16",) * 4),
    "mixed": Pipeline("float32", "bfloat16", "float16", "float64"),
}
STEPS = ("frequencies", "positions", "angles", "cos_sin")
PLACES = [0, 1, 255, 256, 257, 777, 2049, 4100, 65_519, 65_520, 99_999, 2**20 - 1, 2**20]


def formats(pipeline: Pipeline) -> dict[str, str]:
    return {step: getattr(pipeline, step) for step in STEPS}


@room
def of_precision():
    yield Call("() => STEPS", [], STEPS, exactly=True)
    named = [[name, formats(pipeline)] for name, pipeline in PIPELINES.items()]
    yield Call("() => Object.entries(PIPELINES)", [], named, exactly=True)
    for each in NUMBER_FORMATS:
        rounded = precision.round_to(ROUNDED, each)
        yield Call("(list, f) => list.map((x) => roundTo(x, f))", [ROUNDED, each], rounded, exactly=True)
        yield Call("roundoff", [each], error_curve.roundoff(each), exactly=True)
    turn = "(ms, ...rest) => ms.map((m) => pipelineCosSin(m, ...rest))"
    error = "(ms, ...rest) => ms.map((m) => angleError(m, ...rest))"
    for pipeline, (width, base) in itertools.product(
        PIPES.values(), [(2, 100.0), (64, 1e4), (128, 5e5), (64, 1e8)]
    ):
        rates = rope_edu.inv_freq(width, base)
        turns = pairs(precision.pipeline_cos_sin(PLACES, rates, pipeline))
        yield Call(turn, [PLACES, rates, formats(pipeline)], turns)
        for step in (0, 1, 300):
            errors = precision.angle_error(PLACES, rates, pipeline, step=step)
            yield Call(error, [PLACES, rates, formats(pipeline), step], errors)


@room
def of_error_curve():
    yield Call("tiePositions", [], error_curve.tie_positions(), exactly=True)
    yield Call("spreadPositions", [], error_curve.spread_positions(), exactly=True)
    bound = "(m, f, ...rest) => { const at = makeErrorBound(f, ...rest)(m); return at && f.map((_, i) => at(i)); }"
    for pipeline, step, position in itertools.product(PIPES.values(), [0, 1], PLACES[1:]):
        rates = rope_edu.inv_freq(64)
        given = [position, rates, formats(pipeline), step]
        yield Call(bound, given, error_curve.error_bound(position, rates, pipeline, step))
        parts = error_curve.error_parts(position, float(rates[3]), pipeline, step)
        if all(map(math.isfinite, parts.values())):
            yield Call("errorParts", [position, rates[3], formats(pipeline), step], parts)
    curve = {1: 0.1, 5: 0.2, 9: 0.5}
    for position, error in [(3, 0.05), (5, 0.3), (6, 0.6), (10, 0.9), (7, 0.0)]:
        added = sorted({**curve, position: max(error, curve.get(position, 0))}.items())
        largest = np.maximum.accumulate([value for _, value in added])
        expected = dict(zip([m for m, _ in added], largest, strict=True))
        call = "(...all) => Object.fromEntries(withPosition(...all))"
        yield Call(call, [list(curve.items()), position, error], {str(m): v for m, v in expected.items()})


@room
def of_results():
    texts = ["0010zz", "000a", "1k2l3m4n"]
    for text in texts:
        codes = np.array([int(text[i : i + 2], 36) for i in range(0, len(text), 2)])
        yield Call("unpackShares", [text], codes / 1000)
        yield Call("unpackLosses", [text], 10 ** (codes / 200 - 4.5))
    for values in ([3.0], [2.0, 1.0], [5.0, 1.0, 4.0], [0.1, 0.4, 0.2, 0.3]):
        yield Call("span", [values], [min(values), np.median(values), max(values)])


DRAWS = importlib.util.spec_from_file_location(
    "config_draws", Path(__file__).parents[2] / "doctor" / "config" / "draws.py"
)
draws = sys.modules["config_draws"] = importlib.util.module_from_spec(DRAWS)
DRAWS.loader.exec_module(draws)
REFUSED = (
    "{ if (!error.reason) throw error; return { refused: [error.reason, error.field, error.message] }; }"
)
GIVEN = "{ invFreq, attentionFactor, headDim, layout, kind, ropeType, base, factor, longest, trained }"
MORE = "{ layerType, layerTypes, sectionOrder, remarks, axes }"


def trying(expression: str) -> str:
    return f"try {{ {expression} }} catch (error) {REFUSED}"


def what_is_read(config: Any, layer_type: str | None, seq_len: int | None) -> dict:
    """Return a reading, or its refusal, in JavaScript's form; inverses too: slow pairs are compared relatively."""
    try:
        found = read_config(config, layer_type=layer_type, seq_len=seq_len)
    except ConfigError as error:
        return {"refused": [error.reason, error.field, str(error)]}
    spec = found.spec
    return {
        "invFreq": spec.inv_freq,
        "inverses": [1 / each if each else 0.0 for each in spec.inv_freq.tolist()],
        "attentionFactor": spec.attention_factor,
        "headDim": spec.head_dim,
        "layout": spec.layout,
        "kind": spec.kind,
        "axes": list(spec.axes) if spec.axes else None,
        "ropeType": found.rope_type,
        "base": found.base,
        "factor": found.factor,
        "longest": found.longest,
        "trained": found.trained,
        "layerType": found.layer_type,
        "layerTypes": list(found.layer_types),
        "sectionOrder": found.section_order,
        "remarks": [[remark.kind, remark.text] for remark in found.remarks],
        "rule": found.call.rule,
        "line": found.call.line(),
    }


@room
def of_config():
    read = f"const read = readConfig(config, layer, length); const {GIVEN} = read; const {MORE} = read;"
    inverses = "const inverses = invFreq.map((f) => (f ? 1 / f : 0));"
    made = f"return {{ ...{GIVEN}, ...{MORE}, inverses, rule: read.rule, line: pythonOf(read) }};"
    call = f"(config, layer, length) => {{ {trying(read + inverses + made)} }}"
    labels = [None, "full_attention", "sliding_attention", "main", "compress", "nope"]
    given = [(each.config, label, None) for each in PRESETS for label in labels]
    given.append(({"model_type": "gpt2", "n_embd": 768, "n_head": 12}, None, None))
    files = json.loads(
        (Path(__file__).parents[2] / "doctor" / "config" / "released.json").read_text(encoding="utf-8")
    )["files"]
    for file in files:
        if "config" in file:
            names = [None, *file["expected"]] if "refused" not in file["expected"] else [None]
            given += [(file["config"], name, None) for name in names if name != "all"]
    given += [(config, label, None) for config in draws.WIDTHS_BY_LAYER for label in labels[:3]]
    given += [({"model_type": "new", "head_dim": 64, "rope_theta": 1e4, f"rope_{'x' * 70}": 1}, None, None)]
    for config, layer_type, seq_len in [*given, *draws.cases(np.random.default_rng(7), 1000)]:
        yield Call(call, [config, layer_type, seq_len], what_is_read(config, layer_type, seq_len))


CHECKED = ("factor", "rope_type", "truncate", "mrope_section", "head_dim", "short_factor", "rope_scaling")


VALUES = (
    *draws.ODD,
    0.1 + 0.2,
    1e-5,
    123456.789,
    1e22,
    "x" * 99,
    list(range(99)),
    "é🙂" * 40,
    [[[1]], "a"],
)


@room
def of_config_values():
    yield Call("() => RULES", [], RULES, exactly=True)
    for value in VALUES:
        yield Call("isObject", [value], isinstance(value, dict))
        for name in (
            "factor",
            "rope_type",
            "truncate",
            "mrope_section",
            "head_dim",
            "short_factor",
            "rope_scaling",
        ):
            try:
                found = [config_values.checked(name, "a.b", value)]
            except ConfigError as error:
                found = {"refused": [error.reason, error.field, str(error)]}
            yield Call(f"(...all) => {{ {trying('return [checked(...all)]')} }}", [name, "a.b", value], found)
        for other in (value, 1, 1.0, True, "1", [1], {"a": [1, {}]}, None):
            yield Call("same", [value, other], config_values.same(value, other))
    yield Call("same", [{"a": [1, {}]}, {"a": [1, {}]}], True)
    wrong = config_values.config_error("order", "a", value=2.0, other="b", other_value=1)
    words = {"value": 2, "other": "b", "other_value": 1}
    yield Call("(...all) => configError(...all).message", ["order", "a", words], str(wrong))
    yield Call("() => new ConfigError('order', 'b', {}, ['d']).choices", [], ["d"])
    for name in ("rope_theta", "head_dim", "factor", "constructor"):
        yield Call("(name) => own({ factor: 1 }, name) ?? null", [name], {"factor": 1}.get(name))
    for name in ("rope_theta", "alpha"):
        yield Call("namesOf", [name], config_values.names_of(name), exactly=True)
    values = {"a": 1, "b": None, "c": {"d": 2}}
    part = config_values.Part(values, "x", {"a": "elsewhere.a"})
    for name in ("a", "b", "c", "c.d", "c.e", "toString"):
        given = [values, "x", {"a": "elsewhere.a"}, name]
        yield Call("(v, p, m, n) => new Part(v, p, m).raw(n)", given, part.raw(name))
        yield Call("(v, p, m, n) => new Part(v, p, m).path(n)", given, part.path(name))
    notes = config_values.Notes()
    for number in (1, 1, 2):
        notes.add("softmax scale", scale=number)
    notes.lost("flat", model_type="olmo3")
    told = [[each.kind, each.text] for each in notes]
    noted = "for (const scale of [1, 1, 2]) notes.add('softmax scale', { scale });"
    lost = "notes.lost('flat', { model_type: 'olmo3' });"
    yield Call(f"() => {{ const notes = new Notes(); {noted} {lost} return [...notes]; }}", [], told)


@room
def of_config_words():
    for name, value in (("NaN", math.nan), ("Infinity", math.inf), ("-Infinity", -math.inf)):
        yield Call(f"() => formatValue({name})", [], config_values.format_value(value))
    for value in VALUES:
        yield Call("formatValue", [value], config_values.format_value(value))
    words = {"value": 2, "other": "b", "other_value": 1}
    yield Call("shown", [words], config_values.shown(words))
    for indices in ([], [3], [0, 1, 2, 5, 7, 8], list(range(0, 20, 2))):
        yield Call("runs", [indices], each_layer.runs(indices))
    yield Call("filled", ["{a} of {b}, {a}", {"a": 1, "b": "x"}], "1 of x, 1")
    yield Call("listed", [["a", "b"]], config_values.listed(["a", "b"]))
    yield Call("cut", ["🙂é" * 9, 3], "🙂é🙂")
    for value in (1.0, 0.1 + 0.2, 1e-5, 123456789.4, 1.5e22, 0.00012345678949, 2.5e-7):
        for digits in (3, 9):
            yield Call("general", [value, digits], f"{value:.{digits}g}")
    for text in ("a\x1b[2J\n\t\r\x7f\x85\u202e\u2028 é🙂", "plain"):
        yield Call("visible", [text], config_values.visible(text))


EXPRESSIONS = [
    ["all", True, ["not", None]],
    ["any", False, None],
    ["if", ["=", 1, 1.0], "a", "b"],
    ["or", None, "@rope_theta"],
    ["has", "rope_theta"],
    ["has", "factor"],
    ["default", "head_dim"],
    ["ours", "rope_theta"],
    ["agreed", "max_position_embeddings"],
    ["inside", "factor"],
    ["named", "n_positions"],
    ["list", "layer_types"],
    ["in", "@model_type", "interleaved"],
    ["checked", "factor", 2],
    ["<", 1, 2],
    ["*", 3, "@factor"],
    ["/", 7, 2],
    ["int", 7.9],
    ["divides", 2, 7],
    ["sum", ["list of", 1]],
    ["sum", None],
    ["sum", "@mrope_section"],
    ["length", "@mrope_section"],
    ["dealt", "@mrope_section"],
    ["softmax scale", 8, 1.5],
    ["axes", [3, 3, 2], "rows and columns first"],
    ["entry", "refused_rules", "axial"],
    ["names", "needs_two_pairs", "refused_rules"],
    ["path", "factor"],
    ["backwards", 128, 10_000.0, 4096, 32, 1, True],
    ["backwards", 128, 1.5, 10**9, 32, 1, True],
    "@seq_len",
    "plain",
]
FILE = {
    "head_dim": 64,
    "max_position_embeddings": 9,
    "n_positions": 9,
    "layer_types": ["a"],
    "rope_theta": 5e5,
}
STATED = {"factor": 4.0, "mrope_section": [24, 20, 20]}


def table() -> config_table.RuleTable:
    parts = config_values.Part(FILE), config_values.Part(STATED, "rope_scaling")
    facts = {"model_type": "cohere", "seq_len": 7}
    return config_table.RuleTable(parts[0], config_values.Notes(), facts, parts[1])


MAKE = (
    "const table = new RuleTable({}, new Notes(), { model_type: 'cohere', seq_len: 7 });"
    " const make = (values, start) => ({ values, start, paths: {}, has: (n) => values[n] !== undefined,"
    " raw: (n) => values[n] ?? null, path: (n) => (start ? `${start}.${n}` : n) });"
    " table.body = make(file, ''); table.part = make(stated, 'rope_scaling');"
)


@room
def of_config_table():
    for expression in EXPRESSIONS:
        if expression[:1] == ["sum"] and isinstance(expression[1], list):
            continue
        call = f"(file, stated, expression) => {{ {MAKE} return table.value(expression); }}"
        yield Call(call, [FILE, STATED, expression], table().value(expression))
    for name in ("rope_theta", "factor", "alpha", "llama_4_scaling_beta"):
        call = f"(file, stated, name) => {{ {MAKE} return table.path(name); }}"
        yield Call(call, [FILE, STATED, name], table().path(name))
    for sections, dealing in [
        ([16, 24, 24], "contiguous"),
        ([24, 20, 20], "interleaved"),
        ([3, 3, 2], "rows and columns first"),
    ]:
        axes = list(config_table.pair_axes(sections, dealing))
        yield Call("pairAxes", [sections, dealing], axes, exactly=True)
        yield Call("sectionsOf", [axes], [axes.count(axis) for axis in range(3)], exactly=True)
    yield Call("() => Object.keys(LAZY)", [], list(config_table.LAZY))
    yield Call("() => Object.keys(EAGER)", [], list(config_table.EAGER))


EXAMPLES = [each.config for each in PRESETS]


def table_of(config: dict) -> config_table.RuleTable:
    """Return a table as the kinds of layers read it."""
    notes = config_values.Notes()
    body, family, inside = config_layers.body_of(config, notes)
    facts = {"model_type": family, "nested_file": inside}
    return config_table.RuleTable(body, notes, facts)


TABLE_OF = (
    "const notes = new Notes(); const [body, family, inside] = bodyOf(config, notes);"
    " const table = new RuleTable(body, notes, { model_type: family, nested_file: inside });"
)
BY_LAYER = {"per_layer_config": {"1": {"head_dim": 32}, "2": {"head_dim": 8}}, "layer_types": ["a", "b"]}


@room
def of_config_layers():
    told = "[...notes].map(([kind]) => kind)"
    for config in EXAMPLES:
        table = table_of(config)
        found = [table.body.values, table.facts["model_type"], table.facts["nested_file"]]
        made = f"{TABLE_OF} return [body.values, family, inside, {told}];"
        expected = [*found, [each.kind for each in table.notes]]
        yield Call(f"(config) => {{ {made} }}", [config], expected, exactly=True)
        for label in ("full_attention", "sliding_attention", "nope"):
            table = table_of(config)
            try:
                found = config_layers.layers_of(table, label)
                expected = [*found, table.part.values, [each.kind for each in table.notes]]
            except ConfigError as error:
                expected = {"refused": [error.reason, error.field, str(error)]}
            made = "const found = layersOf(table, label); return [...found, table.part.values,"
            call = f"(config, label) => {{ {TABLE_OF} {trying(f'{made} {told}];')} }}"
            yield Call(call, [config, label], expected, exactly=True)
    for label, config in (("a", BY_LAYER), ("b", BY_LAYER), ("full_attention", {"global_head_dim": 512})):
        kinds = config.get("layer_types", ["full_attention"])
        config = config | {"rope_parameters": {kind: {} for kind in kinds}}
        table = table_of(config)
        config_layers.layers_of(table, label)
        part = table.part
        found = [part.values, part.path("head_dim"), part.apart, sorted(part.added), sorted(table.used)]
        made = "layersOf(table, label); const { part } = table; const { values, apart, added } = part;"
        given = "return [values, part.path('head_dim'), apart, added, [...table.used].sort()];"
        call = f"(config, label) => {{ {TABLE_OF} {made} {given} }}"
        yield Call(call, [config, label], found, exactly=True)


@room
def of_config_kinds():
    yield Call("() => [NOPE, ...THETAS]", [], [config_kinds.NOPE, *config_kinds.THETAS])
    make = "const part = (values) => new Part(values, 'a'); checkSame(part({ x: 1 }), part({ y }), 'x', 'y');"
    sentence = "a.x is 1, but a.y is 2: they contradict each other, so correct one"
    wrong = {"refused": ["contradiction", "a.x", sentence]}
    yield Call(f"(y) => {{ {trying(make)} return null; }}", [1], None)
    yield Call(f"(y) => {{ {trying(make)} return null; }}", [2], wrong)
    call = f"(config) => {{ {TABLE_OF} return [...kindsOf(table)].map(([l, part]) => [l, part && part.values]); }}"
    for config in EXAMPLES:
        found = [
            [label, part and part.values] for label, part in config_kinds.kinds_of(table_of(config)).items()
        ]
        yield Call(call, [config], found, exactly=True)


@room
def of_spatial():
    for width, base in itertools.product([8, 16, 64, 128], BASES):
        yield Call("axialFrequencies", [width, 2, base], spatial.axial_frequencies(width, 2, base))
        for degrees in (0, 30, 45, 90):
            direction = math.radians(degrees)
            mixed = spatial.mixed_frequencies(width, direction, base)
            yield Call("mixedFrequencies", [width, direction, base], mixed)
            yield Call("schemeFrequencies", ["mixed", width, base, degrees], mixed)
        yield Call("schemeFrequencies", ["axial", width, base, 0], spatial.axial_frequencies(width, 2, base))
        row = rope_edu.inv_freq(width, base)
        for deal in spatial.ORDERS:
            dealt = spatial.section_frequencies(row, [width // 4] * 2, deal)
            yield Call("schemeFrequencies", [deal, width, base, 0], dealt)
    yield Call("axialFrequencies", [24, 3, 100.0], spatial.axial_frequencies(24, 3, 100.0))
    for sections, deal in itertools.product([[16, 24, 24], [24, 20, 20], [2, 2, 2]], spatial.ORDERS):
        if (sections, deal) == ([16, 24, 24], "interleaved"):
            continue  # the pairs cannot be dealt out in turn
        whose = spatial.section_axes(sum(sections), sections, deal)
        yield Call("sectionAxes", [sections, deal], whose, exactly=True)
        row = rope_edu.inv_freq(2 * sum(sections))
        dealt = spatial.section_frequencies(row, sections, deal)
        yield Call("sectionFrequencies", [row, sections, deal], dealt)
    yield from patches()


def patches():
    """Yield the calls for an image: its positions, their scores, the drawing of a frequency."""
    places = spatial.grid_coordinates(3, 5)
    yield Call("gridCoordinates", [3, 5], places, exactly=True)
    for query in ([0, 0], [2, 3]):
        frequencies = spatial.mixed_frequencies(16, 0.4, 100.0)
        expected = np.cos(spatial.spatial_angles(places - query, frequencies)).mean(-1)
        yield Call("patchScores", [query, places, frequencies], expected)
    for vector, base in itertools.product([[1.0, 0.0], [0.006, -0.008], [-0.3, 0.1]], [2.0, 100.0, 1e6]):
        size = np.linalg.norm(vector)
        far = 1 + 0.88 * np.log(size) / np.log(base)
        yield Call("arrowPlace", [*vector, base], far * np.array(vector)[::-1] / size)


@room
def of_real_head():
    tokens = [" the", " cat", ",", " the", " cat", "\n", "the", " 7", " ↵"]
    for job in real_head.JOBS:
        yield Call("targets", [job, tokens], real_head.targets(job, tokens), exactly=True)
        yield Call("targets", [job, [" one"]], real_head.targets(job, [" one"]), exactly=True)
    rows = RNG.normal(size=(2, len(tokens), 16))
    for layout, start, a in itertools.product(["interleaved", "half_split"], [0, 700], [1.0, 1.2]):
        spec = RopeSpec([1.0, 0.3, 0.2, 0.1, 0.05, 0.01, 0.0, 1e-4], a, layout)
        rotation = {"invFreq": spec.inv_freq, "attentionFactor": a}
        weights = real_head.head_weights(*rows, start, spec)
        yield Call("headWeights", [*rows, start, rotation, layout], weights)
        for m, n in [(8, 0), (5, 5), (7, 6)]:
            q, k, at = rows[0, m], rows[1, n], (start + m, start + n)
            shares = real_head.pair_shares(q, k, *at, spec)
            yield Call("pairShares", [q, k, *at, rotation, layout], shares)
        for job in real_head.JOBS:
            counts = real_head.targets(job, tokens)
            yield Call("jobDone", [weights, counts], real_head.job_done(weights, counts))


@room
def of_page_heads():
    sentences = read_page_heads()["sentences"]
    for job, head in load_page_heads().items():
        for n, tokens in enumerate(sentences):
            facts = {"layer": head.layer, "head": head.head, "tokens": tokens}
            call = "(job, n) => (({ layer, head, tokens }) => ({ layer, head, tokens }))(pageHead(job, n))"
            yield Call(call, [job, n], facts, exactly=True)
            for name, rows in (("q", head.q), ("k", head.k)):
                yield Call(f"(job, n) => pageHead(job, n).{name}", [job, n], rows[n])
