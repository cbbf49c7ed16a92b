"""Known mistakes, and more right answers, of chapter 23."""

import math

import numpy as np
from solutions import answers_of

SOLUTION = answers_of("chapter_23")


swing = SOLUTION["23.1"]


def swing_by_trying(q, k, gain_q, gain_k):
    z_q, z_k = complex(*q), complex(*k)
    scores = []
    for n in range(720):
        turned_q, turned_k = (z * np.exp(1j * n * math.pi / 360) for z in (z_q, z_k))
        scores.append(
            gain_q[0] * gain_k[0] * turned_q.real * turned_k.real
            + gain_q[1] * gain_k[1] * turned_q.imag * turned_k.imag
        )
    c = np.fft.rfft(scores)[2]  # what goes round twice
    return 2 * abs(c) / 720


products_agree = SOLUTION["23.2"]


def pair_by_pair(gain_q, gain_k, layout):
    half = len(gain_q) // 2
    pairs = [(2 * i, 2 * i + 1) if layout == "interleaved" else (i, i + half) for i in range(half)]
    return all(abs(gain_q[a] * gain_k[a] - gain_q[b] * gain_k[b]) < 1e-9 for a, b in pairs)


def each_agrees(gain_q, gain_k, layout):
    ones = [1.0] * len(gain_q)
    return bool(products_agree(gain_q, ones, layout) and products_agree(gain_k, ones, layout))


def halves_always_do(gain_q, gain_k, layout):
    return products_agree(gain_q, gain_k, layout) or products_agree(gain_q, gain_k, "half_split")


pack = SOLUTION["23.3"]


def packed_by_loops(lengths):
    positions, mask, start = [], [], 0
    for n in lengths:
        for m in range(n):
            positions.append(m)
            mask.append([start <= key <= start + m for key in range(sum(lengths))])
        start += n
    return [positions, mask]


def masked_as(change):
    return lambda lengths: (pack(lengths)[0], change(pack(lengths)[1]))


def blind_to_documents(lengths):
    return pack(lengths)[0], np.tri(sum(lengths), dtype=bool)


def by_cases(config):
    top, inside = config.get("rope_theta"), config.get("rope_parameters", {}).get("rope_theta")
    if top is not None and inside is not None and top != inside:
        raise ValueError(top)
    return inside if top is None else top


def last_one_wins(config):
    return (config.get("rope_parameters") or {}).get("rope_theta", config.get("rope_theta"))


ALSO_RIGHT = {
    "23.1": [swing_by_trying],
    "23.2": [pair_by_pair],
    "23.3": [packed_by_loops, masked_as(lambda mask: mask.astype(float))],
    "23.4": [by_cases],
}
WRONG = {
    "23.1": [
        (lambda *given: 2 * swing(*given), "That is from the lowest to the highest score"),
        (
            lambda q, k, g, h: np.hypot(*q) * np.hypot(*k) * (g[0] * h[0] - g[1] * h[1]) / 2,
            "A swing has no sign",
        ),
        (lambda q, k, g, h: np.hypot(*q) * np.hypot(*k) * (g[0] * h[0] + g[1] * h[1]) / 2, "with a + b"),
        (lambda q, k, g, h: np.hypot(*q) * np.hypot(*k) * abs(g[0] - g[1]) / 2, "Gains meet in products"),
        (lambda q, k, g, h: abs(g[0] * h[0] - g[1] * h[1]) / 2, "The lengths of q and k"),
        (lambda *given: "none", "It must return one number"),
        (
            lambda q, k, g, h: abs(np.dot(q, k) * (g[0] * h[0] - g[1] * h[1])) / 2,
            "For gains [2.0, 1.0] and [1.5, 0.5], q = [1.2, -0.5], k = [0.3, 2.0] it is",
        ),
    ],
    "23.2": [
        (each_agrees, "Only these must agree."),
        (lambda g, h, layout: products_agree(g, h, "interleaved"), "half a head apart in half_split"),
        (lambda g, h, layout: products_agree(g[:4], h[:4], layout), "One pair is enough to break it"),
        (halves_always_do, "in interleaved. Partners are neighbours in interleaved"),
        (lambda *given: True, "It says True"),
        (lambda *given: "yes", "It must return True or False."),
    ],
    "23.3": [
        (lambda lengths: (range(sum(lengths)), pack(lengths)[1]), "The positions run on"),
        (lambda lengths: (pack(lengths)[0] + 1, pack(lengths)[1]), "is at 0, not at 1"),
        (blind_to_documents, "A document sees the ones before it"),
        (masked_as(lambda mask: mask | mask.T), "it must be causal too"),
        (masked_as(np.transpose), "the other way round"),
        (masked_as(np.logical_not), "yours says the reverse"),
        (masked_as(lambda mask: mask & ~np.eye(len(mask), dtype=bool)), "A token sees itself too."),
        (lambda lengths: pack(lengths)[0], "It must return two things"),
        (lambda lengths: ([range(n) for n in lengths], pack(lengths)[1]), "positions is a row of 5 numbers"),
        (
            lambda lengths: (pack(lengths)[0][::-1], pack(lengths)[1]),
            "For [3, 2] the positions are [0, 1, 2, 0, 1].",
        ),
        (masked_as(lambda mask: mask[-1]), "mask has 5 rows and 5 columns for [3, 2]. Its shape is (5,)"),
        (masked_as(np.ones_like), "For [3, 2] the mask must be True at 9 places."),
    ],
    "23.4": [
        (lambda config: config.get("rope_theta", 10_000.0), "it returned 10,000"),
        (lambda config: config.get("rope_theta"), "It returned None for"),
        (lambda config: last_one_wins(config) or 10_000, "An empty config states no base"),
        (last_one_wins, "it must raise ValueError"),
        (lambda config: config["rope_theta"], "Your answer raised KeyError"),
        (lambda config: (config.get("rope_theta"), last_one_wins(config)), "one number, or None"),
    ],
}
