"""Chapter 23: the numbers on which a claim's verdict rests, or the claim's own case in small."""

from itertools import product

import numpy as np

from rope_book.results import load_grid
from rope_book.widgets import ScoreDistance
from rope_book.widgets.maths.gained import K, Q, gained_score
from rope_doctor.precision import round_to
from rope_edu import apply_rope, inv_freq, p_rope, rope_angles, sinusoidal, wavelength
from rope_edu.encodings import roformer_bound, rotation_matrix, score_curve, trivial_bound

from .reading import after, numbers, seen, source

THETA = 0.1  # radians per token


def _line(second=0.7, where="after"):
    """Return the score at distance 4 all along the text, with a gain of 1.6 on the first feature."""
    turn = {"distance": 4, "inv_freq": THETA, "gains": (1.6, second), "after": where == "after"}
    return np.array([gained_score(Q, K, position, **turn) for position in range(90)])


def _flat(line):
    return np.ptp(line) < 1e-9


def flat():
    uneven, even = _flat(_line()), _flat(_line(second=1.6))
    return {
        "into an ellipse": even and not uneven,
        "One pair alone is a wave": not even and not uneven,
        "from token to token": bool((np.diff(_line()) > 0).all()),
        "Rounding errors": uneven,
    }


def equal():
    gains = np.arange(0.2, 2.01, 0.05)
    return float(gains[np.argmin([np.ptp(_line(second)) for second in gains])])


def before():
    line = _line(where="before")
    return {
        "Yes": _flat(line),
        "wherever they act": np.ptp(line) >= np.ptp(_line()),
        "the wave gets smaller": 1e-9 <= np.ptp(line) < np.ptp(_line()),
    }


def period():
    turn = 2 * np.pi / THETA
    figure = {"distance": 4, "inv_freq": THETA, "gains": (1.6, 0.7), "after": True}
    return next(
        share
        for share in (0.25, 0.5, 1, 2)
        if np.isclose(gained_score(Q, K, 3, **figure), gained_score(Q, K, 3 + share * turn, **figure))
    )


def head_gain():
    drift, shared = after(seen(1), "drift"), after(seen(1), "shared in pairs")
    return {
        "still drifts": drift > 0 == shared,
        "the waves average out": drift == 0,
        "no gain of any kind": drift > 0 and shared > 0,
    }


def padding():
    everywhere, prompt = (
        after(seen(27), words) > 0 for words in ("counted everywhere", "in the prompt only")
    )
    return {
        "the prompt alone counts": prompt and not everywhere,
        "In neither": not (prompt or everywhere),
        "In both": prompt and everywhere,
        "both count them": everywhere and not prompt,
    }


def packing():
    mask, restart = (after(seen(28), words) == 0 for words in ("mask alone", "restart alone"))
    return {
        "positions restarted or not": mask and not restart,
        "a mask or none": restart and not mask,
        "Only with both": not (mask or restart),
        "With neither": mask and restart,
    }


def moved_key():
    first, second = (after(seen(29), layer) for layer in ("layer 1", "layer 2"))
    return {
        "In the first layer yes": first == 0 and second > 0.01,
        "in all layers": first == second == 0,
        "in no layer": first > 0,
        "error of rounding": first == 0 < second <= 0.01,
    }


def lost_base():
    too_fast = float(inv_freq(128)[-1] / inv_freq(128, 500_000.0)[-1])
    return {
        "About 47 times": round(too_fast) == 47,
        "50 times": round(too_fast) == 50,
        "7 times, the root": round(too_fast) == 7,
        "Not at all": round(too_fast) == 1,
    }


def two_layouts():
    drift = after(seen(23), "drift")
    return {"No": drift > 0, "by the same angles": drift == 0}


def tables():
    built = {"cat": np.tile(np.arange(4), 2), "repeat": np.repeat(np.arange(4), 2)}
    halves = {name for name, table in built.items() if np.array_equal(table[:4], table[4:])}
    neighbours = {name for name, table in built.items() if np.array_equal(table[::2], table[1::2])}
    return {
        "Each for its pairing": (halves, neighbours) == ({"cat"}, {"repeat"}),
        "`repeat_interleave`: pair": "repeat" in halves,
        "`cat`: it is faster": "cat" in neighbours,
    }


def snippets():
    fail = numbers(seen(22))[0]
    return {"None of the three": fail == 3, "Two of the three": fail == 1, "All three": fail == 0}


def four_times():
    grid = load_grid()
    left = {
        task: round(100 * grid.accuracy(task, "rotary", grid.test_lengths(task)[0] * times).median)
        for task, times in (("text", 4), ("copy", 4))
    }
    told = f"{left['text']} % and {left['copy']} %"
    return {words: told == words for words in ("24 % and 10 %", "48 % and 99 %", "45 % and 90 %")}


def published():
    alone = after(seen(20), "by rescaling alone")
    return {"None": alone == 0, "Two or three": alone in (2, 3), "All five": alone == 5}


def bfloat():
    places = np.arange(70_000.0)
    kept = round_to(places, "bfloat16")
    first = int((kept[1:] == kept[:-1]).argmax())
    return {f"At {position:,}": first == position for position in (256, 32_768, 65_536)}


def norms():
    apart = {
        "RMS norm without a gain": after(seen(2), "RMS"),
        "RMS norm with a gain": after(seen(2), "with gain"),
        "LayerNorm": after(seen(2), "LayerNorm"),
    }
    same = {norm: change == 0 for norm, change in apart.items()}
    return same | {"None": not any(same.values())}


def values():
    change, back = after(seen(3), "change by"), after(seen(3), "turned back")
    return {
        "unless each output": change > 0 == back,
        "the attention weights stay": change == 0,
        "nothing could repair it": change > 0 and back > 0,
    }


def once():
    drift, of_q_and_k = after(seen(4), "drift"), after(seen(4), "of q and k")
    return {"Two weight matrices": drift > 0 == of_q_and_k, "the dot product of the two": drift == 0}


def rigid():
    q, k = np.random.default_rng(0).normal(size=(2, 8))
    turned = apply_rope(np.array([q, k]), rope_angles([3, 50], inv_freq(8)))
    lengths = np.linalg.norm(turned, axis=1), np.linalg.norm([q, k], axis=1)
    return {
        "The length of each": np.allclose(*lengths),
        "The distance between": np.isclose(np.linalg.norm(turned[0] - turned[1]), np.linalg.norm(q - k)),
        "The score": np.isclose(turned[0] @ turned[1], q @ k),
    }


def same_words():
    first, later = after(seen(6), "layer 1:"), after(seen(6), "layer 2:")
    return {
        "In the first layer yes": first == 0 < later,
        "in every layer": first == later == 0,
        "in no layer": first > 0,
    }


def closer():
    share = after(seen(7), "1 beats 100:")
    return {
        "About half": 0.4 < share < 0.6,
        "nine times in ten": 0.85 < share < 0.95,
        "Nearly always": share >= 0.95,
        "Hardly ever": share < 0.05,
    }


def steps():
    share = ScoreDistance().rises / 256
    return {
        "nearly half": 0.4 < share < 0.5,
        "about one in ten": 0.05 < share < 0.15,
        "On none": share == 0,
    }


def bound():
    ones, distances = np.ones(64), np.arange(1, 8192)
    ratio = roformer_bound(ones, ones, inv_freq(64), distances) / trivial_bound(ones, ones)
    return {
        "higher at every distance": ratio.min() > 1,
        "the first few distances on": ratio[10:].max() < 1,
        "beyond a few thousand": ratio[5000:].max() < 1 < ratio[:10].min(),
        "The two are equal": np.allclose(ratio, 1),
    }


def billion():
    near, far = np.linalg.norm(sinusoidal([0, 10**9], 128), axis=1)
    return {
        "Both have length 8": np.allclose([near, far], 8),
        "times longer": far > 1000 * near,
        "by the logarithm": near + 1 < far <= 1000 * near,
        "The second has length 0": far < 1e-6,
    }


def raw_rows():
    raw, matrix = (after(seen(11), words) == 0 for words in ("raw", "through a matrix"))
    return {
        "The product without": raw and not matrix,
        "The product with the": matrix and not raw,
        "Both": raw and matrix,
        "Neither": not (raw or matrix),
    }


def look_alike():
    nearest = after(seen(12), "nearest:")
    return {
        "offset of 1": nearest == 1,
        "At 6,": nearest == 6,
        "54,410": nearest == 54_410,
        "near 200,000": nearest > 190_000,
    }


def one_and_500():
    rows = sinusoidal([1, 2, 500], 128)
    step, leap = np.linalg.norm(np.diff(rows, axis=0), axis=1)
    return {
        "much shorter than 498": step < leap / 2,
        "a separate vector": np.isclose(step, leap),
        "farther apart, since": step > leap * 1.01,
    }


def t5_cache():
    change = after(seen(14), "change by")
    return {"None": change == 0, "All: the new token": change > 0}


def parameters():
    none, rope = (after(seen(16), name) for name in ("none", "RoPE"))
    return {"Neither": none == rope, "by one frequency": rope > none}


def cost():
    share = after(seen(17), "over 128 tokens")
    return {"a much larger one": share > 3, "time follows": 0.1 < share <= 3, "a smaller one": share <= 0.1}


def faster():
    leads = {
        "Telling the place": "clock",
        "the token five back": "back",
        "as far back as": "recall",
        "Predicting prose": "text",
    }
    return {words: after(seen(18), task) < 0 for words, task in leads.items()}


def names():
    speeds, plain = p_rope(64, 0.25).inv_freq, inv_freq(64)
    kept = speeds > 0
    from_plain = np.array_equal(speeds[kept], plain[kept])
    return {
        "The proportion": from_plain and kept.mean() == 0.25 and kept[:8].all(),
        "Parameterized": not from_plain,
        "Partial": np.allclose(speeds[kept], inv_freq(16)),
    }


def interleave():
    pairs = after(seen(25), "pairs:") != 0
    blocks, dealt = numbers(seen(25).partition("axes:")[2])
    axes = blocks != dealt
    return {
        "Only the axes": axes and not pairs,
        "Only the pairs": pairs and not axes,
        "Both": pairs and axes,
        "Neither": not (pairs or axes),
    }


def fixed_length():
    short, long = sinusoidal(np.arange(100), 128), sinusoidal(np.arange(20_000), 128)
    same = np.array_equal(short, long[:100])
    repeats = np.isclose(np.linalg.norm(long[10_000:] - long[0], axis=1), 0).any()
    return {
        "a row for any position": same and not repeats,
        "over the length of the table": not same,
        "the rows repeat": same and repeats,
    }


def far_apart():
    distances = np.arange(4990, 5010)
    rows = sinusoidal(distances, 128) @ sinusoidal([0], 128)[0]
    rope = score_curve(np.ones(128), np.ones(128), inv_freq(128), distances) / 2
    tells = [abs(np.diff(curve)[10]) for curve in (rope, rows)]
    return {
        "the two are equal": np.allclose(rows, rope),
        "RoPE: it": not np.allclose(rows, rope) and tells[0] > tells[1],
        "Sinusoids: their": not np.allclose(rows, rope) and tells[1] > tells[0],
    }


def width():
    slowest = wavelength(inv_freq(64))[-1]
    wider, larger = wavelength(inv_freq(256))[-1] / slowest, wavelength(inv_freq(64, 1e6))[-1] / slowest
    return {
        "the larger base": larger > 10 * wider,
        "The wider one": wider > larger,
        "Both grow alike": 0.8 < wider / larger < 1.25,
    }


def massive():
    share = after(seen(33), "numbers:")  # % of GPT-2 small
    return {
        "About 6 %": share == 6,
        "About as large": share > 50,
        "A third": 25 < share < 45,
        "Less than a thousandth": share < 0.1,
    }


def near_rows():
    alike = [after(seen(34), task) for task in ("copy", "text", "back")]
    return {
        "It depends on the task": max(alike) > 0.5 and min(alike) < 0.1,
        "Not at all": max(alike) < 0.1,
        "Very alike on every": min(alike) > 0.5,
    }


def t5_slow():
    times = [round(after(seen(35), words)) for words in ("at hand", "anew")]
    return {
        "About 2, and about 9": times == [2, 9],
        "About 1 in both": times == [1, 1],
        "About 9 in both": times == [9, 9],
    }


def linear():
    none, sinusoids, rope = (after(seen(36), name) for name in ("none", "sinusoidal", "rotary"))
    return {
        "Sinusoids, closely": sinusoids > rope > 2 * none,
        "RoPE, far ahead": rope > 1.5 * max(sinusoids, none),
        "No position": none > max(sinusoids, rope),
    }


def long_deps():
    ends = {
        task: numbers(seen(37).partition(task)[2])[:2] for task in ("copy", "back", "recall", "clock", "text")
    }
    ahead = {task for task, (rope, sinusoids) in ends.items() if rope > sinusoids + 5}
    return {
        "how far to look back": ahead == {"recall"},
        "On all five": len(ahead) == 5,
        "On prose": ahead == {"text"},
        "On counting places": ahead == {"clock"},
    }


def feature():
    drift = after(seen(38), "drift")
    return {"No": drift > 0, "the same sines and cosines": drift == 0}


def rows():
    q, angles = np.random.default_rng(0).normal(size=8), rope_angles([7], inv_freq(8))[0]
    found, ahead, back = (
        q @ rotation_matrix(angles),
        apply_rope(q[None], angles)[0],
        apply_rope(q[None], -angles)[0],
    )
    return {
        "turned backwards": np.allclose(found, back),
        "only notation": np.allclose(found, ahead),
        "The lengths change": not np.isclose(np.linalg.norm(found), np.linalg.norm(q)),
    }


def degrees():
    turn = float(wavelength(np.radians([1]))[0])
    return {number: abs(turn - float(number)) < 0.5 for number in ("360", "57.3", "0.11")}


def drop_in():
    home, switched, tuned = numbers(seen(41))[:3]
    return {
        "16 %, then 100 %": (switched, tuned) == (16, home),
        "100 % at once": switched == home,
        "it stays there": switched == tuned,
        "About 90 %": switched > 80,
    }


def terms():
    parts = list(product(("word", "place"), repeat=2))
    mixed = sum(left != right for left, right in parts)
    return {
        "Four, and two": (len(parts), mixed) == (4, 2),
        "Two, and none": (len(parts), mixed) == (2, 0),
        "Four, and all": (len(parts), mixed) == (4, 4),
    }


def relative_llm():
    rotate, collected = numbers(seen(43))[:2]
    return {"All 57": rotate == collected == 57, "None": rotate == 0, "About a third": rotate == 19}


def no_effect():
    low, high = numbers(seen(44))[:2]
    return {
        "From about −3 to 3": round(low) == -3 and round(high) == 3,
        "It hardly moves": high - low < 0.1,
        "From 1 down to 0": low >= 0,
    }


def stated_length():
    score = after(source("23"), "Llama 3.1 70B ")
    return {
        "66.6": score == 66.6,
        "Above 95": score > 95,
        "85.6 or": 85.6 <= score <= 95,
        "0, because": score == 0,
    }


def documents():
    ahead = after(seen(46), "ahead on")
    return {
        "three of six": ahead == 3,
        "On all six": ahead == 6,
        "On none": ahead == 0,
        "On five": ahead == 5,
    }
