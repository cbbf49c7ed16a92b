"""States of figures that meet the challenges, and states that miss them, each with words of the reply."""

import json


def config(**fields):
    """Return a config.json as text: 64 pairs that all complete a turn, and fields that differ."""
    plain = {"model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32}
    return json.dumps(plain | {"rope_theta": 500.0, "max_position_embeddings": 4096} | fields)


REACHED = {
    "1.c": {"rearranged": "chases the dog the pig", "causal": True, "look": 5},
    "3.c": {"scheme": "shaw", "query": 31, "clip": 2},
    "8.c": {"run": "mixed", "position": 4},
    "10.c": {"encoding": "rotary", "start": 500, "against": "none"},
    "12.c": {"step": 13, "capacity": 4},
    "24.c": {"step": 8, "store": "dynamic"},
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
    "13.c": {"task": "recall", "doublings": 2, "first": "partial"},
    "21.c": {"config": config()},
    "22.c": {"patient": 12, "guess": "cos_and_sin_swapped"},
}
SLIPS = {
    "1.c": [
        ({}, "Without the mask"),
        ({"causal": True, "layers": 2}, "Take one layer"),
        ({"causal": True, "rearranged": "the dog"}, "share 2 words"),
        ({"causal": True}, "you look at word 2"),
        ({"causal": True, "look": 5, "rearranged": "the dog chases the pig"}, "No output moved"),
        ({"causal": True, "look": 5}, "moved by 1.08"),
    ],
    "3.c": [
        ({}, "yours is query 20"),
        ({"query": 31}, "32 distances have 32 biases"),
        ({"query": 31, "scheme": "t5_bidirectional", "num_buckets": 8}, "T5 still gives the keys 4 biases"),
        ({"query": 31, "scheme": "shaw"}, "The keys have 5 biases"),
    ],
    "8.c": [
        ({}, "as trained everywhere"),
        ({"run": "unconverted"}, "wherever q is"),
        ({"run": "mixed"}, "Where must k be"),
    ],
    "10.c": [
        ({}, "it is at 300"),
        ({"encoding": "rotary", "start": 700, "show": "scores"}, "Show the attention weights"),
        ({"encoding": "rotary", "start": 700}, "alike everywhere"),
        ({"encoding": "rotary", "start": 700, "against": "none", "sentence": "I"}, "0.0 points"),
    ],
    "12.c": [
        ({"capacity": 6}, "holds 6 keys"),
        ({"step": 12, "capacity": 4}, "no key is at position 12"),
        ({"step": 14, "capacity": 4}, "beyond position 12"),
    ],
    "24.c": [
        ({}, "Only dynamic NTK"),
        ({"store": "dynamic", "pair": 0}, "never changes pair 0"),
        ({"store": "dynamic", "step": 12}, "Of 12 keys 10 are stale"),
        ({"store": "dynamic", "step": 6}, "read on"),
    ],
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
    "13.c": [
        ({}, "as far back as told"),
        ({"task": "recall"}, "double the length twice"),
        ({"task": "recall", "doublings": 2, "first": "sinusoidal"}, "right 14 % of the time"),
        ({"task": "recall", "doublings": 2}, "right 71 % of the time"),
        ({"task": "copy", "doublings": 2, "first": "alibi"}, "the content chooses"),
    ],
    "21.c": [
        ({}, "a file of your own"),
        ({"preset": "Gemma 3 4B", "layers": "second"}, "a file of your own"),
        ({"config": "{"}, "cannot read"),
        ({"config": config(num_attention_heads=64)}, "32 pairs turn"),
        ({"config": config(max_position_embeddings=None)}, "claims no length"),
        ({"config": config(rope_theta=10_000.0)}, "18 of 64 pairs"),
    ],
    "22.c": [
        ({}, "from 0.61 to 1.21"),
        ({"patient": 8}, "by up to 0.39"),
        ({"patient": 4, "guess": "right"}, "off by up to 0.00"),
        ({"patient": 6, "guess": "other_layout"}, "off by up to 1.73"),
        ({"patient": 2}, "What is your diagnosis"),
        ({"patient": 2, "guess": "cos_and_sin_swapped"}, "not its mistake"),
        ({"patient": 12, "guess": "turns_backwards"}, "not its mistake"),
    ],
}
