r"""The header of a GGUF file: its keys and the places of its tensors, read without trusting any of it.

The weights are never read. Lengths are checked against the size of the file before anything is read or skipped;
arrays longer than `LONGEST` are skipped, and what is no GGUF, cut or too large gets a sentence.
"""

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from rope_doctor.config.values import config_error

LONGEST = 16_384  # elements of an array that is kept, bytes of a text
KEPT = 8 * 2**20  # bytes of what is kept
ENTRIES = 200_000  # keys and tensors
TEXTS = 2_000_000  # in arrays, such as the tokens of a vocabulary
NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
TEXT, ARRAY, FLOAT32 = 8, 9, 6


@dataclass(frozen=True)
class Tensor:
    """A tensor's shape, slowest axis first, its ggml type (0 is float32), and where its data begin."""

    shape: tuple[int, ...]
    kind: int
    start: int


@dataclass(frozen=True)
class Header:
    """Keys with their values, tensors by name; arrays that were too long to keep are None."""

    values: dict[str, Any]
    tensors: dict[str, Tensor]


def is_gguf(path: Path) -> bool:
    """Tell whether a file begins as a GGUF does."""
    with path.open("rb") as file:
        return file.read(4) == b"GGUF"


def read_header(path: Path) -> Header:
    """Return the header of a GGUF file; ConfigError says what is wrong with it."""
    with path.open("rb") as file:
        return _Reader(file, path).header()


def read_factors(path: Path, header: Header, name: str) -> np.ndarray | None:
    """Return a small float32 tensor, such as the factors in "rope_freqs.weight"; None if there is none."""
    tensor = header.tensors.get(name)
    if tensor is None:
        return None
    if tensor.kind != 0 or len(tensor.shape) != 1 or not 0 < tensor.shape[0] <= LONGEST:
        raise config_error("not a GGUF", name, detail="its factors must be one list of float32")
    with path.open("rb") as file:
        reader = _Reader(file, path)
        file.seek(min(tensor.start, reader.size))
        return np.frombuffer(reader.take(4 * tensor.shape[0]), dtype="<f4")


class _Reader:
    """Reads from where the file is, and never more than it holds."""

    def __init__(self, file: BinaryIO, path: Path) -> None:
        self.file, self.path = file, path
        self.size = path.stat().st_size
        self.kept = self.texts_seen = 0

    def header(self) -> Header:
        if self.take(4) != b"GGUF":
            raise self.error("it does not begin with GGUF")
        version = self.number("I")
        if version not in (2, 3):
            raise self.error(f"its version is {version}, and 2 and 3 are read, in little-endian order")
        n_tensors, n_keys = self.number("Q"), self.number("Q")
        if n_tensors + n_keys > ENTRIES:
            raise self.error(f"it states {n_tensors} tensors and {n_keys} keys, more than a header has")
        values = {self.text(): self.value(self.number("I")) for _ in range(n_keys)}
        places = {self.text(): self.place() for _ in range(n_tensors)}
        align = values.get("general.alignment", 32)
        if not isinstance(align, int) or not 0 < align <= 65_536:
            raise self.error("its general.alignment must be a whole number from 1 to 65536")
        data = -(-self.file.tell() // align) * align
        return Header(
            values, {name: Tensor(shape, kind, data + at) for name, (shape, kind, at) in places.items()}
        )

    def place(self) -> tuple[tuple[int, ...], int, int]:
        axes = self.number("I")
        if axes > 8:
            raise self.error(f"a tensor has {axes} axes")
        shape = tuple(self.number("Q") for _ in range(axes))
        return shape[::-1], self.number("I"), self.number("Q")

    def value(self, kind: int) -> Any:
        if kind == TEXT:
            return self.text()
        if kind in NUMBERS:
            number = self.number(NUMBERS[kind])
            return shortest(number) if kind == FLOAT32 else number
        if kind != ARRAY:
            raise self.error(f"a value has the unknown type {kind}")
        kind, length = self.number("I"), self.number("Q")
        if kind == TEXT:
            return self.texts(length)
        if kind not in NUMBERS:
            raise self.error(f"an array has elements of the type {kind}")
        width = struct.calcsize(NUMBERS[kind])
        if length > LONGEST:
            return self.skip(length * width)
        return list(struct.unpack(f"<{length}{NUMBERS[kind]}", self.keep(length * width)))

    def texts(self, length: int) -> None:
        """Skip an array of texts: no statement about a rotation is one."""
        self.texts_seen += length
        if self.texts_seen > TEXTS:
            raise self.error(f"it states {self.texts_seen} texts, more than a vocabulary has")
        for _ in range(length):
            self.skip(self.number("Q"))

    def text(self) -> str:
        length = self.number("Q")
        if length > LONGEST:
            self.skip(length)
            return ""
        return self.keep(length).decode("utf-8", errors="replace")

    def number(self, code: str) -> Any:
        return struct.unpack(f"<{code}", self.take(struct.calcsize(code)))[0]

    def take(self, length: int) -> bytes:
        found = self.file.read(length)
        if len(found) < length:
            raise self.error("it is cut: it ends before its header does")
        return found

    def skip(self, length: int) -> None:
        if length > self.size - self.file.tell():
            raise self.error("it is cut, or a length in it is too large")
        self.file.seek(length, 1)

    def keep(self, length: int) -> bytes:
        self.kept += length
        if self.kept > KEPT:
            raise self.error("its header is too large")
        return self.take(length)

    def error(self, detail: str) -> Exception:
        return config_error("not a GGUF", str(self.path), detail=detail)


def shortest(number: float) -> float:
    """Return the shortest decimal that float32 keeps as this number: 0.1, not 0.10000000149.

    >>> shortest(0.10000000149), shortest(1e6)
    (0.1, 1000000.0)
    """
    return float(str(np.float32(number)))
