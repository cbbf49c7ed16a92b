"""Known mistakes, and more right answers, of chapter 19."""

import numpy as np
from solutions import answers_of

SOLUTION = answers_of("chapter_19")


partner = SOLUTION["19.1"]


def by_search(j, head_dim, fraction, kind):
    pairs = int(fraction * head_dim) // 2
    apart = {"partial": pairs, "p-rope": head_dim // 2}[kind]
    for i in range(pairs):
        if j in (i, i + apart):
            return 2 * i + apart - j
    return None


denominator = SOLUTION["19.2"]


def by_bases(inv_freq, base):
    return 2 / np.emath.logn(base, 1 / inv_freq[1])


def zeta(i, rotary_dim):
    return (2 * i + 0.4 * rotary_dim) / (1.4 * rotary_dim)


fades = SOLUTION["19.3"]


def turns(config):
    layers = range(config["num_hidden_layers"])
    return config.get("no_rope_layers") or [(i + 1) % config["no_rope_layer_interval"] for i in layers]


still_layers = SOLUTION["19.4"]


def from_zero(config):
    step = config.get("no_rope_layer_interval")
    return list(range(0, config["num_hidden_layers"], step)) if step else still_layers(config)


ALSO_RIGHT = {
    "19.1": [by_search],
    "19.2": [by_bases, lambda f, b: round(denominator(f, b))],
    "19.3": [lambda i, d, r: np.exp(np.log(zeta(i, d)) * r / 512)],
    "19.4": [
        lambda config: np.flatnonzero(np.array(turns(config)) == 0),
        lambda config: set(still_layers(config)),
    ],
}
WRONG = {
    "19.1": [
        (lambda j, d, f, kind: partner(j, d, f, "p-rope"), "is p-rope's partner, or RoPE's"),
        (lambda j, d, f, kind: partner(j, d, f, "partial"), "is partial's partner, or RoPE's"),
        (lambda j, d, f, kind: (j + d // 2) % d, "partner(0, 16, 0.25, 'partial') is 2"),
        (lambda j, d, f, kind: partner(j, d, f, kind) or 0, "never turns"),
        (
            lambda j, d, f, kind: None if (found := partner(j, d, f, kind)) is None or found < j else found,
            "is the second of its pair",
        ),
        (lambda j, d, f, kind: "none", "one whole number, or None"),
        (lambda j, d, f, kind: j ^ 1, "partner(0, 16, 0.25, 'partial') is 2, yours is 1."),
    ],
    "19.2": [
        (lambda f, b: 2 * len(f), "does not show its denominator"),
        (lambda f, b: -denominator(f, b), "the sign is not"),
        (lambda f, b: denominator(f, b) / 2, "half of it"),
        (lambda f, b: 100, "the denominator is 128, yours is 100"),
        (
            lambda f, b: max(denominator(f, b), 128),
            "partial rotary, 32 of 128 features: the denominator is 32",
        ),
        (
            lambda f, b: 2 * np.count_nonzero(f),
            "p-RoPE, a quarter of 512: the denominator is 512, yours is 128",
        ),
        (lambda f, b: np.log(f) / np.log(b), "It must return one number."),
    ],
    "19.3": [
        (lambda i, d, r: zeta(i, d) ** r, "not to one"),
        (lambda i, d, r: fades(i, d, 2 * r), "once for each 512 tokens"),
        (lambda i, d, r: 1 / fades(i, d, r), "that grows"),
        (lambda i, d, r: fades(i / 2, d, r), "pair i is at feature 2i"),
        (lambda i, d, r: 0.5, "yours is 0.5000"),
    ],
    "19.4": [
        (lambda config: [i for i, t in enumerate(turns(config)) if t], "1 means that a layer turns"),
        (lambda config: [i + 1 for i in still_layers(config)], "counted from 0"),
        (from_zero, "layer 0 turns"),
        (lambda config: [0, 1], "the layers without position are [3, 7], yours are [0, 1]"),
        (lambda config: [not t for t in turns(config)], "It must return a list of layers."),
    ],
}
