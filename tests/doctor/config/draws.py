"""Configs drawn at random, as models spell them and as nobody should."""

import copy
import itertools

RULES = ("default", "linear", "dynamic", "ntk_alpha", "yarn", "llama3", "longrope", "proportional")


def drawn(rng, kind=None):
    """Draw a valid config of a kind: its dict, and the length of a text to read it for."""
    kind = kind or str(rng.choice(RULES))
    head_dim = int(rng.choice([16, 32, 64, 80, 96, 128, 256]))
    trained, part = int(2 ** rng.uniform(9, 17)), float(rng.choice([0.25, 0.5, 0.75, 1.0]))
    parameters = _parameters(kind, rng, head_dim, trained, part)
    base = float(10 ** rng.uniform(3, 7))
    config = {
        "model_type": str(rng.choice(["llama", "qwen2", "cohere", "mistral"])),
        "max_position_embeddings": trained,
    }
    config |= _width(rng, head_dim)
    if kind == "proportional":
        part = float(rng.random())
    config |= _spelt(rng, parameters, base, part)
    return config, int(trained * rng.uniform(0.1, 8))


def _parameters(kind, rng, head_dim, trained, part):
    parameters = {"rope_type": "dynamic" if kind == "ntk_alpha" else kind}
    if kind != "default":
        parameters["factor"] = float(1 + 63 * rng.random() ** 2)
    if kind == "ntk_alpha":
        parameters |= {"alpha": float(rng.uniform(1, 1000)), "beta_fast": 32, "mscale": 1.0}
    if kind in ("yarn", "llama3", "longrope"):
        parameters["original_max_position_embeddings"] = trained
    if kind == "yarn":
        parameters |= {"beta_fast": float(rng.uniform(8, 64)), "beta_slow": float(rng.uniform(0.25, 4))}
        parameters["truncate"] = bool(rng.integers(2))
        for name in ("mscale", "mscale_all_dim"):
            if rng.integers(2):
                parameters[name] = float(rng.uniform(0.1, 2))
    if kind == "llama3":
        low = float(rng.uniform(0.25, 4))
        parameters |= {"low_freq_factor": low, "high_freq_factor": low + float(rng.uniform(0.25, 8))}
    if kind == "longrope":
        for name in ("short_factor", "long_factor"):
            parameters[name] = rng.uniform(1, 60, int(head_dim * part) // 2).tolist()
    if kind in ("yarn", "longrope") and rng.integers(3) == 0:
        parameters["attention_factor"] = float(rng.uniform(0.5, 2))
    if kind in ("yarn", "longrope") and rng.integers(3) == 0:
        parameters["factor"] = None  # the ratio of the lengths
    return parameters


def _width(rng, head_dim):
    heads = int(rng.integers(2, 9))
    if rng.integers(2):
        return {"hidden_size": head_dim * heads, "num_attention_heads": heads}
    return {"hidden_size": 4096, "num_attention_heads": 7, "head_dim": head_dim}


def _spelt(rng, parameters, base, part):
    """Spell the rotation as transformers 4 or 5 does."""
    inside = {"partial_rotary_factor": part} if part != 1.0 or rng.integers(2) else {}
    if rng.integers(2):
        return {"rope_parameters": {**parameters, "rope_theta": base, **inside}}
    old = dict(parameters)
    if rng.integers(2):
        old["type"] = old.pop("rope_type")
    plain = old.get("type", old.get("rope_type")) == "default" and rng.integers(2)
    return {"rope_theta": base, "rope_scaling": None if plain else old, **inside}


ODD = (
    None,
    True,
    False,
    0,
    1,
    -1,
    2,
    3,
    7,
    64,
    0.5,
    1.5,
    -0.25,
    1e-9,
    1e300,
    -1e300,
    2**53,
    4096,
    10**18,
    "",
    "64",
    "yarn",
    "none",
    [],
    [1],
    [1.0, 2.0],
    ["a"],
    [None],
    [[1]],
    {},
    {"a": 1},
    {"rope_theta": 1e4},
    {"rope_type": "yarn"},
    [0, 1, 1, 1],
    [16, 24, 24],
)
NAMES = (
    "rope_theta",
    "rope_type",
    "type",
    "factor",
    "original_max_position_embeddings",
    "max_position_embeddings",
    "head_dim",
    "hidden_size",
    "num_attention_heads",
    "partial_rotary_factor",
    "rotary_pct",
    "rotary_dim",
    "qk_rope_head_dim",
    "mrope_section",
    "mrope_interleaved",
    "low_freq_factor",
    "high_freq_factor",
    "beta_fast",
    "beta_slow",
    "mscale",
    "mscale_all_dim",
    "attention_factor",
    "truncate",
    "alpha",
    "short_factor",
    "long_factor",
    "short_mscale",
    "long_mscale",
    "rope_local_base_freq",
    "swa_rope_theta",
    "compress_rope_theta",
    "layer_types",
    "no_rope_layers",
    "no_rope_layer_interval",
    "num_hidden_layers",
    "rope_interleave",
    "model_type",
    "text_config",
    "rope_scaling",
    "rope_parameters",
    "position_embedding_type",
    "alibi",
    "global_head_dim",
    "rope_ratio",
    "rotary_emb_base",
    "finetuned",
    "full_attention",
    "sliding_attention",
    "unheard_of",
    "kv_channels",
    "sliding_window",
)
TYPES = (
    "gemma3_text",
    "cohere2",
    "exaone4",
    "llama4_text",
    "smollm3",
    "gpt_neox",
    "olmo3",
    "deepseek_v3",
    "axial",
    "su",
    "mrope",
    "xdrope",
)


def mutated(config, rng):
    """Change one to four things of a config: a field gone, another value, another name, a nest, a field twice."""
    config = copy.deepcopy(config)
    for _ in range(int(rng.integers(1, 5))):
        config = _change(config, rng)
    return config


def _change(config, rng):
    places = [config, *(value for value in config.values() if isinstance(value, dict))]
    place = places[int(rng.integers(len(places)))]
    keys = [key for key in place if key != "model_type"] or ["rope_theta"]
    key, way = str(rng.choice(keys)), int(rng.integers(9))
    if way == 0:
        place.pop(key, None)
    elif way == 1:
        place[key] = copy.deepcopy(ODD[int(rng.integers(len(ODD)))])
    elif way == 2:
        place[str(rng.choice(NAMES))] = place.pop(key, 1)
    elif way == 3:
        place[str(rng.choice(NAMES))] = copy.deepcopy(ODD[int(rng.integers(len(ODD)))])
    elif way == 4 and isinstance(place.get(key), int | float):
        place[key] = place[key] * float(rng.choice([-1, 0, 0.5, 2, 1e6]))
    elif way == 5:
        return {
            "text_config": config,
            **{name: config[name] for name in list(config)[: int(rng.integers(3))]},
        }
    elif way == 6:
        place[str(rng.choice(["model_type", "rope_type", "type"]))] = str(rng.choice([*TYPES, *RULES]))
    elif way == 7 and isinstance(place.get("rope_parameters"), dict):
        stated = place["rope_parameters"]
        place["rope_parameters"] = {"full_attention": stated, "sliding_attention": {"rope_theta": 1e4}}
    elif way == 8:
        name = str(rng.choice(["rope_parameters", "rope_scaling"]))
        place[name] = {"rope_type": str(rng.choice(RULES)), "factor": 4.0, "rope_theta": 5e5}
    return config


def cases(rng, count):
    """Draw configs, one in four as it should be, and what they are read for: (config, layer_type, seq_len)."""
    wanted = itertools.cycle([None, None, None, "full_attention", "sliding_attention", "nope", 7])
    for number, layer_type in zip(range(count), wanted, strict=False):
        config, length = drawn(rng)
        if number % 4:
            config, layer_type_here = mutated(config, rng), layer_type
        else:
            layer_type_here = None
        yield (
            config,
            layer_type_here,
            [None, length, 0, length][int(rng.integers(4))] if number % 4 else length,
        )


_KIND = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "rope_theta": 1e4}
_TWO = _KIND | {
    "num_hidden_layers": 3,
    "layer_types": ["sliding_attention", "full_attention", "sliding_attention"],
}
_NESTED = {"full_attention": {"rope_theta": 1e6}, "sliding_attention": {"rope_theta": 1e4}}
_GEMMA = _TWO | {"model_type": "gemma4_text", "head_dim": 16, "rope_parameters": _NESTED}
del _GEMMA["rope_theta"]
WIDTHS_BY_LAYER = [  # configs that state the width of a head for single layers
    file | {"per_layer_config": {layer: {"head_dim": width} for layer, width in widths.items()}} | more
    for file, more in [(_KIND, {}), (_TWO, {}), (_GEMMA, {}), (_GEMMA, {"global_head_dim": 32})]
    for widths in [
        {},
        {"0": 32},
        {"1": 32},
        {"01": 32, "9": 8, "x": 8, "1" * 5000: 8, "1": 32},
        {"0": 32, "1": 32, "2": 32},
        {"0": 16, "1": 16},
        {"2": 8, "0": 32},
        {"1": 7},
        {"0": 0},
        {"1": None},
    ]
]
