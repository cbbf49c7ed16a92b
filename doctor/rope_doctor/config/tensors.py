r"""Read the offsets and first columns of tensors in a checkpoint (safetensors, .bin, GGUF).

Headers are not trusted, so sizes are checked against that of the file before anything is read.
"""

import json
import math
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rope_doctor.config.fused import Held
from rope_doctor.config.gguf import is_gguf, read_header

MAX_HEADER = 16 * 2**20  # in bytes; parsing a header as JSON takes twenty times as much memory
MAX_ROWS = 2**18
TORCH = (".bin", ".pt", ".pth")
WIDTHS = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}
# the supported formats, then common quantized formats
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
        _check_shape(self.path, self.shape)
        stored = np.memmap(self.path, WIDTHS[self.dtype], "r", self.start, self.shape)
        columns = np.array(stored.reshape(self.shape[0], -1)[:, :most])
        if self.dtype == "BF16":
            columns = (columns.astype("<u4") << 16).view("<f4")
        return columns.astype(np.float64)


@dataclass(frozen=True)
class Loaded:
    """A tensor loaded by torch."""

    path: Path
    tensor: Any

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the tensor's shape."""
        return tuple(self.tensor.shape)

    def columns(self, most: int) -> np.ndarray:
        """Return the first columns as float64, shape (rows, at most `most`); a bias counts as one column."""
        _check_shape(self.path, self.shape)
        return np.array(self.tensor.reshape(self.shape[0], -1)[:, :most].double().numpy())


def _check_shape(path: Path, shape: tuple[int, ...]) -> None:
    if not 1 <= len(shape) <= 2 or not math.prod(shape):
        raise ValueError(f"{path} has a projection of shape {shape}; it must have 1 or 2 axes")
    if shape[0] > MAX_ROWS:
        raise ValueError(f"{path} has a projection of {shape[0]} rows, more than {MAX_ROWS}")


def read_tensors(path: Path) -> dict[str, Held]:
    """Return the tensors, by name, in a checkpoint file or in all files of an index or folder."""
    files = files_of(path)
    if not files:
        raise ValueError(f"{path} holds no file named *.safetensors, *.gguf or *.bin")
    tensors: dict[str, Held] = {}
    for file in files:
        kind = _of_gguf if is_gguf(file) else _of_torch if file.suffix in TORCH else _of_safetensors
        tensors |= kind(file)
    return tensors


def files_of(path: Path) -> list[Path]:
    """Return the files of a checkpoint: the path itself, or the files of one format in the index or folder."""
    if path.name.endswith(".index.json"):
        return _of_index(path)
    if not path.is_dir():
        return [path]
    patterns = ("*.safetensors", "*.gguf", "pytorch_model*.bin", "adapter_model.bin", "*.pt", "*.pth")
    return next((found for pattern in patterns if (found := sorted(path.glob(pattern)))), [])


def _of_index(path: Path) -> list[Path]:
    """Return the files listed in an index, which must all be in its folder."""
    try:
        if path.stat().st_size > MAX_HEADER:
            raise ValueError("it is too large")
        names = sorted(set(json.loads(path.read_text(encoding="utf-8"))["weight_map"].values()))
    except (ValueError, RecursionError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"{path} is not an index of weights: {type(error).__name__}: {error}") from None
    if not all(isinstance(name, str) and name == Path(name).name for name in names):
        raise ValueError(f"{path} names a file outside its folder")
    missing = [name for name in names if not (path.parent / name).is_file()]
    if missing:
        raise ValueError(f"{path} names {missing[0][:60]}, which is not beside it")
    return [path.parent / name for name in names]


def _of_torch(path: Path) -> dict[str, Held]:
    try:
        import torch
    except ImportError:
        raise ValueError(f"{path} can be read only if torch is installed") from None
    try:
        held = torch.load(path, map_location="cpu", weights_only=True, mmap=zipfile.is_zipfile(path))
    except Exception as error:  # unpickling may raise any exception
        said = next(iter(str(error).splitlines()), "")[:120]
        words = f"{path} cannot be loaded as weights alone: {type(error).__name__}: {said}"
        raise ValueError(words) from None
    held = held.get("state_dict", held) if isinstance(held, dict) else {}
    return {str(name): Loaded(path, each) for name, each in held.items() if isinstance(each, torch.Tensor)}


def _of_gguf(path: Path) -> dict[str, Held]:
    size = path.stat().st_size
    tensors: dict[str, Held] = {}
    for name, tensor in read_header(path).tensors.items():
        dtype = GGML.get(tensor.kind, f"ggml type {tensor.kind}")
        if dtype in WIDTHS:
            width = np.dtype(WIDTHS[dtype]).itemsize
            if tensor.start + width * math.prod(tensor.shape) > size:
                raise ValueError(f"{path} is truncated: the tensor {name[:60]} ends outside the file")
        tensors[name] = Stored(path, dtype, tensor.shape, tensor.start)
    return tensors


def _of_safetensors(path: Path) -> dict[str, Held]:
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
