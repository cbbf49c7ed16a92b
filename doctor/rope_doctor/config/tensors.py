r"""The tensors of a checkpoint, safetensors or GGUF: their places from the headers, and a few columns of each.

Nothing in a header is trusted: sizes are checked against the file before anything is read.
"""

import json
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rope_doctor.config.gguf import is_gguf, read_header

LARGEST = 16 * 2**20  # bytes of a header, of which JSON makes twenty times as many in memory
MOST_ROWS = 2**18
WIDTHS = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}
# formats that are read, and the usual ones that are quantized
GGML = {0: "F32", 1: "F16", 28: "F64", 30: "BF16"}
GGML |= {2: "Q4_0", 3: "Q4_1", 6: "Q5_0", 7: "Q5_1", 8: "Q8_0", 39: "MXFP4"}
GGML |= {10: "Q2_K", 11: "Q3_K", 12: "Q4_K", 13: "Q5_K", 14: "Q6_K"}


@dataclass(frozen=True)
class Stored:
    """A tensor in a file: its format, shape, and where its numbers begin."""

    path: Path
    dtype: str
    shape: tuple[int, ...]
    start: int

    def columns(self, most: int) -> np.ndarray:
        """Return the first columns as float64, (rows, at most `most`); a bias is one column."""
        if self.dtype not in WIDTHS:
            read = ", ".join(WIDTHS)
            raise ValueError(f"{self.path} has numbers of the format {self.dtype}; {read} are read")
        if not 1 <= len(self.shape) <= 2 or not math.prod(self.shape):
            raise ValueError(f"{self.path} has a projection of shape {self.shape}, and 1 or 2 axes are read")
        if self.shape[0] > MOST_ROWS:
            raise ValueError(f"{self.path} has a projection of {self.shape[0]} rows, more than {MOST_ROWS}")
        kept = np.memmap(self.path, WIDTHS[self.dtype], "r", self.start, self.shape)
        found = np.array(kept.reshape(self.shape[0], -1)[:, :most])
        if self.dtype == "BF16":
            found = (found.astype("<u4") << 16).view("<f4")
        return found.astype(np.float64)


def read_tensors(path: Path) -> dict[str, Stored]:
    """Return the tensors of a safetensors file, a GGUF, or all files that a folder holds, by name."""
    files = files_of(path)
    if not files:
        raise ValueError(f"{path} holds no file named *.safetensors or *.gguf")
    found: dict[str, Stored] = {}
    for file in files:
        found |= _of_gguf(file) if is_gguf(file) else _header(file)
    return found


def files_of(path: Path) -> list[Path]:
    """Return the files of a checkpoint: itself, or a folder's safetensors; its GGUFs if it has none."""
    if not path.is_dir():
        return [path]
    return sorted(path.glob("*.safetensors")) or sorted(path.glob("*.gguf"))


def _of_gguf(path: Path) -> dict[str, Stored]:
    size, found = path.stat().st_size, {}
    for name, tensor in read_header(path).tensors.items():
        dtype = GGML.get(tensor.kind, f"{tensor.kind} of ggml")
        if dtype in WIDTHS:
            width = np.dtype(WIDTHS[dtype]).itemsize
            if tensor.start + width * math.prod(tensor.shape) > size:
                raise ValueError(f"{path} is cut: the tensor {name[:60]} lies outside the file")
        found[name] = Stored(path, dtype, tensor.shape, tensor.start)
    return found


def _header(path: Path) -> dict[str, Stored]:
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if not 2 <= length <= min(LARGEST, size - 8):
            raise ValueError(f"{path} is no safetensors file, or it is cut")
        try:
            stated = json.loads(file.read(length)).items()
            entries = {name: each for name, each in stated if name != "__metadata__"}
            return {name: _stored(path, each, 8 + length, size) for name, each in entries.items()}
        except (ValueError, RecursionError, TypeError, KeyError, AttributeError, OverflowError) as error:
            raise ValueError(f"{path} has a broken header: {type(error).__name__}: {error}") from None


def _stored(path: Path, entry: dict[str, object], data: int, size: int) -> Stored:
    shape, (begin, end) = tuple(map(int, entry["shape"])), map(int, entry["data_offsets"])  # type: ignore[call-overload]
    dtype = str(entry["dtype"])
    if min(begin, *shape, 0) < 0 or not begin <= end <= size - data:
        raise ValueError("a tensor lies outside the file")
    if dtype in WIDTHS and math.prod(shape) * np.dtype(WIDTHS[dtype]).itemsize != end - begin:
        raise ValueError("a tensor's shape and place disagree")
    return Stored(path, dtype, shape, data + begin)
