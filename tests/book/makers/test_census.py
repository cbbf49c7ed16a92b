"""The census agrees with the installed transformers, with a reading by hand, and with the config reader."""

import importlib.metadata
import importlib.util
import json

import pytest

from makers import census
from rope_doctor.config import RULES, ConfigError, rope_from_config

pytestmark = pytest.mark.makers

COMMITTED = census.committed()
ENTRIES = {entry["name"]: entry for entry in COMMITTED["architectures"]}
PINNED = COMMITTED["transformers"]
HERE = importlib.metadata.version("transformers") if importlib.util.find_spec("transformers") else "none"
installed = pytest.mark.skipif(
    HERE != PINNED, reason=f"the census was read in transformers {PINNED}, here is {HERE}"
)

HALVES = """
def rotate_half(x):
    x1 = x[..., : x.shape[-1] // 2]
    x2 = x[..., x.shape[-1] // 2 :]
    return torch.cat((-x2, x1), dim=-1)
"""
NEIGHBOURS = """
def rotate_half(x):
    x1 = x[..., ::2]
    x2 = x[..., 1::2]
    return torch.stack([-x2, x1], dim=-1).flatten(-2)
"""
APPLY = """
def apply_rotary_pos_emb(q, k, cos, sin):
    return q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin
"""
TAIL = """
def apply_rotary_pos_emb(q, k, cos, sin):
    q_rot, q_pass = q[..., : cos.shape[-1]], q[..., cos.shape[-1] :]
    return torch.cat([q_rot * cos + rotate_half(q_rot) * sin, q_pass], dim=-1)
"""
IN_AND_OUT = """
def apply_rotary_pos_emb_interleave(q, k, cos, sin):
    q1, q2 = q[..., 0::2], q[..., 1::2]
    return torch.cat([q1 * cos - q2 * sin, q2 * cos + q1 * sin], dim=-1)
"""
FREQUENCIES = """
class ARotaryEmbedding(nn.Module):
    def __init__(self, config):
        self.inv_freq = ROPE_INIT_FUNCTIONS[config.rope_parameters["rope_type"]](config)
"""
ATTENTION = """
class AAttention(nn.Module):
    def forward(self, q, k, cos, sin, position_embeddings=None):
        q, k = apply_rotary_pos_emb(q, k, cos, sin)
"""
MODEL = """
class AModel(APreTrainedModel):
    def __init__(self, config):
        self.rotary_emb = ARotaryEmbedding(config)
        self.layers = [AAttention(config)]
"""


def under(condition: str) -> str:
    """Return the attention with its rotation under a condition."""
    call = "        q, k = apply"
    return ATTENTION.replace(call, f"        if {condition}:\n    {call}")


def entry(folder, *parts: str, settings: str = "") -> dict | None:
    """Return the entry of an architecture with this source, or None."""
    model = folder / "models" / "a"
    model.mkdir(parents=True)
    (model / "modeling_a.py").write_text("".join(parts))
    (model / "configuration_a.py").write_text(settings)
    entries = census.census(folder)
    return entries[0] if entries else None


@installed
def test_the_installed_transformers_reproduces_the_committed_census():
    entries = census.census()
    assert [entry["name"] for entry in entries] == list(ENTRIES)
    for entry in entries:
        assert entry == ENTRIES[entry["name"]]


@installed
def test_every_line_of_the_census_exists_in_its_file():
    root = census.package()
    for entry in ENTRIES.values():
        lines = (root / entry["file"]).read_text(encoding="utf-8").splitlines()
        assert all(lines[number - 1].strip() for number in entry["lines"].values()), entry["name"]
        assert "def " in lines[entry["lines"]["layout"] - 1]


def test_the_census_agrees_with_the_reading_by_hand():
    agreed, compared, misses = census.agreement()
    assert misses == []
    assert agreed == compared > 450


@installed
def test_the_reading_by_hand_has_the_lines_of_the_census():
    for reading in (one for draw in census.read_by_hand()["draws"].values() for one in draw):
        for fact, number in reading.get("lines", {}).items():
            assert ENTRIES[reading["name"]]["lines"][fact] == number, (reading["name"], fact)


def test_both_draws_have_thirty_distinct_architectures():
    draws = census.read_by_hand()["draws"].values()
    names = [reading["name"] for draw in draws for reading in draw]
    assert [len(draw) for draw in draws] == [30, 30]
    assert len(set(names)) == 60


@installed
def test_the_draws_are_those_of_their_seeds():
    import random
    import re

    mention = re.compile("rotary|rotat|rope|view_as_complex", re.IGNORECASE)
    files = (census.package() / "models").glob("*/modeling_*.py")
    names = sorted({file.parent.name for file in files if mention.search(file.read_text(encoding="utf-8"))})
    first = random.Random(1).sample(names, 30)
    second = random.Random(2).sample([name for name in names if name not in first], 30)
    draws = census.read_by_hand()["draws"]
    assert sorted(first) == sorted(one["name"] for one in draws["first"])
    assert sorted(second) == sorted(one["name"] for one in draws["second"])


NEWER = {"hy_v4_vl_text", "lara_mini"}  # transformers 5.24 brings them, and the census is of 5.23


@pytest.mark.parametrize("layout", ["interleaved", "half_split"])
def test_the_config_reader_knows_the_layouts_of_the_census(layout):
    """kimi_k25's rules concern its text model, which is DeepSeek's; its own file rotates images only."""
    for model_type in sorted(set(RULES[layout]) - NEWER):
        name = next((n for n in prefixes(model_type) if n in ENTRIES), None)
        if name and ENTRIES[name]["part"] == "attention":
            assert ENTRIES[name]["layout"].startswith(layout), model_type


def prefixes(model_type: str) -> list[str]:
    """Return the prefixes of a name, word by word, the longest first."""
    words = model_type.split("_")
    return ["_".join(words[:n]) for n in range(len(words), 0, -1)]


@pytest.mark.parametrize("model_type", RULES["families_that_do_not_rotate"])
def test_a_model_whose_source_does_not_rotate_is_refused(model_type):
    assert model_type not in ENTRIES
    with pytest.raises(ConfigError, match=r"model_type is .*does not rotate"):
        rope_from_config({"model_type": model_type, "head_dim": 64, "rope_theta": 10000.0})


def test_layers_that_rotate_conditionally_in_the_config_reader_do_so_in_the_census():
    for model_type in sorted(set(RULES["only_sliding_layers_rotate"]) - NEWER):
        assert ENTRIES[model_type]["without_position"] == "some layers"


@pytest.mark.parametrize(("turns", "layout"), [(HALVES, "half_split"), (NEIGHBOURS, "interleaved")])
def test_the_layout_is_read_from_the_body_of_the_function(tmp_path, turns, layout):
    facts = entry(tmp_path, turns, APPLY, FREQUENCIES, ATTENTION, MODEL)
    assert (facts["layout"], facts["sense"]) == (layout, 1)
    assert facts["lines"]["layout"] == 2
    assert facts["rules"] == ["every rule of transformers"]
    assert facts["width"] == "whole head"


@installed
def test_every_rule_lists_the_rules_of_transformers():
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    assert tuple(ROPE_INIT_FUNCTIONS) == census.EVERY_RULE


def test_neighbours_in_and_halves_out_is_a_separate_layout(tmp_path):
    chosen = ATTENTION.replace("apply_rotary_pos_emb(", "apply_rotary_pos_emb_interleave(")
    facts = entry(tmp_path, HALVES, APPLY, IN_AND_OUT, FREQUENCIES, chosen, MODEL)
    assert (facts["layout"], facts["or_by_config"]) == ("interleaved in, half_split out", None)


def test_the_alternative_layout_of_a_config_is_named(tmp_path):
    either = under("self.config.rope_interleave").replace("emb(", "emb_interleave(")
    either += "        else:\n            q, k = apply_rotary_pos_emb(q, k, cos, sin)\n"
    facts = entry(tmp_path, HALVES, APPLY, IN_AND_OUT, FREQUENCIES, either, MODEL)
    assert (facts["layout"], facts["or_by_config"]) == ("interleaved in, half_split out", "half_split")
    assert facts["without_position"] is None


def test_the_opposite_sense_is_read(tmp_path):
    backwards = HALVES.replace("(-x2, x1)", "(x2, -x1)")
    assert entry(tmp_path, backwards, APPLY, FREQUENCIES, ATTENTION, MODEL)["sense"] == -1


def test_angles_in_halves_on_neighbours_are_no_layout(tmp_path):
    turns = NEIGHBOURS.replace("x1 = x", "sin = sin.repeat(1, 1, 1, 2)\n    x1 = x")
    facts = entry(tmp_path, turns, APPLY, FREQUENCIES, ATTENTION, MODEL)
    assert facts["layout"] == "interleaved, angles in halves"


def test_an_uncalled_function_does_not_rotate(tmp_path):
    idle = ATTENTION.replace("apply_rotary_pos_emb(q, k, cos, sin)", "q, k")
    assert entry(tmp_path, HALVES, APPLY, FREQUENCIES, idle, MODEL) is None


def test_an_attention_that_no_model_instantiates_does_not_rotate(tmp_path):
    assert entry(tmp_path, HALVES, APPLY, FREQUENCIES, ATTENTION, MODEL.replace("AAttention", "list")) is None


@pytest.mark.parametrize(
    ("condition", "who"),
    [
        ("self.use_rope", "some layers"),
        ("self.sliding_window is not None", "some layers"),
        ("self.sliding_window is None or self.is_sliding", "some layers"),
        ("position_embeddings is not None", "some layers"),
        ("self.position_embedding_type == 'rotary'", "whole model, by config"),
        ("alibi is None", "whole model, by config"),
        ("not is_cross_attention", None),
        ("past_key_values is not None", None),
    ],
)
def test_layers_without_position_are_read_from_the_condition_of_the_call(tmp_path, condition, who):
    facts = entry(tmp_path, HALVES, APPLY, FREQUENCIES, under(condition), MODEL)
    assert facts["without_position"] == who


@pytest.mark.parametrize(
    ("apply", "reads", "width", "shares"),
    [
        (TAIL, "partial_rotary_factor", "part of the head", [0.25]),
        (APPLY, "partial_rotary_factor", "whole head", []),
        (TAIL, "nothing", "whole head", []),
    ],
)
def test_a_part_of_the_head_needs_a_share_and_a_tail(tmp_path, apply, reads, width, shares):
    frequencies = FREQUENCIES.replace('"rope_type"', f'"{reads}"')
    settings = 'kwargs.setdefault("partial_rotary_factor", 0.25)\n'
    facts = entry(tmp_path, HALVES, apply, frequencies, ATTENTION, MODEL, settings=settings)
    assert (facts["width"], facts["shares"]) == (width, shares)


def test_separate_rotary_features_are_read_from_the_split(tmp_path):
    split = "        q_pass, q_rot = torch.split(q, [self.qk_nope_head_dim, self.qk_rope_head_dim], dim=-1)\n"
    assert (
        entry(tmp_path, HALVES, APPLY, FREQUENCIES, ATTENTION + split, MODEL)["width"]
        == "features of its own"
    )


def test_proportional_is_read_from_the_configuration(tmp_path):
    settings = '{"rope_type": "proportional", "partial_rotary_factor": 0.25}\n'
    facts = entry(tmp_path, HALVES, APPLY, FREQUENCIES, ATTENTION, MODEL, settings=settings)
    assert (facts["width"], facts["shares"]) == ("proportional", [0.25])


@pytest.mark.parametrize(
    ("line", "axes"),
    [
        ("freq = [m[i % 3] for i, m in enumerate(freq.split(self.mrope_section, dim=-1))]", "contiguous"),
        ("idx = slice(offset, length, 3)", "interleaved"),
        ("sizes = [section * 2 for section in self.mrope_section]", "contiguous over features"),
        ("freq_h, freq_w = freq[:, 0], freq[:, 1]", "contiguous"),
        ("emb = torch.cat((freqs, freqs), dim=-1)", None),
    ],
)
def test_axes_are_read_from_the_class_of_frequencies(tmp_path, line, axes):
    frequencies = f"{FREQUENCIES}\n    def forward(self, freq):\n        {line}\n"
    facts = entry(tmp_path, HALVES, APPLY, frequencies, ATTENTION, MODEL)
    assert facts["axes"] == axes
    assert ("axes" in facts["lines"]) == (axes is not None)


def test_a_vision_tower_is_distinguished_from_the_attention(tmp_path):
    tower = ATTENTION.replace("AAttention", "AVisionAttention").replace("emb(", "emb_vision(")
    turns = NEIGHBOURS.replace("half", "pairs") + APPLY.replace("half", "pairs").replace(
        "emb(", "emb_vision("
    )
    model = MODEL.replace("[AAttention(config)]", "[AAttention(config), AVisionAttention(config)]")
    facts = entry(tmp_path, HALVES, APPLY, turns, FREQUENCIES, ATTENTION, tower, model)
    assert (facts["layout"], facts["other_parts"]) == ("half_split", {"vision": "interleaved"})


def test_frequencies_by_layer_are_read(tmp_path):
    frequencies = FREQUENCIES.replace("rope_parameters[", "rope_parameters[layer_type][")
    assert entry(tmp_path, HALVES, APPLY, frequencies, ATTENTION, MODEL)["frequencies_by_layer"]


def test_a_folder_other_than_transformers_is_refused_by_name(tmp_path):
    with pytest.raises(ValueError, match="root must be a folder with models of transformers, got"):
        census.census(tmp_path / "nowhere")


def test_the_census_needs_transformers(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match="transformers, which is not installed here"):
        census.census()


def test_show_prints_one_entry_and_writes_nothing(monkeypatch, capsys):
    monkeypatch.setattr(census, "census", lambda: list(ENTRIES.values()))
    monkeypatch.setattr(census, "CENSUS", None)
    census.main(["--show", "llama"])
    assert json.loads(capsys.readouterr().out) == [ENTRIES["llama"]]


def test_a_difference_from_the_reading_by_hand_is_a_miss(monkeypatch):
    by_hand = census.read_by_hand()
    name = next(one["name"] for one in by_hand["draws"]["first"] if one["rotates"])
    wrong = [
        entry | ({"layout": "no layout"} if entry["name"] == name else {})
        for entry in COMMITTED["architectures"]
    ]
    monkeypatch.setattr(census, "committed", lambda: COMMITTED | {"architectures": wrong})
    agreed, compared, misses = census.agreement()
    assert agreed == compared - 1
    assert [miss[:3] for miss in misses] == [(name, "layout", "no layout")]
