"""Every rule that transformers has, equal to it in float64 to 1e-12, drawn at random and as committed."""

import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from rope_edu.encodings import (
    dynamic_ntk,
    llama3,
    longrope,
    p_rope,
    plain_rope,
    position_interpolation,
    yarn,
)

HERE = Path(__file__).parent
spec = importlib.util.spec_from_file_location("transformers_double", HERE / "transformers_double.py")
double = sys.modules["transformers_double"] = importlib.util.module_from_spec(spec)
pytest.importorskip("torch")
spec.loader.exec_module(double)

EQUAL = 1e-12  # relative: a dozen roundings of 1.1e-16, some of them in exponents and in small differences


def ours(head_dim, max_position_embeddings, length, parameters):
    """Say a config's parameters with our functions."""
    known = dict(parameters)
    kind, base, factor = known.pop("rope_type"), known.pop("rope_theta"), known.pop("factor", 1.0)
    part = known.pop("partial_rotary_factor", 1.0)
    if kind == "proportional":
        rope = p_rope(head_dim, part, base)
        return rope.replace(inv_freq=rope.inv_freq / factor)
    trained = known.pop("original_max_position_embeddings", max_position_embeddings)
    width = int(head_dim * part)
    if kind == "linear":
        return position_interpolation(width, factor, base=base)
    if kind == "dynamic":
        return dynamic_ntk(width, trained, length=length or 1, factor=factor, base=base)
    if kind == "longrope":
        return longrope(width, factor, trained, length=length or 1, base=base, **known)
    return {"yarn": yarn, "llama3": llama3}[kind](width, factor, trained, base=base, **known)


def check_equal(rope, frequencies, factor):
    np.testing.assert_allclose(rope.inv_freq, frequencies, rtol=EQUAL, atol=0)
    assert rope.attention_factor == pytest.approx(factor, rel=EQUAL)


def committed():
    return json.loads((HERE / "transformers_rules.json").read_text())["rules"]


@pytest.mark.parametrize("name", double.CASES)
def test_a_rule_gives_the_committed_numbers_of_transformers(name):
    check_equal(ours(*double.CASES[name]), *committed()[name].values())


def test_what_is_committed_is_what_the_installed_transformers_gives():
    pytest.importorskip("transformers")
    assert list(committed()) == list(double.CASES)
    for name, case in double.CASES.items():
        frequencies, factor = double.transformers_rule(*case)
        np.testing.assert_allclose(committed()[name]["inv_freq"], frequencies, rtol=EQUAL, atol=0)
        assert committed()[name]["attention_factor"] == pytest.approx(factor, rel=EQUAL)


def draw(kind, rng):
    """Draw a config of a kind: (head_dim, max_position_embeddings, length, parameters)."""
    head_dim = int(rng.choice([16, 32, 64, 80, 96, 128, 256]))
    trained = int(2 ** rng.uniform(9, 17))
    part = float(rng.choice([0.25, 0.5, 0.75, 1.0]))
    parameters = {
        "rope_type": kind,
        "rope_theta": float(10 ** rng.uniform(3, 7)),
        "factor": float(1 + 63 * rng.random() ** 2),
        "partial_rotary_factor": part,
    }
    if kind == "proportional":
        parameters["partial_rotary_factor"] = float(rng.random())
    if kind in ("yarn", "llama3", "longrope"):
        parameters["original_max_position_embeddings"] = trained
    if kind == "yarn":
        parameters |= {
            "beta_fast": float(rng.uniform(8, 64)),
            "beta_slow": float(rng.uniform(0.25, 4)),
            "truncate": bool(rng.integers(2)),
        }
        if rng.integers(2):
            parameters |= {"mscale": float(rng.uniform(0.1, 2)), "mscale_all_dim": float(rng.uniform(0.1, 2))}
        if rng.integers(4) == 0:
            parameters["attention_factor"] = float(rng.uniform(0.5, 2))
    if kind == "llama3":
        low = float(rng.uniform(0.25, 4))
        parameters |= {"low_freq_factor": low, "high_freq_factor": low + float(rng.uniform(0.25, 8))}
    if kind == "longrope":
        pairs = int(head_dim * part) // 2
        for name in ("short_factor", "long_factor"):
            parameters[name] = rng.uniform(1, 60, pairs).tolist()
        if rng.integers(4) == 0:
            parameters["attention_factor"] = float(rng.uniform(0.5, 2))
    length = int(trained * rng.uniform(0.1, 8)) if kind in ("dynamic", "longrope") else None
    return head_dim, trained, length, parameters


@pytest.mark.parametrize("kind", ["linear", "dynamic", "yarn", "llama3", "longrope", "proportional"])
def test_a_rule_equals_transformers_for_two_hundred_random_configs(kind):
    pytest.importorskip("transformers")
    rng = np.random.default_rng(sum(map(ord, kind)))
    for _ in range(200):
        case = draw(kind, rng)
        check_equal(ours(*case), *double.transformers_rule(*case))


def test_every_rule_that_transformers_has_is_compared():
    rules = pytest.importorskip("transformers.modeling_rope_utils").ROPE_INIT_FUNCTIONS
    assert {case[3]["rope_type"] for case in double.CASES.values()} == set(rules)


def test_the_wider_run_takes_the_same_steps_as_the_one_in_float32():
    """float32: 24 digits, a power of up to 17 octaves and a few more steps, so 1e-5; and the two do differ."""
    pytest.importorskip("transformers")
    from transformers import LlamaConfig
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    for head_dim, longest, length, parameters in double.CASES.values():
        sizes = {"hidden_size": 2 * head_dim, "num_attention_heads": 2, "head_dim": head_dim}
        config = LlamaConfig(**sizes, max_position_embeddings=longest, rope_parameters=parameters)
        narrow, _ = ROPE_INIT_FUNCTIONS[parameters["rope_type"]](config, "cpu", seq_len=length)
        wide, _ = double.transformers_rule(head_dim, longest, length, parameters)
        np.testing.assert_allclose(narrow.numpy(), wide, rtol=1e-5)
        assert (narrow.numpy() != wide).any()


def test_plain_rope_is_where_every_rule_starts():
    case = (64, 4096, None, {"rope_type": "linear", "rope_theta": 500.0, "factor": 1.0})
    np.testing.assert_allclose(plain_rope(64, 500.0).inv_freq, ours(*case).inv_freq, rtol=0)
