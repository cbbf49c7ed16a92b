"""States of figures that meet the challenges, and states that miss them, each with words of the reply."""

REACHED = {
    "4.c": {"position": 15, "key_position": 0},
    "6.c": {"base": 500_000.0},
    "9.c": {"head_dim": 256, "base": 100.0},
    "15.c": {"rule": "yarn"},
    "18.c": {"rule": "by-parts", "times": 16, "factor": 16.0},
}
SLIPS = {
    "4.c": [
        ({}, "makes it negative"),
        ({"q": [-1.2, -0.3]}, "Leave q and k"),
        ({"position": 12}, "point apart yet"),
    ],
    "6.c": [({}, "slow them down"), ({"base": 1e8}, "too slow"), ({"head_dim": 32}, "Keep heads of 64")],
    "9.c": [
        ({"head_dim": 16}, "More waves smooth"),
        ({}, "Now the base"),
        ({"vectors": "identical"}, "Take q = k = all ones"),
    ],
    "15.c": [
        ({"rule": "pi"}, "slows every pair"),
        ({}, "only the last pair"),
        ({"wanted": 8192}, "Keep 4,096"),
    ],
    "18.c": [
        ({"times": 16}, "choose a rule"),
        ({"times": 16, "rule": "pi"}, "fast pairs too"),
        ({"times": 16, "rule": "ntk-aware", "factor": 16.0}, "51 % at the new places"),
        ({"rule": "by-parts"}, "yours is 8 times"),
    ],
}
