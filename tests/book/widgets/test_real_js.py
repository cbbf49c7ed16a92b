"""The page that runs SmolLM2: what it changes in a GGUF, its tokenizer, its perplexity, its lines of code."""

import ast
import base64
import json
import shlex

import numpy as np
import pytest
from gguf import GGMLQuantizationType as Kind
from gguf import GGUFWriter, dequantize, quantize

from rope_book.real.file import find_weights, make_tokenizer
from rope_doctor.config.gguf import read_factors, read_header
from rope_edu.encodings import convert_projection

from .v8 import scripts

HEADS, WIDTH, MODEL = 2, 64, 96
SHIMS = """
globalThis.TextDecoder ??= class {
    decode(bytes) { return decodeURIComponent(escape(String.fromCharCode(...bytes))); }
};
globalThis.TextEncoder ??= class {
    encode(text) { return Uint8Array.from(unescape(encodeURIComponent(text)), (letter) => letter.charCodeAt(0)); }
};
globalThis.Blob ??= class Blob {
    constructor(parts) {
        const view = ({ buffer, byteOffset, byteLength }) => new Uint8Array(buffer, byteOffset, byteLength);
        const all = parts.map((part) => part.bytes ?? view(part));
        this.bytes = new Uint8Array(all.reduce((sum, { length }) => sum + length, 0));
        let at = 0;
        for (const each of all) {
            this.bytes.set(each, at);
            at += each.length;
        }
    }
    get size() { return this.bytes.length; }
    slice(start, stop) { return new Blob([this.bytes.slice(start, stop)]); }
    async arrayBuffer() { return this.bytes.slice().buffer; }
};
const held = (text) => new Blob([Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0))]);
const sent = (blob) => btoa(Array.from(blob.bytes, (byte) => String.fromCharCode(byte)).join(""));
const changed = async (text, edit) => {
    const file = held(text);
    return sent(await edited(file, await headOf(file), edit));
};
0
"""
TEXTS = (
    "It's 12,345.67 € in 2024",
    "  def f(x):\n\treturn x**2  # ½ ² ٣",
    "日本語 naïve",
    "don't we'll I'VE\r\n\n\n x",
    "a" * 40 + " " * 9,
    "",
)


@pytest.fixture(scope="module")
def v8():
    """Return the page's modules."""
    with scripts("real/gguf_edit", "real/tokens", "real/measure", "real/choices") as started:
        started.engine.eval(SHIMS)
        yield started


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Return a small model's GGUF: two layers of q and k in four bits, one list of float32 at an odd place."""
    path = tmp_path_factory.mktemp("gguf") / "small.gguf"
    writer = GGUFWriter(path, "llama")
    writer.add_rope_freq_base(1e5)
    writer.add_rope_dimension_count(WIDTH)
    writer.add_token_list(["a", "b"])
    draw = np.random.default_rng(3)
    for layer in range(2):
        for name, kind in (("attn_q", Kind.Q4_1), ("attn_k", Kind.Q8_0), ("attn_v", Kind.F32)):
            weights = draw.normal(size=(HEADS * WIDTH, MODEL)).astype(np.float32)
            writer.add_tensor(f"blk.{layer}.{name}.weight", quantize(weights, kind), raw_dtype=kind)
    writer.add_tensor("output_norm.weight", draw.normal(size=7).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.fixture
def edit(v8, small, tmp_path):
    """Return a function that edits the small file in the page's way and returns the path of the result."""

    def make(change):
        content = json.dumps(base64.b64encode(small.read_bytes()).decode())
        answer = v8.engine.eval(f"changed({content}, {json.dumps(change)})").get()
        path = tmp_path / "edited.gguf"
        path.write_bytes(base64.b64decode(answer))
        return path

    return make


def numbers(path, name):
    """Return a tensor's numbers, (rows, columns)."""
    tensor = read_header(path).tensors[name]
    kind, columns = Kind(tensor.kind), tensor.shape[-1]
    bytes_of_row = {Kind.F32: 4 * columns, Kind.Q4_1: columns // 32 * 20, Kind.Q8_0: columns // 32 * 34}[kind]
    rows = int(np.prod(tensor.shape[:-1]))
    data = np.frombuffer(path.read_bytes(), np.uint8, rows * bytes_of_row, tensor.start)
    return dequantize(data.reshape(rows, bytes_of_row), kind)


def test_no_edit_returns_the_file_itself(edit, small):
    assert edit({}).read_bytes() == small.read_bytes()


def test_factors_are_added_after_everything_else(edit, small):
    factors = [1e9] * 8 + [1.0] * 20 + [0.5, 0.25, 3.0, 1 / 3]
    path = edit({"factors": factors})
    before, after = read_header(small), read_header(path)
    assert read_factors(path, after, "rope_freqs.weight").tolist() == np.float32(factors).tolist()
    assert list(after.tensors) == [*before.tensors, "rope_freqs.weight"]
    assert after.values == before.values
    assert all(tensor.start % 32 == 0 for tensor in after.tensors.values())
    for name in before.tensors:
        assert np.array_equal(numbers(path, name), numbers(small, name))


def test_a_renamed_key_is_lost_and_nothing_moves(edit, small):
    path = edit({"forget": "llama.rope.freq_base"})
    before, after = read_header(small), read_header(path)
    assert before.values.keys() - after.values.keys() == {"llama.rope.freq_base"}
    assert after.tensors == before.tensors
    assert path.stat().st_size == small.stat().st_size


def test_rows_of_q_and_k_move_to_the_other_layout_bit_by_bit(edit, small):
    path = edit({"permute": True})
    for layer in range(2):
        for name in ("attn_q", "attn_k"):
            was, found = (numbers(each, f"blk.{layer}.{name}.weight") for each in (small, path))
            assert np.array_equal(found, convert_projection(was, HEADS, to="interleaved"))
            assert not np.array_equal(found, was)
        values = f"blk.{layer}.attn_v.weight"
        assert np.array_equal(numbers(path, values), numbers(small, values))
    assert np.array_equal(numbers(path, "output_norm.weight"), numbers(small, "output_norm.weight"))


def test_edits_join(edit, small):
    path = edit({"factors": [2.0] * 32, "forget": "llama.rope.freq_base", "permute": True})
    assert set(read_factors(path, read_header(path), "rope_freqs.weight")) == {2.0}
    assert "llama.rope.freq_base" not in read_header(path).values
    name = "blk.1.attn_k.weight"
    assert np.array_equal(
        numbers(path, name), convert_projection(numbers(small, name), HEADS, to="interleaved")
    )


def test_a_key_that_is_not_there_is_named(v8, small):
    content = json.dumps(base64.b64encode(small.read_bytes()).decode())
    told = v8.engine.eval(
        f"changed({content}, {{forget: 'llama.nope'}}).catch((error) => error.message)"
    ).get()
    assert told == "The file has no key llama.nope."


@pytest.fixture(scope="module")
def tokenizers(v8):
    """Return the tokenizer of the page, a name in its scope, and that of Python, for SmolLM2's file."""
    header = read_header(find_weights(), keep_long=True)
    lists = json.dumps([header.values[f"tokenizer.ggml.{key}"] for key in ("tokens", "merges")])
    v8.engine.eval(f"globalThis.tokenize = makeTokenizer(...{lists}); 0")
    return make_tokenizer(header)


@pytest.mark.parametrize("text", TEXTS)
def test_the_page_splits_a_text_as_python_does(v8, tokenizers, text):
    found = v8.answer([("(text) => pieces(text).flatMap((piece) => tokenize(piece))", [text])])
    assert found == [tokenizers.encode(text).ids]


def test_a_text_begins_with_its_first_piece(v8, tokenizers):
    text = "Unbelievable rice, 12 grains"
    found = v8.answer([("(text) => begun(text, tokenize)", [text])])[0]
    whole = tokenizers.encode(text).ids
    assert found["first"] == "Unbelievable"
    first = tokenizers.encode(found["first"]).ids
    assert len(first) > 1
    assert [*first, *found["ids"]] == whole


def test_perplexity_is_that_of_all_losses_and_of_each_part(v8):
    losses = np.random.default_rng(5).uniform(0.1, 6, 83)
    whole, parts = v8.answer([("perplexity", [losses]), ("byPlace", [losses, 8])])
    assert whole == pytest.approx(np.exp(losses.mean()), rel=1e-12)
    assert [(part["first"], part["last"]) for part in parts][::7] == [(1, 11), (78, 83)]
    for part in parts:
        inside = losses[int(part["first"]) - 1 : int(part["last"])]
        assert part["perplexity"] == pytest.approx(np.exp(inside.mean()), rel=1e-12)


def test_the_note_under_the_table_says_its_last_row(v8):
    told = v8.answer([("meaning", [[np.log(12.5)] * 5, [np.log(2000)] * 5])])[0]
    assert "12.5 as trained and 2000 with the change, 160 times as many" in told


TEXT = 'It\'s "rice":\nwash it first, then'


def test_every_choice_has_its_lines(v8):
    names = v8.evaluate("Object.keys(CHOICES)")
    assert len(names) == 9
    call = """(name, text) => {
        const choice = chosen(name, Array(32).fill(1));
        return [python(choice, text, 24), command(name, choice, text, 24)];
    }"""
    for code, line in v8.answer([(call, [name, TEXT]) for name in names]):
        (given,) = (node.value.value for node in ast.walk(ast.parse(code)) if text_of(node))
        assert given == TEXT
        assert shlex.split(line)[-1] == TEXT


def text_of(node):
    """Return whether a statement gives the text."""
    return isinstance(node, ast.Assign) and node.targets[0].id == "text"


def test_a_hand_at_zero_is_held_and_another_turns_at_its_speed(v8):
    speeds = [0, 0.5, 2.0] + [1.0] * 29
    edit = v8.answer([('(speeds) => chosen("hands", speeds)', [speeds])])[0]["edit"]
    assert edit["factors"][:4] == [1e9, 2.0, 0.5, 1.0]
