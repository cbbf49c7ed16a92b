"""Two files are said to rotate alike if they do, whatever their form, and what differs is named."""

import copy
import json
import random
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import rope_doctor.command.compare_files as module
from rope_doctor.command import compare
from rope_doctor.config import PRESETS, ConfigError, preset
from rope_doctor.config.files import Statement, read_file, read_kinds

from .written import ARCHITECTURES, LOST, spelled, written

WITHOUT_GGUF = "deepseek_v4"  # its kinds of layers have names that no architecture of the gguf package has
CONVERTED = [
    each
    for each in PRESETS
    if each.config["model_type"] in ARCHITECTURES and each.config["model_type"] not in LOST
]


@dataclass(frozen=True)
class Written:
    """A preset in one of the forms that are compared, as it was read, and what a careful reader takes from it."""

    name: str
    form: str
    statement: Statement
    rotations: dict


@pytest.fixture(scope="module")
def every(tmp_path_factory):
    """Every preset in both spellings of a config and as a GGUF."""
    folder, found = tmp_path_factory.mktemp("presets"), []
    for number, each in enumerate(PRESETS):
        for spelling in (4, 5):
            path = save(folder / f"{number}-{spelling}.json", spelled(each.config, spelling))
            found.append(Written(each.name, f"spelling {spelling}", read_file(path), rotations(each.config)))
        kind = each.config["model_type"]
        if kind != WITHOUT_GGUF:
            path = written(folder / f"{number}.gguf", each.config)
            held = without(each.config, LOST[kind]) if kind in LOST else each.config
            found.append(Written(each.name, "GGUF", read_file(path), rotations(held)))
    return found


def save(path, config):
    path.write_text(json.dumps(config))
    return path


def rotations(config):
    """Return (layers, widths, layout, factor, axes, frequencies) of every kind of layers."""
    found = {}
    for each in read_kinds(config):
        spec = each.spec
        rest = (spec.inv_freq.tolist(), spec.head_dim, spec.layout, spec.attention_factor, spec.axes)
        found[each.layer_type] = "still" if each.rope_type == "nope" else rest
    return found


def without(config, key):
    """Return a config without a key of its rotation."""
    return config | {"rope_parameters": {k: v for k, v in config["rope_parameters"].items() if k != key}}


def alike(a, b):
    """Tell whether rotations are the same numbers, for each kind of layers that either has."""
    labels = ({*a, *b} - {None}) | ({None} if None in a and None in b else set())
    return all(a.get(label, a.get(None)) == b.get(label, b.get(None)) for label in labels)


def test_all_presets_are_written_in_every_form(every):
    forms = [each.form for each in every]
    assert len(PRESETS) >= 57
    assert forms.count("spelling 4") == forms.count("spelling 5") == len(PRESETS)
    assert forms.count("GGUF") == len(PRESETS) - 1


@pytest.mark.nightly
@pytest.mark.long
def test_all_pairs_of_presets_in_all_forms_are_judged_rightly(every):
    judged = []
    for first in every:
        for second in every:
            result = compare(first.statement, second.statement)
            same = alike(first.rotations, second.rotations)
            where = (first.name, first.form, second.name, second.form, str(result))
            if same:  # then only the layers, or the scale of the scores, may differ
                differing = {each.what for each in result.differences}
                assert not differing & {"frequencies", "layout", "width", "sections", "attention factor"}, (
                    where
                )
            else:
                assert not result.alike, where
            judged.append(same)
    assert len(judged) >= 28_900
    assert judged.count(True) >= 600


NUMBERS = ("rope_theta", "factor", "low_freq_factor", "high_freq_factor", "beta_fast", "beta_slow", "mscale")
NUMBERS += ("mscale_all_dim", "attention_factor", "partial_rotary_factor")
WHOLE = ("original_max_position_embeddings", "rotary_dim", "head_dim", "max_position_embeddings")
IDLE = {
    "attention_bias": True,
    "rms_norm_eps": 1e-5,
    "vocab_size": 7,
    "hidden_act": "gelu",
    "use_cache": False,
}


def mutated(config, draw):
    """Return the name of a change, large, tiny or idle, and a config with it; None if it does not fit."""
    config = copy.deepcopy(config)
    places = [part for part in (config, config.get("rope_parameters"), config.get("rope_scaling")) if part]
    nested = [part for place in places for part in place.values() if isinstance(part, dict)]
    places += [part for part in nested if part not in places]
    name = draw.choice([*NUMBERS, *NUMBERS, *WHOLE, "layout", "idle", "sections"])
    if name == "idle":
        return name, config | dict([draw.choice(list(IDLE.items()))])
    if name == "layout":
        return name, config | {"rope_interleave": not config.get("rope_interleave", False)}
    holding = [
        place for place in places if name in place or (name == "sections" and "mrope_section" in place)
    ]
    if not holding:
        return name, None
    place = draw.choice(holding)
    if name == "sections":
        place["mrope_interleaved"] = not place["mrope_interleaved"]
    elif name in WHOLE:
        place[name] += draw.choice((-2, 2, 2 * place[name]))
    else:
        place[name] *= 1 + draw.choice((-1, 1)) * 10.0 ** -draw.uniform(0.5, 15)
    return name, config


def farthest(config, other, length, slack=0.0):
    """Return the largest difference of an angle or an attention factor; infinity where more than numbers differ.

    `slack` is relative: factors in rope_freqs are computed in float32 by whoever writes them.
    """
    worst = 0.0
    kinds = [{each.layer_type: each for each in read_kinds(one)} for one in (config, other)]
    for label in kinds[0] | kinds[1]:
        a, b = (each.get(label, each.get(None)) for each in kinds)
        if a is None or b is None or (a.rope_type == "nope") != (b.rope_type == "nope"):
            return np.inf
        shapes = [(s.layout, s.axes, s.head_dim, s.rotary_dim) for s in (a.spec, b.spec)]
        if shapes[0] != shapes[1]:
            return np.inf
        angles = np.abs(length * a.spec.inv_freq - length * b.spec.inv_freq)
        listed = "llama3" in (a.rope_type, b.rope_type)
        angles -= slack * length * a.spec.inv_freq if listed else 0.0
        factors = abs(a.spec.attention_factor / b.spec.attention_factor - 1)
        scale, other = a.softmax_scale, b.softmax_scale  # None if it cannot be told
        if scale and other and abs(scale / other - 1) > module.SCALE_TOLERANCE:
            return np.inf
        worst = max(worst, float(angles.max()), factors)
    return worst


def in_float32(value):
    """Return JSON with its floats rounded as a GGUF keeps them."""
    if isinstance(value, dict):
        return {key: in_float32(each) for key, each in value.items()}
    if isinstance(value, list):
        return [in_float32(each) for each in value]
    return float(str(np.float32(value))) if isinstance(value, float) else value


OTHER_LAYOUT = {
    "half_split": "hy_v3",
    "interleaved": "gptj",
}  # what states a layout in a GGUF is its architecture
NOT_IN_GGUF = ("mscale", "mscale_all_dim", "attention_factor", "partial_rotary_factor", "sections")


def mutants(seed, count):
    """Yield a config in one spelling, its mutant, and the model_type of a mutant that is written as a GGUF."""
    draw, made = random.Random(seed), 0
    while made < count:
        preset_ = draw.choice(PRESETS)
        config = spelled(preset_.config, draw.choice((4, 5)))
        name, other = mutated(config, draw)
        try:
            kinds = other and read_kinds(other)
        except ConfigError:
            continue  # it is refused, which nobody overlooks
        if not kinds:
            continue
        kind = preset_.config["model_type"]
        if (
            kind not in ARCHITECTURES
            or kind in LOST
            or len(kinds) > 1
            or name in NOT_IN_GGUF
            or draw.random() < 0.5
        ):
            kind = None
        elif name == "layout":
            kind = OTHER_LAYOUT[kinds[0].spec.layout]
        made += 1
        yield config, other, kind


@pytest.mark.long
def test_500_mutations_are_reported_where_an_angle_changes_by_a_millionth_and_nowhere_else(tmp_path):
    seen = Counter()
    for config, other, as_gguf in mutants(22, 500):
        length = max(
            each.longest or each.trained or 4096 for one in (config, other) for each in read_kinds(one)
        )
        if as_gguf:
            config, other = in_float32(config), in_float32(other)
        off = farthest(config, other, length, module.LIST_TOLERANCE if as_gguf else 0.0)
        if 0.99e-6 < off < 1.01e-6:
            continue
        first = save(tmp_path / "a.json", config)
        mutant = other | {"model_type": as_gguf}
        second = written(tmp_path / "b.gguf", mutant) if as_gguf else save(tmp_path / "b.json", other)
        result = compare(first, second)
        assert result.alike == (off < 1e-6), (config, other, off, str(result))
        seen[as_gguf is not None, result.alike] += 1
    assert sum(seen.values()) >= 490
    assert min(seen.values()) >= 30, seen


def test_one_step_of_float32_in_a_gguf_is_noticed(tmp_path):
    config = preset("Llama 2 7B").config
    first = save(tmp_path / "a.json", config)
    near = float(np.nextafter(np.float32(10_000), np.float32(1e9)))
    assert compare(first, written(tmp_path / "same.gguf", config)).alike
    assert not compare(first, written(tmp_path / "near.gguf", config, base=near)).alike


@pytest.mark.parametrize(
    ("change", "what", "fix"),
    [
        ({"base": 10_000.0}, "frequencies", "Set llama.rope.freq_base to 1000000 in"),
        ({"rotary_dim": 64}, "width", "Set llama.rope.dimension_count to 128 in"),
    ],
)
def test_a_number_lost_in_a_conversion_is_named_with_its_key(change, what, fix, tmp_path):
    config = preset("Code Llama 7B").config
    result = compare(save(tmp_path / "a.json", config), written(tmp_path / "b.gguf", config, **change))
    assert [each.what for each in result.differences] == [what]
    assert result.differences[0].fix.startswith(fix)


def test_a_factor_lost_in_a_conversion_is_named(tmp_path):
    config = preset("Gemma 3 4B").config
    result = compare(save(tmp_path / "a.json", config), written(tmp_path / "b.gguf", config, factor=4.0))
    [difference] = result.differences
    assert (difference.what, difference.layers, difference.pair) == (
        "frequencies",
        "full_attention layers",
        0,
    )
    assert "Set gemma3.rope.scaling.factor to 8" in difference.fix
    assert difference.angle == pytest.approx(131_072 / 8)


def test_a_rule_lost_in_a_conversion_is_named(tmp_path):
    config = preset("Llama 3.1 8B").config
    plain = {key: value for key, value in config.items() if key != "rope_scaling"}
    result = compare(save(tmp_path / "a.json", config), written(tmp_path / "b.gguf", plain))
    assert "Fix: Write the factors of llama3 as the tensor rope_freqs.weight of" in str(result)
    assert result.differences[0].pair == 29  # the first of those that the rule changes


def test_the_ramp_of_gpt_oss_is_rounded_in_a_gguf_and_that_is_seen(tmp_path):
    config = preset("gpt-oss (defaults)").config
    result = compare(save(tmp_path / "a.json", config), written(tmp_path / "b.gguf", config))
    assert [each.what for each in result.differences] == ["frequencies"]  # truncate has no key


def test_layers_without_position_must_be_the_same(tmp_path):
    smol, qwen = preset("SmolLM3 3B (defaults)").config, preset("Qwen3 8B").config
    qwen = qwen | {"rope_theta": 2_000_000.0}
    result = compare(save(tmp_path / "a.json", smol), save(tmp_path / "b.json", qwen))
    assert [(each.what, each.layers) for each in result.differences] == [
        ("kinds of layers", "layers 3, 7, 11, 15, 19, 23, … of 36")
    ]


def test_rules_that_depend_on_the_length_are_compared_at_both_ends(tmp_path):
    lists = {"rope_type": "longrope", "short_factor": [1.0] * 32, "long_factor": [4.0] * 32, "factor": 2.0}
    lists |= {"original_max_position_embeddings": 4096}
    config = {"model_type": "phi3", "head_dim": 64, "rope_theta": 1e4, "max_position_embeddings": 8192}
    first = save(tmp_path / "a.json", config | {"rope_scaling": lists})
    assert compare(first, first).alike
    for name in ("short_factor", "long_factor"):
        second = save(tmp_path / "b.json", config | {"rope_scaling": lists | {name: [*[3.0] * 31, 1.0]}})
        assert [each.what for each in compare(first, second).differences] == ["frequencies"]


def test_every_chapter_that_is_named_is_a_chapter():
    notebooks = Path(__file__).resolve().parents[3] / "notebooks"
    slugs = [path.stem[3:].replace("_", " ") for path in notebooks.glob("*.ipynb")]
    assert {title.lower() for title in module.CHAPTERS.values()} <= set(slugs)


def test_factors_as_torch_computes_them_in_float32_are_alike_and_a_wrong_one_is_not(tmp_path):
    torch = pytest.importorskip("torch")
    config = preset("Llama 3.2 1B").config
    freqs = 1.0 / (5e5 ** (torch.arange(0, 64, 2, dtype=torch.float32) / 64))
    turns = 8192 * freqs / (2 * torch.pi)
    blend = ((turns - 1) / 3).clamp(0, 1)
    factors = (1 / ((1 - blend) / 32 + blend)).numpy()
    first = save(tmp_path / "a.json", config)
    for factor, same in ((1, True), (1 + 4e-6, False)):
        factors[18] *= factor  # the first pair that is divided by 32
        path = written(tmp_path / "b.gguf", config, factors=factors)
        assert compare(first, path).alike is same
