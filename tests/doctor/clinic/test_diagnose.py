"""The clinic names each mistake that it keeps, in any layout, base and width, and finds none in right rotations."""

import json
import math
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

from rope_doctor.__main__ import main
from rope_doctor.clinic import BROKEN, MISTAKES, diagnose, mistakes, right
from rope_edu import RopeSpec, apply_rope, fast, llama3, p_rope, plain_rope, rope_angles, yarn

DRAWS = 21  # of each of the broken ones and of right ones: more than 1,000
THIRDS = [0, *(pytest.param(third, marks=pytest.mark.nightly) for third in (1, 2))]
BY_FACTOR = ("attention_factor_missing", "attention_factor_twice")
EVIDENCE = (
    "Found",
    "After",
    "Beside",
    "In 8200",
    "Two",
    "A row",
    "Of rows",
    "Zeros give",
    "8 rows",
    "Heads",
    "With other",
    "f(",
)
BY_PART = ("other_width", "other_denominator")


def draw(rng: np.random.Generator, name: str) -> RopeSpec:
    """Draw what is wanted: a width, a base, a layout, and what the mistake needs to be one."""
    head_dim, base = 2 * int(rng.integers(4, 65)), math.exp(rng.uniform(math.log(300), math.log(5e6)))
    partial = name in BY_PART or rng.random() < 0.3
    rotary_dim = 2 * int(rng.integers(3, head_dim // 2)) if partial else head_dim
    if 2 * rotary_dim == head_dim:  # there a halved exponent and the whole head's width are one mistake
        rotary_dim += 2  # with two pairs, a positive exponent could be a wrong sense
    layout = ("interleaved", "half_split")[rng.integers(2)]
    if name == "zeros_dropped":
        return p_rope(head_dim, 0.5, base, layout="half_split")
    spec = plain_rope(head_dim, base, rotary_dim=min(rotary_dim, head_dim - 2 * partial), layout=layout)
    return spec.replace(attention_factor=rng.uniform(1.05, 1.5)) if name in BY_FACTOR else spec


@pytest.mark.sampled(6)
@pytest.mark.long
@pytest.mark.parametrize("third", THIRDS)
@pytest.mark.parametrize("name", [*BROKEN, "right"])
def test_every_mistake_is_named_and_no_other(name, third):
    rng = np.random.default_rng([22, len(name)])
    known = MISTAKES.get(name, MISTAKES["no_position"])
    drawn = [(draw(rng, name), known.needs_spec or rng.random() < 0.5) for _ in range(DRAWS)][third::3]
    seen = {}
    for spec, informed in drawn:
        function = right(spec) if name == "right" else BROKEN[name](spec)
        found = diagnose(function, spec.head_dim, against=spec if informed else None, takes=known.takes)
        seen[found.mistakes] = seen.get(found.mistakes, 0) + 1
        assert set(found.evidence) == set(found.mistakes)
        assert all(
            sentence.startswith(EVIDENCE) and sentence.endswith(".") for sentence in found.evidence.values()
        )
    assert seen == {() if name == "right" else (name,): len(drawn)}


@pytest.mark.parametrize("layout", ["interleaved", "half_split"])
def test_three_pairs_tell_a_positive_exponent_from_a_wrong_sense(layout):
    for base in np.geomspace(300, 5e6, 5):
        spec = plain_rope(14, base, rotary_dim=6, layout=layout)
        for against in (None, spec):
            found = diagnose(BROKEN["exponent_sign"](spec), 14, against=against)
            assert found.mistakes == ("exponent_sign",)
        for senses in ([1, 1, -1], [1, -1, 1], [1, -1, -1]):
            mixed = right(spec.replace(inv_freq=spec.inv_freq * senses))
            assert diagnose(mixed, 14).mistakes == ("senses_differ",)


def test_what_is_right_is_described_as_made():
    rng = np.random.default_rng(1)
    for _ in range(20):
        spec = draw(rng, "right")
        found = diagnose(right(spec), spec.head_dim)
        assert (found.is_rotation, found.layout, found.sense) == (True, spec.layout, 1)
        assert (found.rotary_dim, found.first_position) == (spec.rotary_dim, 0)
        np.testing.assert_allclose(found.inv_freq, spec.inv_freq, rtol=1e-9)
        assert found.base == pytest.approx(spec.inv_freq[1] ** (-spec.rotary_dim / 2), rel=1e-9)
        assert found.attention_factor == pytest.approx(1, abs=1e-12)
        assert found.precision == {"angles": "float64", "cosines and sines": "float64"}


@pytest.mark.parametrize("layout", ["interleaved", "half_split"])
def test_sense_and_first_position_are_read_together(layout):
    spec = plain_rope(64, 1e6, layout=layout)
    found = diagnose(lambda x, positions: right(spec)(x, -(positions + 3)), 64)
    assert (found.sense, found.first_position, found.layout) == (-1, 3, layout)
    assert found.base == pytest.approx(1e6, rel=1e-9)
    assert found.mistakes == ("counts_from_one",)


@pytest.mark.parametrize(
    "spec",
    [
        llama3(128, 8.0, 8192, base=5e5).replace(layout="half_split"),
        yarn(128, 16.0, 4096).replace(layout="half_split"),
        p_rope(64, 0.25, 1e6, layout="half_split"),
    ],
    ids=lambda spec: spec.kind,
)
def test_a_rule_is_no_mistake_and_its_absence_is_one(spec):
    found = diagnose(right(spec), spec.head_dim, against=spec)
    assert found.mistakes == ()
    assert found.rotary_dim == spec.rotary_dim
    np.testing.assert_allclose(found.inv_freq, spec.inv_freq, rtol=1e-9)
    assert found.attention_factor == pytest.approx(spec.attention_factor, rel=1e-9)
    base = 5e5 if spec.kind == "llama3" else 1e6 if spec.kind == "p-rope" else 1e4
    assert found.base == pytest.approx(base, rel=1e-6)
    if spec.kind == "llama3":
        plain = diagnose(right(plain_rope(128, 5e5, layout="half_split")), 128, against=spec)
        assert plain.mistakes == ("rule_missing",)


def transformers_llama(head_dim, base):
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb

    parameters = {"rope_type": "default", "rope_theta": base}
    sizes = {"hidden_size": 2 * head_dim, "num_attention_heads": 2}
    rotary = LlamaRotaryEmbedding(
        transformers.LlamaConfig(**sizes, head_dim=head_dim, rope_parameters=parameters)
    )

    def rotate(x, positions):
        x = torch.tensor(x)[None, None]
        return apply_rotary_pos_emb(x, x, *rotary(x, torch.tensor(positions)[None]))[0][0, 0].numpy()

    return rotate, "half_split"


def rotary_embedding_torch(head_dim, base):
    torch, library = pytest.importorskip("torch"), pytest.importorskip("rotary_embedding_torch")
    rotary = library.RotaryEmbedding(dim=head_dim, theta=base, cache_if_possible=False)

    def rotate(x, positions):
        with torch.no_grad():
            return library.apply_rotary_emb(rotary(torch.tensor(positions)), torch.tensor(x)).numpy()

    return rotate, "interleaved"


def x_transformers(head_dim, base):
    torch, library = pytest.importorskip("torch"), pytest.importorskip("x_transformers.x_transformers")
    rotary = library.RotaryEmbedding(head_dim, base=base)

    def rotate(x, positions):
        angles = rotary(torch.tensor(positions))
        return library.apply_rotary_pos_emb(torch.tensor(x)[None], *angles)[0].numpy()

    return rotate, "interleaved"


def onnxruntime(head_dim, base):
    """Its operator RotaryEmbedding, fed with the cosines of the positions asked for; float32."""
    from onnx import TensorProto, helper
    from onnxruntime import InferenceSession

    shapes = {"x": ["b", "s", "d"], "positions": ["b", "s"], "cos": ["m", "p"], "sin": ["m", "p"]}
    kinds = {"positions": TensorProto.INT64}
    inputs = [
        helper.make_tensor_value_info(name, kinds.get(name, TensorProto.FLOAT), shape)
        for name, shape in shapes.items()
    ]
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, shapes["x"])
    options = {"domain": "com.microsoft", "interleaved": 1, "num_heads": 1}
    node = helper.make_node("RotaryEmbedding", list(shapes), ["y"], rotary_embedding_dim=head_dim, **options)
    sets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    graph = helper.make_graph([node], "rotate", inputs, [output])
    model = helper.make_model(graph, opset_imports=sets, ir_version=8).SerializeToString()
    session = InferenceSession(model, providers=["CPUExecutionProvider"])
    frequencies = base ** -(np.arange(0, head_dim, 2) / head_dim)

    def rotate(x, positions):
        rows, place = np.unique(positions, return_inverse=True)
        angles = rows[:, None] * frequencies
        tables = {"cos": np.cos(angles).astype(np.float32), "sin": np.sin(angles).astype(np.float32)}
        tables = {
            name: np.resize(table, (max(len(table), len(x)), head_dim // 2)) for name, table in tables.items()
        }
        feed = {"x": x.astype(np.float32)[None], "positions": place[None].astype(np.int64), **tables}
        return session.run(None, feed)[0][0]

    return rotate, "interleaved"


def ours_fast(head_dim, base):
    table = fast.RotaryTable(plain_rope(head_dim, base, layout="half_split"))
    return lambda x, positions: fast.rotate(x[None, None], table=table, positions=positions)[
        0, 0
    ], "half_split"


def ours_torch(head_dim, base):
    torch = pytest.importorskip("torch")

    def rotate(x, positions):
        angles = rope_angles(torch.tensor(positions), plain_rope(head_dim, base).inv_freq)
        return apply_rope(torch.tensor(x), angles).numpy()

    return rotate, "interleaved"


@pytest.mark.parametrize(
    "make",
    [
        transformers_llama,
        rotary_embedding_torch,
        x_transformers,
        pytest.param(onnxruntime, marks=pytest.mark.makers),
        ours_fast,
        ours_torch,
    ],
)
@pytest.mark.parametrize("base", [10_000.0, 500_000.0])
def test_no_mistake_is_found_in_what_people_run(make, base):
    function, layout = make(64, base)
    spec = plain_rope(64, base, layout=layout)
    for wanted in (None, spec):
        found = diagnose(function, 64, against=wanted)
        assert (found.mistakes, found.layout, found.sense, found.first_position) == ((), layout, 1, 0)
        assert found.base == pytest.approx(base, rel=1e-4)


def test_the_text_says_what_it_is_what_is_wrong_and_what_to_do():
    spec = plain_rope(16, layout="half_split")
    said = str(diagnose(BROKEN["counts_from_one"](spec), 16))
    assert "A rotation of 16 of 16 features, half_split, counter-clockwise, base 10000" in said
    assert "first token at position 1" in said
    assert "Fix: Count positions from 0." in said
    assert str(diagnose(right(spec), 16)).endswith("No known mistake.")
    assert "Not a rotation" in str(diagnose(BROKEN["rolls_features"](spec), 16))


def test_every_mistake_has_a_sentence_and_a_fix_and_most_have_a_broken_rotation():
    assert set(BROKEN) <= set(MISTAKES)
    assert set(MISTAKES) - set(BROKEN) == {
        "mixes_features", "not_a_rotation", "rule_missing", "rule_differs", "other_frequencies",
        "other_attention_factor", "not_linear", "differs_when_repeated", "length_by_position", "phase_at_zero",
        "senses_differ", "tail_changes", "other_part", "reordered",
        "frequencies_in_float16", "angles_in_float16", "result_in_float16",
    }  # fmt: skip


def test_the_file_of_mistakes_holds_two_texts_of_whole_sentences_each_and_no_default():
    said = tomllib.loads(Path(mistakes.__file__).with_name("mistakes.toml").read_text(encoding="utf-8"))
    assert list(said) == list(MISTAKES)
    for name, entry in said.items():
        assert re.fullmatch(r"[a-z0-9]+(_[a-z0-9]+)*", name)
        assert {"does", "fix"} <= set(entry) <= {"does", "fix", "needs_spec", "takes"}
        for text in (entry["does"], entry["fix"]):
            assert text == " ".join(text.split())
            assert text.endswith(".")
            assert len(text) <= 200
        assert entry.get("needs_spec", True) is True
        assert entry.get("takes", "heads seq head_dim").split()[-3:] == ["heads", "seq", "head_dim"]
    assert len({entry["does"] for entry in said.values()}) == len(said)


@pytest.mark.parametrize(
    ("function", "mistake"),
    [
        (lambda x, positions: x, "no_position"),
        (
            lambda x, positions: x @ np.linalg.qr(np.arange(64.0).reshape(8, 8) + np.eye(8))[0],
            "mixes_features",
        ),
        (
            lambda x, positions: x * np.cos(positions)[:, None] + x[:, [1, 0, 3, 2, 5, 4, 7, 6]],
            "not_a_rotation",
        ),
    ],
)
def test_a_mistake_without_a_name_is_still_described(function, mistake):
    found = diagnose(function, 8)
    assert (found.is_rotation, found.mistakes) == (False, (mistake,))


@pytest.mark.parametrize(
    ("function", "head_dim", "sentence"),
    [
        (lambda x, positions: x[:, :2], 8, r"it must return the shape of x, \(8, 8\), got \(8, 2\)"),
        (lambda x, positions: x * math.nan, 8, "numbers that are not finite"),
        (lambda x: x, 8, "function fails on 8 rows at positions 0 to 7: TypeError"),
        (lambda x, positions: x, 1, "head_dim must be at least 2, got 1"),
    ],
)
def test_a_function_that_cannot_be_examined_gets_a_sentence(function, head_dim, sentence):
    with pytest.raises(ValueError, match=sentence):
        diagnose(function, head_dim)


def test_pairs_that_stand_still_where_none_should_are_other_frequencies():
    still = right(p_rope(32, 0.5, 1e4, layout="half_split"))
    assert diagnose(still, 32, against=plain_rope(32, 1e4, layout="half_split")).mistakes == (
        "other_frequencies",
    )


def test_fewer_features_at_other_speeds_are_another_width_and_no_lost_zeros():
    spec = p_rope(32, 0.25, 1e4, layout="half_split")
    turning = spec.inv_freq[spec.inv_freq > 0]
    for speeds, expected in ((turning, "zeros_dropped"), (turning / 2, "other_width")):

        def rotate(x, positions, speeds=speeds):
            return apply_rope(x, rope_angles(positions, speeds), layout="half_split")

        named = set(diagnose(rotate, 32, against=spec).mistakes)
        assert named & {"zeros_dropped", "other_width"} == {expected}


def test_a_spec_of_another_width_is_refused():
    with pytest.raises(ValueError, match="head_dim must be that of the spec, 16, got 8"):
        diagnose(right(plain_rope(8)), 8, against=plain_rope(16))


ROTATE = """
import numpy as np
from rope_edu import apply_rope, inv_freq, rope_angles

def rotate(x, positions):
    return apply_rope(x, rope_angles(positions, inv_freq(8, 500.0)))

class Layer:
    rotate = staticmethod(rotate)

width = 8
"""


def test_the_command_examines_a_function_by_name(somebodys_module, capsys):
    somebodys_module("mine", ROTATE)
    for name in ("mine:rotate", "mine:Layer.rotate"):
        assert main(["diagnose", name, "--head-dim", "8", "--base", "500"]) == 0
        assert "No known mistake." in capsys.readouterr().out


def test_the_command_hands_a_function_tensors_on_request(somebodys_module, capsys):
    pytest.importorskip("torch")
    somebodys_module("mine", ROTATE)
    assert main(["diagnose", "mine:rotate", "--head-dim", "8", "--base", "10000", "--torch"]) == 1
    assert "other_base: The frequencies belong to another base" in capsys.readouterr().out


def test_the_command_compares_with_a_config(somebodys_module, tmp_path, capsys):
    somebodys_module("mine", ROTATE)
    for base, status in ((500.0, 0), (1e6, 1)):
        config = {"model_type": "gptj", "head_dim": 8, "rope_theta": base}
        (tmp_path / "config.json").write_text(json.dumps(config))
        assert main(["diagnose", "mine:rotate", "--config", "config.json"]) == status
    assert "other_base" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("mine --head-dim 8", "must be written module:function"),
        ("mine:turn --head-dim 8", "mine:turn is not found: AttributeError"),
        ("nowhere:rotate --head-dim 8", "nowhere:rotate is not found: ModuleNotFoundError"),
        ("broken:rotate --head-dim 8", "broken:rotate is not found: SyntaxError"),
        ("mine:width --head-dim 8", "mine:width must be a function, got int"),
        ("mine:rotate", "--head-dim is missing"),
        ("mine:rotate --head-dim 0", "head_dim must be a whole number of at least 1, got 0"),
        ("mine:rotate --head-dim 8 --layout half_split", "--layout need --base"),
        ("mine:rotate --head-dim 8 --layer-type full_attention", "--layer-type needs --config"),
        ("mine:rotate --config config.json --base 500", "omit --base, --rotary-dim and --layout"),
        ("mine:rotate --config config.json", "config.json"),
    ],
)
def test_the_command_says_what_it_cannot_examine(somebodys_module, capsys, arguments, sentence):
    somebodys_module("mine", ROTATE)
    somebodys_module("broken", "def (:")
    assert main(["diagnose", *arguments.split()]) == 2
    [said] = capsys.readouterr().out.splitlines()
    assert said.startswith("Could not tell: ")
    assert sentence in said
    assert main(["diagnose", *arguments.split(), "--json"]) == 2
    assert sentence in json.loads(capsys.readouterr().out)["could_not_tell"]
