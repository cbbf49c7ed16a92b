r"""A checkpoint's tensors (safetensors or GGUF): their offsets, read from the headers, and their first columns.

Headers are not trusted: sizes are checked against the file before anything is read.
"""

import json
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rope_doctor.config.gguf import is_gguf, read_header

MAX_HEADER = 16 * 2**20  # bytes; parsing a header as JSON takes twenty times as much memory
MAX_ROWS = 2**18
WIDTHS = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}
# the formats we read, then common quantized formats
GGML = {0: "F32", 1: "F16", 28: "F64", 30: "BF16"}
GGML |= {2: "Q4_0", 3: "Q4_1", 6: "Q5_0", 7: "Q5_1", 8: "Q8_0", 39: "MXFP4"}
GGML |= {10: "Q2_K", 11: "Q3_K", 12: "Q4_K", 13: "Q5_K", 14: "Q6_K"}


@dataclass(frozen=True)
class Stored:
    """A tensor in a file: its format, its shape, and the offset of its data."""

    path: Path
    dtype: str
    shape: tuple[int, ...]
    start: int

    def columns(self, most: int) -> np.ndarray:
        """Return the first columns as float64, shape (rows, at most `most`); a bias counts as one column."""
        if self.dtype not in WIDTHS:
            read = ", ".join(WIDTHS)
            raise ValueError(f"{self.path} has numbers in the format {self.dtype}; only {read} can be read")
        if not 1 <= len(self.shape) <= 2 or not math.prod(self.shape):
            raise ValueError(f"{self.path} has a projection of shape {self.shape}; it must have 1 or 2 axes")
        if self.shape[0] > MAX_ROWS:
            raise ValueError(f"{self.path} has a projection of {self.shape[0]} rows, more than {MAX_ROWS}")
        stored = np.memmap(self.path, WIDTHS[self.dtype], "r", self.start, self.shape)
        columns = np.array(stored.reshape(self.shape[0], -1)[:, :most])
        if self.dtype == "BF16":
            columns = (columns.astype("<u4") << 16).view("<f4")
        return columns.astype(np.float64)


def read_tensors(path: Path) -> dict[str, Stored]:
    """Return tensors by name, from a safetensors file, a GGUF, or all such files in a folder."""
    files = files_of(path)
    if not files:
        raise ValueError(f"{path} holds no file named *.safetensors or *.gguf")
    tensors: dict[str, Stored] = {}
    for file in files:
        tensors |= _of_gguf(file) if is_gguf(file) else _of_safetensors(file)
    return tensors


def files_of(path: Path) -> list[Path]:
    """Return a checkpoint's files: the path itself, or a folder's safetensors files, or else its GGUFs."""
    if not path.is_dir():
        return [path]
    return sorted(path.glob("*.safetensors")) or sorted(path.glob("*.gguf"))


def _of_gguf(path: Path) -> dict[str, Stored]:
    size, tensors = path.stat().st_size, {}
    for name, tensor in read_header(path).tensors.items():
        dtype = GGML.get(tensor.kind, f"ggml type {tensor.kind}")
        if dtype in WIDTHS:
            width = np.dtype(WIDTHS[dtype]).itemsize
            if tensor.start + width * math.prod(tensor.shape) > size:
                raise ValueError(f"{path} is truncated: the tensor {name[:60]} ends outside the file")
        tensors[name] = Stored(path, dtype, tensor.shape, tensor.start)
    return tensors


def _of_safetensors(path: Path) -> dict[str, Stored]:
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if not 2 <= length <= min(MAX_HEADER, size - 8):
            raise ValueError(f"{path} is not a safetensors file, or it is truncated")
        try:
            stated = json.loads(file.read(length)).items()
            entries = {name: entry for name, entry in stated if name != "__metadata__"}
            return {name: _stored(path, entry, 8 + length, size) for name, entry in entries.items()}
        except (ValueError, RecursionError, TypeError, KeyError, AttributeError, OverflowError) as error:
            raise ValueError(f"{path} has a broken header: {type(error).__name__}: {error}") from None


def _stored(path: Path, entry: dict[str, object], data: int, size: int) -> Stored:
    shape, (begin, end) = tuple(map(int, entry["shape"])), map(int, entry["data_offsets"])  # type: ignore[call-overload]
    dtype = str(entry["dtype"])
    if min(begin, *shape, 0) < 0 or not begin <= end <= size - data:
        raise ValueError("a tensor ends outside the file")
    if dtype in WIDTHS and math.prod(shape) * np.dtype(WIDTHS[dtype]).itemsize != end - begin:
        raise ValueError("a tensor's shape and offsets disagree")
    return Stored(path, dtype, shape, data + begin)
