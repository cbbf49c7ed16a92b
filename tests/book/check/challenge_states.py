"""States of figures that meet the challenges, and states that miss them, each with words of the reply."""

REACHED = {
    "4.c": {"position": 15, "key_position": 0},
    "6.c": {"base": 500_000.0},
    "9.c": {"head_dim": 256, "base": 100.0},
    "2.c": {"offset": 30, "base": 1_000_000.0},
    "5.c": {"line": 6, "candidate": "head_start"},
    "7.c": {"row": 0, "position": 44},
    "11.c": {"step": 16, "capacity": 4},
    "14.c": {"times": 8.0, "base": 500.0},
    "15.c": {"rule": "yarn"},
    "16.c": {"beta_fast": 4.0},
    "17.c": {"context": 32768, "base": 2_000_000.0},
    "19.c": {"base": 1000.0},
    "20.c": {"scheme": "mixed", "direction": 45},
    "23.c": {"position": 24},
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
        ({}, "Which head has the most"),
        ({"head_dim": 256}, "Now the base"),
        ({"vectors": "identical"}, "Take q = k = all ones"),
    ],
    "2.c": [
        ({}, "yours are 12"),
        ({"offset": 30}, "The product is 17.1"),
        ({"offset": 30, "between": "projection"}, "nothing between the rows"),
    ],
    "5.c": [
        ({}, "RoPE's own f"),
        ({"candidate": "mirror"}, "Look at line 6"),
        ({"candidate": "grow", "line": 6}, "fails by 2.03"),
        ({"candidate": "grow", "line": 6, "inv_freq": 0.0}, "nothing turns"),
    ],
    "7.c": [
        ({"position": 0}, "nothing has turned"),
        ({"position": 44}, "has turned by 4.40 rad"),
        ({"position": 43, "row": 1}, "43 rad are not"),
    ],
    "11.c": [({}, "you are at 10"), ({"step": 16}, "in 512 bytes")],
    "14.c": [
        ({}, "you are at 1.50 times"),
        ({"times": 8.0}, "of 64 pairs point at an angle"),
        ({"times": 8.0, "window": True}, "switch the window off"),
        ({"times": 8.0, "head_dim": 64}, "heads of 128"),
        ({"times": 8.0, "base": 800.0}, "63 of 64 pairs complete"),
    ],
    "15.c": [
        ({"rule": "pi"}, "slows every pair"),
        ({}, "only the last pair"),
        ({"wanted": 8192}, "Keep 4,096"),
    ],
    "16.c": [({}, "multiplied by 0.50"), ({"pair": 20}, "Keep pair 34")],
    "17.c": [({}, "first negative at 1,707 tokens"), ({"head_dim": 256}, "Keep 64 pairs")],
    "19.c": [({}, "6 of 8 pairs"), ({"head_dim": 8}, "Keep heads of 16")],
    "20.c": [({}, "by width alone"), ({"scheme": "mixed", "direction": 0}, "Which direction leads to it")],
    "23.c": [
        ({}, "the score is 0.92"),
        ({"first": 2.0}, "Leave the gains"),
        ({"distance": 3}, "only the key's position"),
    ],
    "18.c": [
        ({"times": 16}, "choose a rule"),
        ({"times": 16, "rule": "pi"}, "fast pairs too"),
        ({"times": 16, "rule": "ntk-aware", "factor": 16.0}, "51 % at the new places"),
        ({"rule": "by-parts"}, "yours is 8 times"),
    ],
}
