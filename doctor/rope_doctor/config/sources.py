r"""Find a file by name: a path, "-" for standard input, a pipe, or a model on the Hugging Face Hub.

A pipe is copied into a temporary file. Reading stops after `SILENCE` seconds without data, after `LONGEST` seconds
in total, or after `MOST_BYTES`, so a command always terminates.
"""

import contextlib
import os
import re
import sys
import tempfile
import threading
import time
from functools import cache
from pathlib import Path
from typing import BinaryIO

from rope_doctor.config.values import config_error

SILENCE, LONGEST = 4.0, 60.0  # maximum number of seconds without data, and in total
MOST_BYTES = 64 * 2**20  # four times the header size of a GGUF with a large vocabulary
MOST_JSON = 8 * 2**20
HUB_ID = re.compile(r"(?P<repo>[\w.-]+/[\w.-]+)(?:@(?P<revision>[\w./-]+))?")
LOCAL = (".json", ".gguf", ".safetensors", ".bin", ".txt")
OF_WEIGHTS = ["*.safetensors", "*.safetensors.index.json", "*.bin", "*.bin.index.json", "config.json"]


def on_disk(name: str | Path, *, weights: bool = False) -> Path:
    """Return the path of a regular file or folder with the content of `name`.

    For a model on the Hub, its config.json is downloaded, and with `weights` its weights as well. ConfigError if a
    pipe is silent or too long, or if the Hub does not respond; OSError if the path cannot be opened.
    """
    path = Path(name)
    if str(name) == "-":
        return _copied("-", lambda: sys.stdin.buffer)
    if path.is_file() or path.is_dir():
        return path
    if path.exists():
        return _copied(str(name), lambda: path.open("rb", buffering=0))
    match = HUB_ID.fullmatch(str(name))
    if match and path.suffix not in LOCAL and not path.parent.exists():
        return _fetched(match["repo"], match["revision"], weights)
    return path


def _fetched(repo: str, revision: str | None, weights: bool) -> Path:
    try:
        import huggingface_hub
    except ImportError:
        detail = "there is no such path, and huggingface_hub, which would fetch a model, is not installed"
        raise config_error("not fetched", repo, detail=detail) from None
    try:
        if weights:
            folder = huggingface_hub.snapshot_download(
                repo, revision=revision, allow_patterns=OF_WEIGHTS, etag_timeout=SILENCE
            )
            return Path(folder)
        return Path(
            huggingface_hub.hf_hub_download(repo, "config.json", revision=revision, etag_timeout=SILENCE)
        )
    except Exception as error:  # the network, the Hub or its cache may raise any exception
        said = next(iter(str(error).strip().splitlines()), "")[:200]
        raise config_error("not fetched", repo, detail=f"{type(error).__name__}: {said}") from None


def _copied(name: str, opened: object) -> Path:
    """Return a temporary file with the content of a stream."""
    copy = _Copy(name, Path(tempfile.mkstemp(dir=_folder())[1]), opened)
    copy.run()
    return copy.path


@cache
def _folder() -> str:
    made = tempfile.TemporaryDirectory(prefix="rope-doctor-")
    _KEPT.append(made)  # deleted when the process ends
    return made.name


_KEPT: list[tempfile.TemporaryDirectory[str]] = []


class _Copy:
    """A copy of a stream in a file, made by a thread because opening a pipe may block forever."""

    def __init__(self, name: str, path: Path, opened: object) -> None:
        self.name, self.path, self.opened = name, path, opened
        self.size, self.begun = 0, time.monotonic()
        self.last, self.problem = self.begun, ""
        self.full = False

    def run(self) -> None:
        reader = threading.Thread(target=self.read, daemon=True)
        reader.start()
        while reader.is_alive():
            reader.join(0.05)
            now = time.monotonic()
            if now - self.last > SILENCE:
                raise self.error(f"nothing arrived for {SILENCE:.0f} seconds")
            if now - self.begun > LONGEST:
                raise self.error(f"it did not end within {LONGEST:.0f} seconds")
        if self.problem:
            raise self.error(self.problem)

    def read(self) -> None:
        try:
            source: BinaryIO = self.opened()  # type: ignore[operator]
            closing = contextlib.nullcontext() if self.name == "-" else source
            with closing, self.path.open("wb") as file:
                while data := os.read(source.fileno(), 2**16):
                    self.last, self.size = time.monotonic(), self.size + len(data)
                    file.write(data)
                    if self.size > MOST_JSON and not self.gguf(file):
                        self.problem = f"it has more than {MOST_JSON // 2**20} MiB and is not a GGUF"
                        return
                    if self.size > MOST_BYTES:
                        return
        except (OSError, ValueError, AttributeError) as error:
            self.problem = str(error)

    def gguf(self, file: BinaryIO) -> bool:
        file.flush()
        with self.path.open("rb") as written:
            return written.read(4) == b"GGUF"

    def error(self, detail: str) -> Exception:
        name = "standard input" if self.name == "-" else self.name
        return config_error("not read to its end", name, detail=detail)
