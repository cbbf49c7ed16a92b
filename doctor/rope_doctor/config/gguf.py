r"""Read the keys and tensor offsets in the header of a GGUF file, without trusting the file.

The weights are never read. Lengths are checked against the size of the file before anything is read or skipped.
Arrays longer than `MAX_LENGTH` are skipped by default. Raises ConfigError if a file is truncated, too large or not
a GGUF.
"""

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from rope_doctor.config.values import config_error

MAX_LENGTH = 16_384  # longest array (in elements) or string (in bytes) to keep
MAX_KEPT = 8 * 2**20  # maximum number of bytes to keep in total
MAX_ENTRIES = 200_000  # maximum number of keys and tensors combined
MAX_STRINGS = 2_000_000  # maximum number of strings in arrays, such as a vocabulary's tokens
NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
STRING, ARRAY, FLOAT32 = 8, 9, 6


@dataclass(frozen=True)
class Tensor:
    """The shape of a tensor, slowest axis first, its ggml type (0 is float32), and the offset of its data."""

    shape: tuple[int, ...]
    kind: int
    start: int


@dataclass(frozen=True)
class Header:
    """The values in a header by key, and its tensors by name; skipped arrays are None."""

    values: dict[str, Any]
    tensors: dict[str, Tensor]


def is_gguf(path: Path) -> bool:
    """Return whether a file begins with the GGUF signature."""
    with path.open("rb") as file:
        return file.read(4) == b"GGUF"


def read_header(path: Path, *, keep_long: bool = False) -> Header:
    """Return the header of a GGUF file; if it is invalid, ConfigError gives the reason.

    String arrays, such as a vocabulary, and long numeric arrays are skipped unless `keep_long` is True.
    """
    with path.open("rb") as file:
        return _Reader(file, path, keep_long).header()


def read_factors(path: Path, header: Header, name: str) -> np.ndarray | None:
    """Return a small float32 tensor, such as "rope_freqs.weight", or None if the file does not contain it."""
    tensor = header.tensors.get(name)
    if tensor is None:
        return None
    if tensor.kind != 0 or len(tensor.shape) != 1 or not 0 < tensor.shape[0] <= MAX_LENGTH:
        raise config_error("not a GGUF", name, detail="its factors must be one list of float32")
    with path.open("rb") as file:
        reader = _Reader(file, path)
        file.seek(min(tensor.start, reader.size))
        return np.frombuffer(reader.take(4 * tensor.shape[0]), dtype="<f4")


class _Reader:
    """A reader that starts at the current offset of a file and does not read beyond its end."""

    def __init__(self, file: BinaryIO, path: Path, keep_long: bool = False) -> None:
        self.file, self.path, self.keep_long = file, path, keep_long
        self.size = path.stat().st_size
        self.kept = self.strings_seen = 0

    def header(self) -> Header:
        if self.take(4) != b"GGUF":
            raise self.error("it does not begin with GGUF")
        version = self.number("I")
        if version not in (2, 3):
            raise self.error(f"its version is {version}; only little-endian versions 2 and 3 can be read")
        n_tensors, n_keys = self.number("Q"), self.number("Q")
        if n_tensors + n_keys > MAX_ENTRIES:
            raise self.error(f"it states {n_tensors} tensors and {n_keys} keys, more than a header has")
        values = {self.string(): self.value(self.number("I")) for _ in range(n_keys)}
        places = {self.string(): self.place() for _ in range(n_tensors)}
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
        if kind == STRING:
            return self.string()
        if kind in NUMBERS:
            number = self.number(NUMBERS[kind])
            return shortest(number) if kind == FLOAT32 else number
        if kind != ARRAY:
            raise self.error(f"a value has the unknown type {kind}")
        kind, length = self.number("I"), self.number("Q")
        if kind == STRING:
            return self.strings(length)
        if kind not in NUMBERS:
            raise self.error(f"an array has elements of the type {kind}")
        width = struct.calcsize(NUMBERS[kind])
        if length > MAX_LENGTH and not self.keep_long:
            return self.skip(length * width)
        return list(struct.unpack(f"<{length}{NUMBERS[kind]}", self.keep(length * width)))

    def strings(self, length: int) -> list[str] | None:
        """Skip a string array, which cannot describe a rotation, or return it if `keep_long` is True."""
        self.strings_seen += length
        if self.strings_seen > MAX_STRINGS:
            raise self.error(f"it states {self.strings_seen} strings, more than a vocabulary has")
        if self.keep_long:
            return [self.string() for _ in range(length)]
        for _ in range(length):
            self.skip(self.number("Q"))
        return None

    def string(self) -> str:
        length = self.number("Q")
        if length > MAX_LENGTH:
            self.skip(length)
            return ""
        return self.keep(length).decode("utf-8", errors="replace")

    def number(self, code: str) -> Any:
        return struct.unpack(f"<{code}", self.take(struct.calcsize(code)))[0]

    def take(self, length: int) -> bytes:
        data = self.file.read(length)
        if len(data) < length:
            raise self.error("it is truncated: it ends within its header")
        return data

    def skip(self, length: int) -> None:
        if length > self.size - self.file.tell():
            raise self.error("it is truncated, or a length in it is too large")
        self.file.seek(length, 1)

    def keep(self, length: int) -> bytes:
        self.kept += length
        if self.kept > MAX_KEPT:
            raise self.error("its header is too large")
        return self.take(length)

    def error(self, detail: str) -> Exception:
        return config_error("not a GGUF", str(self.path), detail=detail)


def shortest(number: float) -> float:
    """Return the shortest decimal that rounds to the same float32 number, such as 0.1 for 0.10000000149.

    >>> shortest(0.10000000149), shortest(1e6)
    (0.1, 1000000.0)
    """
    return float(str(np.float32(number)))
