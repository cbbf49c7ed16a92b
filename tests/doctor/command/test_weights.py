"""The order of q's and k's rows in two checkpoints is named, and whether it is the one that the layouts want."""

import json
import os

import gguf
import numpy as np
import pytest
from safetensors.numpy import save_file

from rope_doctor.__main__ import main
from rope_doctor.command import compare_weights
from rope_doctor.config.tensors import GGML, WIDTHS, read_tensors
from rope_edu import encodings

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
        "    Found model.layers.0.self_attn.k_proj.bias unchanged, expected permuted to interleaved.\n"
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
    assert json.loads(capsys.readouterr().out)["wanted"] == "unchanged"


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


def permuted(rows, heads):
    """Return rows as llama.cpp's converter permutes them (conversion/llama.py), in NumPy."""
    halves = rows.reshape(heads, 2, len(rows) // heads // 2, *rows.shape[1:])
    return halves.swapaxes(1, 2).reshape(rows.shape)


FORMATS = {"F32": np.float32, "F16": np.float16, "BF16": None}


def as_gguf(path, tensors, *, arch="llama", to="F32", only=lambda name: True, heads=HEADS, adapter=False):
    """Write a checkpoint as the converter does: other names, rows of q and k permuted, a format for weights."""
    writer = gguf.GGUFWriter(path, arch)
    if not adapter:
        writer.add_context_length(64)
        writer.add_key_length(8)
        writer.add_rope_dimension_count(8)
        writer.add_rope_freq_base(1e4)
    for name, value in tensors.items():
        layer, part, kind = name.split(".")[2], name.split("_proj")[0][-1], name.rpartition(".")[2]
        rows = np.ascontiguousarray(permuted(value, heads[part]) if only(name) else value)
        kept = to if kind == "weight" else "F32"
        dtype = gguf.GGMLQuantizationType[kept]
        end = ".lora_b" if adapter else ""
        data = rows.astype(FORMATS[kept]) if FORMATS.get(kept) else gguf.quants.quantize(rows, dtype)
        writer.add_tensor(f"blk.{layer}.attn_{part}.{kind}{end}", data, raw_dtype=dtype)
    for step in ("write_header_to_file", "write_kv_data_to_file", "write_tensors_to_file", "close"):
        getattr(writer, step)()
    return path


def never(name):
    return False


@pytest.mark.parametrize("to", FORMATS)
def test_a_gguf_as_the_converter_writes_it_is_right_in_every_format(to, tmp_path):
    first = save(tmp_path / "a", checkpoint(), "half_split")
    second = as_gguf(tmp_path / "b.gguf", checkpoint(), to=to)
    result = compare_weights(first, second)
    assert (result.right, result.wanted, result.count) == (True, "permuted to interleaved", 8)
    assert compare_weights(second, second).right is True
    back = compare_weights(second, first)
    assert (back.right, back.wanted) == (True, "permuted to half_split")
    same = as_gguf(tmp_path / "c.gguf", checkpoint(), arch="qwen2", only=never, to=to)
    assert (compare_weights(first, same).right, compare_weights(first, same).wanted) == (True, "unchanged")


@pytest.mark.parametrize(
    ("arch", "made", "found"),
    [
        ("llama", {"only": never}, "unchanged"),
        ("qwen2", {}, "permuted to interleaved"),
        ("llama", {"heads": {"q": 1, "k": 1}}, "permuted to interleaved across the heads"),
        ("llama", {"heads": {"q": 4, "k": 4}}, "in another order"),
        ("llama", {"only": lambda name: "bias" not in name}, "unchanged"),
        ("llama", {"only": lambda name: "q_proj" in name}, "unchanged"),
    ],
)
def test_rows_of_a_gguf_in_a_wrong_order_are_named(arch, made, found, tmp_path):
    """Four heads for k, which has two, are those of huggingface/transformers 31766."""
    first = save(tmp_path / "a", checkpoint(), "half_split")
    result = compare_weights(first, as_gguf(tmp_path / "b.gguf", checkpoint(), arch=arch, **made))
    assert result.right is False
    assert found in result.wrong[0].orders
    assert result.wrong[0].name.startswith("blk.0.attn_")


def test_a_lora_adapter_as_gguf_needs_the_width_alone(tmp_path):
    factors = {name: value for name, value in checkpoint().items() if name.endswith("weight")}
    named = {
        name.replace("model.", "base_model.model.model.", 1).replace("weight", "lora_B.weight"): value
        for name, value in factors.items()
    }
    first = save(tmp_path / "a", named, "half_split")
    for only, orders in ((lambda name: True, "permuted to interleaved"), (never, "unchanged")):
        adapter = as_gguf(tmp_path / "b.gguf", factors, only=only, adapter=True)
        assert compare_weights(first, adapter, head_dim=8).wanted == orders


def test_a_folder_may_hold_a_gguf_and_neither_need_a_config(tmp_path, capsys):
    (tmp_path / "b").mkdir()
    as_gguf(tmp_path / "b" / "model.gguf", checkpoint())
    first = save(tmp_path / "a", checkpoint())
    assert main(["weights", str(first), str(tmp_path / "b")]) == 1
    assert "permuted to interleaved: rotate with that layout" in capsys.readouterr().out


def test_quantized_rows_and_a_gguf_that_is_cut_get_a_sentence(tmp_path):
    rows = np.zeros((32, 256), dtype=np.float32)
    many = {f"model.layers.0.self_attn.{part}_proj.weight": rows for part in HEADS}
    first = save(tmp_path / "a", many, "half_split")
    second = as_gguf(tmp_path / "b.gguf", many, to="Q8_0")
    with pytest.raises(ValueError, match="numbers in the format Q8_0; only F64, F32, F16, BF16 can be read"):
        compare_weights(first, second)
    whole = as_gguf(tmp_path / "c.gguf", many)
    os.truncate(whole, whole.stat().st_size - 40_000)
    with pytest.raises(
        ValueError, match=r"is truncated: the tensor blk\.0\.attn_q\.weight ends outside the file"
    ):
        compare_weights(first, whole)


def test_a_projection_of_a_million_rows_is_refused_before_it_is_read(tmp_path):
    entry = {"dtype": "F32", "shape": [2**20, 64], "data_offsets": [0, 2**28]}
    header = json.dumps({"layers.0.q_proj.weight": entry}).encode()
    path = tmp_path / "m.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header)
    os.truncate(path, 8 + len(header) + 2**28)
    with pytest.raises(ValueError, match="1048576 rows, more than 262144"):
        compare_weights(path, path, head_dim=64)


def test_formats_have_the_numbers_that_the_gguf_package_gives_them():
    assert {number: gguf.GGMLQuantizationType(number).name for number in GGML} == GGML
    assert set(WIDTHS) <= set(GGML.values())


def test_a_header_of_16_mebibytes_is_read_and_no_larger_one(tmp_path):
    path = tmp_path / "m.safetensors"
    for size, held in ((2, True), (16 * 2**20, True), (16 * 2**20 + 1, False)):
        path.write_bytes(size.to_bytes(8, "little") + b"{" + b" " * (size - 2) + b"}")
        if held:
            assert read_tensors(path) == {}
        else:
            with pytest.raises(ValueError, match="is not a safetensors file"):
                read_tensors(path)


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
    with pytest.raises(ValueError, match=r"is truncated|broken header"):
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


PHI = {"model_type": "phi3", "hidden_size": 32, "num_attention_heads": 4, "num_key_value_heads": 2}
PHI |= {"rope_theta": 1e4, "num_hidden_layers": 2}
NEOX = {"model_type": "gpt_neox", "hidden_size": 32, "num_attention_heads": 4, "rotary_emb_base": 1e4}
NEOX |= {"rotary_pct": 1.0, "num_hidden_layers": 2}


def fused(tensors, order):
    """Return a checkpoint with q, k and v of a layer in one tensor: joined, or by head."""
    found = {}
    for layer in (0, 1):
        q, k = (tensors[f"model.layers.{layer}.self_attn.{part}_proj.weight"] for part in "qk")
        if order == "joined":
            found[f"model.layers.{layer}.self_attn.qkv_proj.weight"] = np.concatenate([q, k, k])
        else:
            heads = [each.reshape(4, 8, 32) for each in (q, q[::-1], q)]
            rows = np.stack(heads, axis=1).reshape(-1, 32)
            found[f"gpt_neox.layers.{layer}.attention.query_key_value.weight"] = rows
    return found


def with_config(folder, config):
    (folder / "config.json").write_text(json.dumps(config))
    return folder


@pytest.mark.parametrize(("order", "config"), [("joined", PHI), ("by head", NEOX)])
def test_fused_projections_are_split_and_judged(order, config, tmp_path):
    right, wrong = checkpoint(), converted(checkpoint(), "interleaved", only=lambda name: "1.self" in name)
    first = with_config(save(tmp_path / "a", fused(right, order)), config)
    same = with_config(save(tmp_path / "b", fused(right, order)), config)
    other = with_config(save(tmp_path / "c", fused(wrong, order)), config)
    assert compare_weights(first, same).verdict.status == 0
    result = compare_weights(first, other)
    assert result.verdict.status == 1
    assert {order.name.split()[0] for order in result.wrong} == {"q", "k"}


def test_wrong_projections_are_named_layer_by_layer(tmp_path):
    wrong = converted(checkpoint(), "interleaved")
    folders = [
        with_config(save(tmp_path / name, fused(tensors, "joined")), PHI)
        for name, tensors in (("a", checkpoint()), ("b", wrong))
    ]
    layers = [order.name.partition("layers.")[2][0] for order in compare_weights(*folders).wrong]
    assert layers == ["0", "0", "1", "1"]


def test_fused_projections_in_an_order_that_is_not_known_are_not_passed(tmp_path, capsys):
    falcon = {"model_type": "falcon", "head_dim": 8, "rope_theta": 1e4}
    folder = with_config(save(tmp_path / "a", fused(checkpoint(), "joined")), falcon)
    assert main(["weights", str(folder), str(folder)]) == 2
    assert "the order of q, k and v in its fused projections is not known" in capsys.readouterr().out


def test_a_layer_that_lacks_k_is_not_passed(tmp_path, capsys):
    tensors = checkpoint()
    first = with_config(save(tmp_path / "a", tensors), CONFIG | {"num_hidden_layers": 2})
    lacking = {name: each for name, each in tensors.items() if "1.self_attn.k" not in name}
    second = with_config(save(tmp_path / "b", lacking), CONFIG | {"num_hidden_layers": 2})
    assert compare_weights(first, first).verdict.status == 0
    assert main(["weights", str(first), str(second)]) == 2
    assert "b has no k that can be read in layers 1" in capsys.readouterr().out
    both = with_config(first, CONFIG | {"num_hidden_layers": 3})
    assert set(compare_weights(both, both).verdict.not_judged) == {"q", "k"}
    assert main(["weights", str(both), str(both), "--skip", "k"]) == 2


def test_a_bin_and_an_index_are_read(tmp_path, capsys):
    torch = pytest.importorskip("torch")
    tensors, names = checkpoint(), ("pytorch_model-1.bin", "pytorch_model-2.bin")
    first = save(tmp_path / "a", tensors, "half_split")
    folder = with_config(tmp_path, CONFIG)
    files = {name: names["1.self" in name] for name in tensors}
    for file in names:
        held = {name: torch.tensor(each).bfloat16() for name, each in tensors.items() if files[name] == file}
        torch.save(held, folder / file)
    index = folder / "pytorch_model.bin.index.json"
    index.write_text(json.dumps({"weight_map": files}))
    for path in (index, folder):
        assert compare_weights(first, path).verdict.status == 0
    index.write_text(json.dumps({"weight_map": {"a": "../a/m.safetensors"}}))
    with pytest.raises(ValueError, match="names a file outside its folder"):
        read_tensors(index)
    index.write_text(json.dumps({"weight_map": {"a": "gone.bin"}}))
    with pytest.raises(ValueError, match=r"names gone\.bin, which is not beside it"):
        read_tensors(index)


def test_a_bin_that_would_run_code_is_refused(tmp_path):
    torch = pytest.importorskip("torch")
    torch.save({"a": print}, tmp_path / "pytorch_model.bin")
    with pytest.raises(ValueError, match="cannot be loaded as weights alone: UnpicklingError"):
        read_tensors(tmp_path / "pytorch_model.bin")
    (tmp_path / "pytorch_model.bin").write_bytes(b"nonsense")
    with pytest.raises(ValueError, match="cannot be loaded as weights alone"):
        read_tensors(tmp_path / "pytorch_model.bin")


LATENT = {"model_type": "deepseek_v3", "kv_lora_rank": 16, "q_lora_rank": 12, "num_attention_heads": 4}
LATENT |= {
    "qk_rope_head_dim": 8,
    "qk_nope_head_dim": 6,
    "v_head_dim": 6,
    "hidden_size": 32,
    "rope_theta": 1e4,
}
NAMES = {  # q with and without a latent, and k, in transformers and in llama.cpp
    "q_b_proj": "attn_q_b",
    "q_proj": "attn_q",
    "kv_a_proj_with_mqa": "attn_kv_a_mqa",
}


def latent(q="q_b_proj"):
    """Return the projections of two layers of latent attention, with those of an indexer."""
    draw, found = np.random.default_rng(0), {}
    for layer in (0, 1):
        at = f"model.layers.{layer}.self_attn"
        found[f"{at}.{q}.weight"] = draw.normal(size=(4 * 14, 32)).astype(np.float32)
        found[f"{at}.kv_a_proj_with_mqa.weight"] = draw.normal(size=(16 + 8, 32)).astype(np.float32)
        found[f"{at}.indexer.wq_b.weight"] = draw.normal(size=(40, 32)).astype(np.float32)
    return found


def turned(rows, name, to):
    """Return a latent projection whose rotating rows are in the other layout."""
    rows = rows.copy()
    if "kv_a" in name:
        rows[16:] = encodings.convert_projection(rows[16:], 1, to=to)
    elif "indexer" not in name:
        heads = rows.reshape(4, 14, -1)
        last = encodings.convert_projection(heads[:, 6:].reshape(32, -1), 4, to=to)
        heads[:, 6:] = last.reshape(4, 8, -1)
    return rows


def as_latent_gguf(path, tensors, **widths):
    writer = gguf.GGUFWriter(path, "deepseek2")
    writer.add_block_count(2)
    writer.add_head_count(4)
    writer.add_kv_lora_rank(16)
    writer.add_rope_dimension_count(8)
    for name, width in widths.items():
        getattr(writer, f"add_{name}")(width)
    for name, rows in tensors.items():
        layer, _, own = name.removeprefix("model.layers.").partition(".self_attn.")
        known = NAMES.get(own.removesuffix(".weight"), "indexer.attn_q_b")
        writer.add_tensor(f"blk.{layer}.{known}.weight", rows)
    for step in ("write_header_to_file", "write_kv_data_to_file", "write_tensors_to_file", "close"):
        getattr(writer, step)()
    return path


@pytest.mark.parametrize("q", ["q_b_proj", "q_proj"])
@pytest.mark.parametrize("widths", [{"key_length": 14}, {"key_length": 24, "key_length_mla": 14}])
def test_the_rotating_rows_of_latent_attention_are_compared(q, widths, tmp_path):
    first = with_config(save(tmp_path / "a", latent(q)), LATENT)
    right = compare_weights(first, as_latent_gguf(tmp_path / "b.gguf", latent(q), **widths))
    assert (right.verdict.status, right.wanted, right.count) == (0, "unchanged", 4)
    wrong = {name: turned(rows, name, "half_split") for name, rows in latent(q).items()}
    result = compare_weights(first, as_latent_gguf(tmp_path / "c.gguf", wrong, **widths))
    assert (result.verdict.status, len(result.wrong)) == (1, 4)
    assert all("permuted to half_split" in order.orders for order in result.wrong)


def test_latent_attention_in_halves_is_expected_where_the_configs_say_so(tmp_path):
    first = with_config(save(tmp_path / "a", latent()), LATENT)
    turn = {name: turned(rows, name, "half_split") for name, rows in latent().items()}
    second = with_config(save(tmp_path / "b", turn), LATENT | {"rope_interleave": False})
    result = compare_weights(first, second)
    assert (result.verdict.status, result.wanted) == (0, "permuted to half_split")


def test_latent_attention_whose_widths_do_not_fit_or_are_not_known_is_not_passed(tmp_path, capsys):
    first = with_config(save(tmp_path / "a", latent()), LATENT | {"qk_nope_head_dim": 5})
    assert main(["weights", str(first), str(first)]) == 2
    assert "latent projection of q has 56 rows, not heads of 13" in capsys.readouterr().out
    first = save(tmp_path / "b", latent())
    assert main(["weights", str(first), str(first), "--head-dim", "8"]) == 2
    assert "the widths of its latent projections are not known" in capsys.readouterr().out
