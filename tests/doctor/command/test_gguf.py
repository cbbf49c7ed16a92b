"""A GGUF's header is read as the gguf package writes it, and never trusted."""

import json
import math
import os
import random
import struct
import time

import gguf
import numpy as np
import pytest

from rope_doctor.config import ConfigError, preset
from rope_doctor.config.files import read_file
from rope_doctor.config.gguf import read_header
from rope_doctor.config.gguf_rotation import FACTS
from rope_edu import inv_freq

from .written import written

LLAMA = preset("Llama 3.1 8B").config
TEXT, WHOLE, ARRAY = 8, 4, 9


def text(words):
    return struct.pack("<Q", len(words.encode())) + words.encode()


def headed(n_keys, body=b"", *, version=3, n_tensors=0, magic=b"GGUF"):
    return magic + struct.pack("<IQQ", version, n_tensors, n_keys) + body


def key(name, kind, value):
    return text(name) + struct.pack("<I", kind) + value


ARCH = key("general.architecture", TEXT, text("llama"))


def test_keys_and_tensors_are_those_of_the_packages_own_reader(tmp_path):
    path = written(tmp_path / "a.gguf", LLAMA)
    ours, theirs = read_header(path), gguf.GGUFReader(path)
    for name, field in theirs.fields.items():
        if name.startswith("llama."):
            assert ours.values[name] == field.contents()
    assert ours.values["tokenizer.ggml.tokens"] is None  # skipped, not kept
    for tensor in theirs.tensors:
        assert ours.tensors[tensor.name].start == tensor.data_offset
        assert ours.tensors[tensor.name].shape == tuple(tensor.shape.tolist()[::-1])


def test_every_architecture_of_the_package_is_known():
    known = FACTS["interleaved"] + FACTS["half_split"] + FACTS["does_not_rotate"]
    assert set(gguf.MODEL_ARCH_NAMES.values()) <= set(known)
    assert len(known) == len(set(known))
    for name in FACTS.keys() - {"source"}:
        assert set(FACTS[name]) <= set(known)


def test_every_architecture_whose_rows_are_permuted_has_its_converter_named():
    named = [
        arch
        for archs in FACTS["source"]["rows_permuted"].values()
        if isinstance(archs, list)
        for arch in archs
    ]
    assert sorted(named) == sorted(FACTS["rows_permuted"])
    assert set(FACTS["rows_permuted"]) <= set(FACTS["interleaved"])
    assert FACTS.keys() - {"source"} <= {name for each in FACTS["source"] for name in each.split(", ")}


def test_llama_4_rotates_all_layers_if_its_window_is_0(tmp_path):
    config = preset("Llama 4 (defaults)").config
    kinds = [
        [each.layer_type for each in read_file(written(tmp_path / "a.gguf", config, window=window)).readings]
        for window in (None, 8192, 0)
    ]
    assert kinds == [[None, "nope"], [None, "nope"], [None]]


@pytest.mark.parametrize("arch", ["gemma3", "modern-bert", "gemma4"])
def test_sliding_layers_are_not_stretched(arch, tmp_path):
    writer = gguf.GGUFWriter(tmp_path / "a.gguf", arch)
    writer.add_key_length(8)
    writer.add_sliding_window(128)
    writer.add_rope_freq_base(160_000.0)
    writer.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
    writer.add_rope_scaling_factor(4.0)
    for step in ("write_header_to_file", "write_kv_data_to_file", "write_tensors_to_file", "close"):
        getattr(writer, step)()
    sliding = read_file(tmp_path / "a.gguf").of("sliding_attention").spec
    np.testing.assert_allclose(sliding.inv_freq, inv_freq(8, 10_000.0))


@pytest.mark.parametrize(
    ("arch", "stated", "factor"),
    [
        ("deepseek2", 0.0707, 1.0),  # a tenth, and mscale is the same
        ("mistral3", 0.707, (0.1 * math.log(4) + 1) / (0.0707 * math.log(4) + 1)),
        ("mistral4", 0.0707, (0.1 * math.log(4) + 1) / (0.0707 * math.log(4) + 1)),
        ("glm-dsa", 0.0707, 0.1 * math.log(4) + 1),  # never read
    ],
)
def test_the_multiplier_of_yarn_is_read_as_each_architecture_reads_it(arch, stated, factor, tmp_path):
    writer = gguf.GGUFWriter(tmp_path / "a.gguf", arch)
    writer.add_key_length(8)
    writer.add_rope_scaling_type(gguf.RopeScalingType.YARN)
    writer.add_rope_scaling_factor(4.0)
    writer.add_rope_scaling_orig_ctx_len(4096)
    writer.add_rope_scaling_yarn_log_mul(stated)
    for step in ("write_header_to_file", "write_kv_data_to_file", "write_tensors_to_file", "close"):
        getattr(writer, step)()
    assert read_file(tmp_path / "a.gguf").readings[0].spec.attention_factor == pytest.approx(factor)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"GGUF", "it is truncated"),
        (headed(0, version=1), "its version is 1"),
        (headed(0, version=3 << 24), "little-endian"),
        (headed(0), "general.architecture is missing"),
        (headed(2**63), "more than a header has"),
        (headed(0, n_tensors=2**40), "more than a header has"),
        (headed(1, struct.pack("<Q", 2**62)), "too large"),
        (headed(1, key("a", 13, b"")), "unknown type 13"),
        (headed(1, key("a", ARRAY, struct.pack("<IQ", ARRAY, 1))), "elements of the type 9"),
        (headed(1, key("a", ARRAY, struct.pack("<IQ", WHOLE, 2**61))), "too large"),
        (headed(1, key("a", ARRAY, struct.pack("<IQ", TEXT, 2**40))), "more than a vocabulary has"),
        (headed(1, key("general.alignment", WHOLE, struct.pack("<I", 0))), "general.alignment must be"),
        (headed(1, ARCH), "llama.attention.key_length is missing"),
        (headed(1, key("general.architecture", TEXT, text("mamba"))), "does not rotate"),
        (headed(1, key("general.architecture", WHOLE, struct.pack("<I", 7))), "architecture is missing"),
    ],
)
def test_a_broken_header_gets_a_sentence(tmp_path, content, sentence):
    (tmp_path / "a.gguf").write_bytes(content)
    with pytest.raises(ConfigError, match=sentence):
        read_file(tmp_path / "a.gguf")


def array(kind, length, width=1):
    return struct.pack("<IQ", kind, length) + bytes(length * width)


def numbered(count, kind, value):
    return b"".join(key(f"{n}", kind, value) for n in range(count))


def placed(axes):
    return text("a") + struct.pack(f"<I{axes}QIQ", axes, *[1] * axes, 0, 0)


def aligned(number):
    return headed(1, key("general.alignment", WHOLE, struct.pack("<I", number)))


LIMITS = [  # a header with a number in it, the last number that is read, the step beyond, and its sentence
    (lambda n: headed(n), 200_000, 1, "more than a header has"),
    (lambda n: headed(1, n_tensors=n), 199_999, 1, "more than a header has"),
    (
        lambda n: headed(n, numbered(n, ARRAY, array(10, 16_384, 8))),
        63,
        1,
        "too large",
    ),  # 128 KiB each, 8 MiB
    (lambda n: headed(1, key("a", ARRAY, array(TEXT, n))), 2_000_000, 1, "more than a vocabulary has"),
    (lambda n: headed(0, placed(n), n_tensors=1), 8, 1, "a tensor has"),
    (aligned, 65_536, 1, "general.alignment must be"),
    (aligned, 1, -1, "general.alignment must be"),
    (lambda n: headed(0, version=n), 3, 1, "its version is"),
    (lambda n: headed(0, version=n), 2, -1, "its version is"),
]


@pytest.mark.parametrize(("made", "last", "step", "sentence"), LIMITS)
def test_a_header_is_read_up_to_its_limits_and_not_one_beyond(tmp_path, made, last, step, sentence):
    path = tmp_path / "a.gguf"
    for number in (last, last + step):
        path.write_bytes(made(number))
        try:
            read_header(path)
            found = ""
        except ConfigError as error:
            found = str(error)  # within the limit it may be cut
        assert (sentence in found) == (number != last), found


def test_every_kind_of_number_is_read_alone_and_in_a_list_and_long_ones_are_skipped(tmp_path):
    letters = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
    body, expected = b"", {}
    for kind, letter in letters.items():
        values = [True, False] if letter == "?" else [1, 7 if letter.isupper() else -7]
        body += key(f"one {kind}", kind, struct.pack(f"<{letter}", values[1]))
        body += key(f"two {kind}", ARRAY, struct.pack(f"<IQ2{letter}", kind, 2, *values))
        expected |= {f"one {kind}": values[1], f"two {kind}": values}
    for name, length in (("kept", 16_384), ("skipped", 16_385)):
        body += key(name, ARRAY, array(0, length)) + key(f"{name} text", TEXT, text("x" * length))
    expected |= {"kept": [0] * 16_384, "skipped": None, "kept text": "x" * 16_384, "skipped text": ""}
    (tmp_path / "a.gguf").write_bytes(headed(len(expected), body))
    assert read_header(tmp_path / "a.gguf").values == expected


@pytest.mark.parametrize(("heads", "width"), [([4, 0, 4], 16), ([0, 8, 0], 8), (8, 8)])
def test_a_value_listed_by_layer_is_the_one_that_is_not_0(heads, width, tmp_path):
    writer = gguf.GGUFWriter(tmp_path / "a.gguf", "llama")
    writer.add_embedding_length(64)
    writer.add_head_count(heads)
    for step in ("write_header_to_file", "write_kv_data_to_file", "write_tensors_to_file", "close"):
        getattr(writer, step)()
    assert read_file(tmp_path / "a.gguf").readings[0].spec.head_dim == width


def test_values_that_differ_by_layer_and_lists_of_0_are_refused(tmp_path):
    for heads, sentence in (([4, 8], "head_count"), ([0, 0], "key_length is missing")):
        writer = gguf.GGUFWriter(tmp_path / "a.gguf", "llama")
        writer.add_embedding_length(64)
        writer.add_head_count(heads)
        for step in ("write_header_to_file", "write_kv_data_to_file", "write_tensors_to_file", "close"):
            getattr(writer, step)()
        with pytest.raises(ConfigError, match=sentence):
            read_file(tmp_path / "a.gguf")


@pytest.mark.parametrize("count", [0, 1, 6, 7])
def test_keys_of_the_rotation_that_are_not_read_are_named_and_at_most_six(count, tmp_path):
    writer = gguf.GGUFWriter(tmp_path / "a.gguf", "llama")
    writer.add_key_length(8)
    for n in range(count):
        writer.add_float32(f"llama.rope.strange_{n}", 1.0)
    for step in ("write_header_to_file", "write_kv_data_to_file", "write_tensors_to_file", "close"):
        getattr(writer, step)()
    unread = [each for each in read_file(tmp_path / "a.gguf").readings[0].remarks if each.kind == "not read"]
    assert len(unread) == (count > 0)
    for remark in unread:
        assert [f"strange_{n}" in remark.text for n in range(count)] == [n < 6 for n in range(count)]


def test_a_value_out_of_range_is_named_by_its_key(tmp_path):
    path = written(tmp_path / "a.gguf", LLAMA, base=0.5)
    with pytest.raises(ConfigError, match=r"llama\.rope\.freq_base must be a number above 1"):
        read_file(path)


def test_a_file_of_ten_gigabytes_is_read_by_its_header_alone(tmp_path):
    path = written(tmp_path / "a.gguf", LLAMA)
    os.truncate(path, 10**10)  # a hole, which needs no room on the disk
    begun = time.perf_counter()
    assert read_file(path).readings[0].base == 500_000.0
    assert time.perf_counter() - begun < 5


def test_a_header_that_claims_the_whole_file_is_left_early(tmp_path):
    path = tmp_path / "a.gguf"
    path.write_bytes(headed(100_000, key("a", ARRAY, struct.pack("<IQ", 0, 16_384))))
    os.truncate(path, 10**10)
    with pytest.raises(ConfigError):
        read_file(path)


@pytest.mark.long
def test_a_thousand_broken_files_get_a_sentence_or_a_reading(tmp_path):
    draw = random.Random(0)
    whole = [
        written(tmp_path / f"{n}.gguf", preset(name).config).read_bytes() for n, name in enumerate(NAMES)
    ]
    whole = [each.replace(b"a token of any length", b"t" * 21)[:60_000] for each in whole]
    whole += [json.dumps(preset(name).config).encode() for name in NAMES]
    path, slowest, sentences = tmp_path / "broken", 0.0, []
    for _ in range(1000):
        content = bytearray(draw.choice(whole))
        if draw.random() < 0.5:
            del content[draw.randrange(len(content)) :]
        for _ in range(draw.choice((0, 1, 3, 20))):
            near = draw.randrange(min(len(content), 1200) or 1)
            content[near : near + 1] = bytes(draw.randrange(256) for _ in range(draw.choice((0, 1, 1, 8))))
        path.write_bytes(content)
        begun = time.perf_counter()
        try:
            read_file(path)
        except (ValueError, OSError) as error:
            sentences.append(str(error))
        slowest = max(slowest, time.perf_counter() - begun)
    assert slowest < 10
    assert 0 < len(sentences) < 1000
    assert all(5 < len(sentence) < 2000 for sentence in sentences)


NAMES = ("Llama 3.1 8B", "Gemma 3 4B", "DeepSeek-V3", "Qwen2.5-VL 3B")


def test_factors_must_be_one_list_of_numbers_above_zero(tmp_path):
    def factors(values):
        writer = gguf.GGUFWriter(tmp_path / "a.gguf", "llama")
        writer.add_key_length(8)
        writer.add_tensor("rope_freqs.weight", np.array(values, dtype=np.float32))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        return read_file(tmp_path / "a.gguf").readings[0].spec.inv_freq

    np.testing.assert_allclose(factors([1, 1, 2, 8]), [1, 0.1, 0.005, 0.001 / 8])
    for wrong in ([1, 1], [1, 1, 0, 1], [1, 1, np.nan, 1], [1, 1, -1, 1]):
        with pytest.raises(ConfigError, match="rope_freqs"):
            factors(wrong)
    with pytest.raises(ConfigError, match="one list of float32"):
        factors([[1, 1], [1, 1]])


def test_long_and_short_factors_are_read_for_the_length_of_the_text(tmp_path):
    writer = gguf.GGUFWriter(tmp_path / "a.gguf", "phi3")
    writer.add_key_length(4)
    writer.add_context_length(131_072)
    writer.add_rope_scaling_orig_ctx_len(4096)
    writer.add_rope_scaling_attn_factors(1.19)
    for name, values in (("long", [2, 4]), ("short", [1, 1.1])):
        writer.add_tensor(f"rope_factors_{name}.weight", np.array(values, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    short, long = (read_file(tmp_path / "a.gguf", length).readings[0].spec for length in (None, 5000))
    np.testing.assert_allclose(short.inv_freq, [1, 0.01 / 1.1])
    np.testing.assert_allclose(long.inv_freq, [0.5, 0.01 / 4])
    assert short.attention_factor == long.attention_factor == 1.19


def test_a_vocabulary_is_kept_only_when_asked_for(tmp_path):
    path = tmp_path / "model.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_token_list(["a", "bc"])
    writer.add_token_types(list(range(20_000)))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    keys = "tokenizer.ggml.tokens", "tokenizer.ggml.token_type"
    assert [read_header(path).values[key] for key in keys] == [None, None]
    kept = read_header(path, keep_long=True).values
    assert [kept[key] for key in keys] == [["a", "bc"], list(range(20_000))]
