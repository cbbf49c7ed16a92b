"""The order of q's and k's rows in two checkpoints is named, and whether it is the one that the layouts want."""

import json

import numpy as np
import pytest
from safetensors.numpy import save_file

from rope_edu import encodings
from rope_edu.__main__ import main
from rope_edu.command import compare_weights

HEADS = {"q": 4, "k": 2}
CONFIG = {"head_dim": 8, "rope_theta": 1e4, "model_type": "llama"}


def checkpoint(seed=0):
    """Return the projections of two layers, with biases."""
    draw = np.random.default_rng(seed)
    found = {}
    for layer in (0, 1):
        for part, heads in HEADS.items():
            name = f"model.layers.{layer}.self_attn.{part}_proj"
            found[f"{name}.weight"] = draw.normal(size=(8 * heads, 32)).astype(np.float32)
            found[f"{name}.bias"] = draw.normal(size=8 * heads).astype(np.float32)
    return found


def converted(tensors, to, *, only=lambda name: True, heads=HEADS):
    """Return a checkpoint with its rows, or some of them, in the other layout."""
    return {
        name: encodings.convert_projection(value, heads["q" if "q_proj" in name else "k"], to=to)
        if only(name)
        else value
        for name, value in tensors.items()
    }


def save(folder, tensors, layout=None):
    folder.mkdir(exist_ok=True)
    save_file(
        {name: np.ascontiguousarray(value) for name, value in tensors.items()}, folder / "m.safetensors"
    )
    if layout:
        (folder / "config.json").write_text(json.dumps(CONFIG | {"rope_interleave": layout == "interleaved"}))
    return folder


@pytest.mark.parametrize(
    ("change", "layout", "right"),
    [
        (lambda a: a, "half_split", True),
        (lambda a: converted(a, "interleaved"), "interleaved", True),
        (lambda a: converted(a, "interleaved"), "half_split", False),
        (lambda a: a, "interleaved", False),
        (lambda a: converted(a, "half_split"), "interleaved", False),
        (lambda a: converted(converted(a, "interleaved"), "interleaved"), "interleaved", False),
        (lambda a: converted(a, "interleaved", heads={"q": 1, "k": 1}), "interleaved", False),
        (lambda a: converted(a, "interleaved", only=lambda name: "bias" not in name), "interleaved", False),
        (lambda a: converted(a, "interleaved", only=lambda name: "q_proj" in name), "interleaved", False),
        (lambda a: {name: value[::-1] for name, value in a.items()}, "half_split", False),
        (lambda a: {name: value * np.float32(1.001) for name, value in a.items()}, "half_split", True),
        (lambda a: checkpoint(1), "half_split", None),
    ],
)
def test_rows_are_right_if_they_are_in_the_order_that_the_layouts_want(change, layout, right, tmp_path):
    first = save(tmp_path / "a", checkpoint(), "half_split")
    second = save(tmp_path / "b", change(checkpoint()), layout)
    assert compare_weights(first, second).right is right


def test_forgotten_biases_are_named(tmp_path):
    first = save(tmp_path / "a", checkpoint(), "half_split")
    weights = converted(checkpoint(), "interleaved", only=lambda name: "bias" not in name)
    result = compare_weights(first, save(tmp_path / "b", weights, "interleaved"))
    assert str(result).startswith(
        "4 of 8 projections are in a wrong order: self_attn.k_proj.bias, self_attn.q_proj.bias.\n"
        "    Found model.layers.0.self_attn.k_proj.bias as they were, wanted permuted to interleaved.\n"
    )


def test_without_configs_the_first_projection_says_what_was_done(tmp_path, capsys):
    first = save(tmp_path / "a", checkpoint())
    second = save(tmp_path / "b", converted(checkpoint(), "interleaved"))
    command = ["weights", str(first), str(second)]
    assert main(command) == 2
    assert "state --head-dim" in capsys.readouterr().out
    assert main([*command, "--head-dim", "8"]) == 1
    assert "permuted to interleaved: rotate with that layout" in capsys.readouterr().out
    assert main([*command[:2], str(first), "--head-dim", "8", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["wanted"] == "as they were"


def test_bfloat16_and_metas_names_are_read(tmp_path):
    torch = pytest.importorskip("torch")
    from safetensors.torch import save_file as save_tensors

    first = save(tmp_path / "a", checkpoint(), "half_split")
    theirs = {}
    for name, value in converted(checkpoint(), "interleaved").items():
        layer, part, kind = name.split(".")[2], name.split("_proj")[0][-1], name.rpartition(".")[2]
        theirs[f"layers.{layer}.attention.w{part}.{kind}"] = torch.tensor(value).to(torch.bfloat16)
    second = save(tmp_path / "b", {}, "interleaved")
    save_tensors(theirs, second / "m.safetensors")
    assert compare_weights(first, second).right is True


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff" * 9,
        b"\x02" + bytes(7) + b"[]",
        b"\x07" + bytes(7) + b'{"a":1}',
        b"\x03" + bytes(7) + b"{{{",
    ],
)
def test_a_broken_file_gets_a_sentence(content, tmp_path):
    (tmp_path / "m.safetensors").write_bytes(content)
    with pytest.raises(ValueError, match=r"is cut|broken header"):
        compare_weights(tmp_path / "m.safetensors", tmp_path, head_dim=8)


@pytest.mark.parametrize(
    "entry",
    [
        {"dtype": "F32", "shape": [8, 4], "data_offsets": [0, 10**12]},
        {"dtype": "F32", "shape": [8, 400], "data_offsets": [0, 128]},
        {"dtype": "F32", "shape": [8, -4], "data_offsets": [0, 128]},
        {"dtype": "F32", "shape": 8, "data_offsets": [0, 128]},
    ],
)
def test_a_tensor_must_lie_in_its_file(entry, tmp_path):
    header = json.dumps({"layers.0.q_proj.weight": entry}).encode()
    (tmp_path / "m.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + bytes(128))
    with pytest.raises(ValueError, match="broken header"):
        compare_weights(tmp_path, tmp_path, head_dim=8)
