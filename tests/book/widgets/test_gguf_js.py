"""The page reads a GGUF header as Python does, and explains a broken one in a sentence."""

import base64
import importlib.util
import json
import random
import struct
from pathlib import Path

import numpy as np
import pytest

from rope_doctor.config import preset
from rope_doctor.config.gguf import read_header, shortest

from .v8 import scripts

WRITTEN = importlib.util.spec_from_file_location(
    "written_gguf", Path(__file__).parents[2] / "doctor" / "command" / "written.py"
)
gguf_files = importlib.util.module_from_spec(WRITTEN)
WRITTEN.loader.exec_module(gguf_files)
DECODER = """
globalThis.TextDecoder ??= class { decode(bytes) { return String.fromCharCode(...bytes); } };
const bytesOf = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer;
"""
READ = """((text, size) => {
    const bytes = bytesOf(text);
    try {
        return header(bytes, size ?? bytes.byteLength);
    } catch (error) {
        return error instanceof Cut ? "more" : error instanceof RangeError ? "range" : error.message;
    }
})"""
NAMES = ("Llama 3.1 8B", "Gemma 3 4B", "DeepSeek-V3", "Qwen2.5-VL 3B")


@pytest.fixture(scope="module")
def read():
    """Return the page's reading of a file's bytes, or of the first of them."""
    with scripts("lib/gguf_bytes") as v8:
        v8.engine.eval(DECODER)
        yield lambda content, size=None: v8.evaluate(
            f"{READ}({json.dumps(base64.b64encode(content).decode())}, {json.dumps(size)})"
        )


@pytest.mark.parametrize("name", NAMES)
def test_keys_and_places_of_tensors_are_those_that_python_reads(read, name, tmp_path):
    path = gguf_files.written(tmp_path / "a.gguf", preset(name).config)
    found, ours = read(path.read_bytes()), read_header(path)
    assert found["values"] == json.loads(json.dumps(ours.values), parse_int=float)
    assert {each["name"]: each["start"] for each in found["tensors"]} == {
        name: tensor.start for name, tensor in ours.tensors.items()
    }
    assert read(path.read_bytes()[:200], 10**10) == "more"


def test_numbers_of_float32_are_the_shortest_that_keep_them(read):
    draw = np.random.default_rng(7)
    values = draw.uniform(-1, 1, 500) * 10.0 ** draw.integers(-20, 20, 500)
    kept = [float(np.float32(value)) for value in [*values, 0.1, 1e6, 16_777_217, 0.0]]
    with scripts("lib/gguf_bytes") as v8:
        assert v8.answer([("shortest", [value]) for value in kept]) == [shortest(value) for value in kept]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"GGML" + bytes(20), "it does not begin with GGUF"),
        (b"GGUF" + struct.pack("<IQQ", 9, 0, 0), "its version is 9"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 2**40), "more than a header has"),
        (b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 2**62), "too large"),
        (b"GGUF" + struct.pack("<IQQQI", 3, 0, 1, 0, 77), "unknown type 77"),
        (b"GGUF" + struct.pack("<IQQQIIQ", 3, 0, 1, 0, 9, 8, 2**40), "more than a vocabulary has"),
    ],
)
def test_a_broken_header_gets_a_sentence(read, content, sentence):
    assert sentence in read(content)


def test_five_hundred_broken_headers_get_a_sentence_or_are_read(read, tmp_path):
    draw = random.Random(0)
    whole = gguf_files.written(tmp_path / "a.gguf", preset("Llama 3.1 8B").config).read_bytes()
    whole = whole.replace(b"a token of any length", b"t" * 21)[:40_000]
    for _ in range(500):
        content = bytearray(whole)
        if draw.random() < 0.5:
            del content[draw.randrange(len(content)) :]
        for _ in range(draw.choice((0, 1, 3, 20))):
            near = draw.randrange(min(len(content), 1200) or 1)
            content[near : near + 1] = bytes(draw.randrange(256) for _ in range(draw.choice((0, 1, 1, 8))))
        found = read(bytes(content))
        assert found != "range"
        assert isinstance(found, dict) or 3 < len(found) < 300
