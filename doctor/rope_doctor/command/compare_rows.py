r"""rope-doctor weights A B: compare the order of the rows of q and k in two checkpoints, safetensors or GGUF."""

import argparse
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from rope_doctor.config.files import read_file
from rope_doctor.config.gguf import is_gguf
from rope_doctor.config.tensors import Stored, files_of, read_tensors
from rope_doctor.config.values import ConfigError
from rope_edu.encodings.layouts import convert_projection
from rope_edu.encodings.spec import RopeSpec

COLUMNS = 64  # columns read per row, enough to identify it
ROUNDING = 2.0**-7  # largest relative difference from bfloat16 rounding
UNCHANGED, TO_HALVES, TO_PAIRS = "unchanged", "permuted to half_split", "permuted to interleaved"
OTHER_WEIGHTS, OTHER_ORDER = "other weights", "in another order"
PROJECTION = re.compile(
    r"(?:\.|^)(?:(?P<a>[qk])_proj|w(?P<b>[qk])|attn_(?P<c>[qk]))\."
    r"(?P<lora>lora_B\.(?:\w+\.)?)?(?P<kind>weight|bias)(?P<ggml>\.lora_b)?$"
)


@dataclass(frozen=True)
class Order:
    """The possible orders of a projection's rows: several if rows are equal."""

    name: str
    orders: tuple[str, ...]


@dataclass(frozen=True)
class Rows:
    """The rows of q and k in the second checkpoint.

    Attributes:
        right: True if all have the expected order, False if not, None if the weights belong to another model.
        wanted: the expected order, as text.
        wrong: the projections in another order, out of `count`.
    """

    right: bool | None
    wanted: str
    wrong: tuple[Order, ...]
    count: int

    def __str__(self) -> str:
        if self.right:
            return f"The rows of all {self.count} projections are {self.wanted}."
        if self.right is None:
            return f"Could not tell: {self.wrong[0].name} has {OTHER_WEIGHTS}, not equal in any order."
        if not self.wrong:
            return f"The rows of all {self.count} projections are {self.wanted}: rotate with that layout."
        first = self.wrong[0]
        kinds = ", ".join(dict.fromkeys(re.sub(r"^.*?\d+\.", "", order.name) for order in self.wrong))
        return (
            f"{len(self.wrong)} of {self.count} projections are in a wrong order: {kinds}.\n"
            f"    Found {first.name} {first.orders[0]}, expected {self.wanted}.\n"
            "    Fix: Convert the rows of q and k, their biases and their LoRA factors once, head by head "
            "(convert_projection). Chapter “Tell two layouts apart”."
        )


def compare_weights(wanted: str | Path, found: str | Path, *, head_dim: int | None = None) -> Rows:
    """Compare the rows of q and k in two checkpoints of one model: safetensors files, GGUFs, or folders of them.

    A GGUF specifies its layout; for safetensors, a config.json in the same folder does. If both layouts are known,
    the expected order follows from them. Otherwise it is the first projection's order, which is right only if
    nothing was permuted.

    Args:
        head_dim: width of a head, if neither checkpoint specifies it.

    Raises:
        ValueError: a file could not be read, no projection is in both, or the width of a head is unknown.
        OSError: a file could not be opened.
    """
    specs = [_spec_beside(Path(path)) for path in (wanted, found)]
    spec = specs[0] or specs[1]
    width = spec.head_dim if head_dim is None and spec else head_dim
    if width is None:
        raise ValueError("neither checkpoint has a config.json or is a GGUF: state --head-dim")
    rotary_dim = spec.rotary_dim if spec and spec.head_dim == width else width
    first, second = (_projections(read_tensors(Path(path))) for path in (wanted, found))
    both = [key for key in first if key in second]
    if not both:
        raise ValueError("the two checkpoints have no projection of q or k in common")
    named = [Order(second[key][0], _orders(first[key][1], second[key][1], width, rotary_dim)) for key in both]
    order = _expected(specs, named)
    wrong = tuple(rows for rows in named if order not in rows.orders)
    if any(rows.orders == (OTHER_WEIGHTS,) for rows in wrong):
        wrong = tuple(rows for rows in wrong if rows.orders == (OTHER_WEIGHTS,))
        return Rows(None, order, wrong, len(named))
    return Rows(not wrong and (order == UNCHANGED or all(specs)), order, wrong, len(named))


def _spec_beside(path: Path) -> RopeSpec | None:
    """Return the rotation of a checkpoint's first layer kind, from the GGUF or a config.json in its folder."""
    source = next(iter(files_of(path)), path)
    if source.is_file() and is_gguf(source):
        try:
            return read_file(source).readings[0].spec
        except ConfigError as error:
            if error.reason != "missing":
                raise
            return None  # a LoRA adapter has no rotation
    source = (path if path.is_dir() else path.parent) / "config.json"
    return read_file(source).readings[0].spec if source.is_file() else None


def _projections(tensors: dict[str, Stored]) -> dict[tuple[str, ...], tuple[str, Stored]]:
    """Return q and k projections keyed by (layer, q or k, weight or bias), for any naming scheme."""
    by_key = {}
    for name, stored in tensors.items():
        if match := PROJECTION.search(name):
            layer = re.search(r"\d+", name)
            part = match["a"] or match["b"] or match["c"]
            kind = ("LoRA " if match["lora"] or match["ggml"] else "") + match["kind"]
            by_key[layer[0] if layer else "", part, kind] = name, stored
    return dict(sorted(by_key.items(), key=lambda item: (item[0][2] != "weight", len(item[0][0]), item[0])))


def _expected(specs: list[RopeSpec | None], named: list[Order]) -> str:
    first, second = (spec and spec.layout for spec in specs)
    if first and second:
        return UNCHANGED if first == second else TO_HALVES if second == "half_split" else TO_PAIRS
    return next((order for order in named[0].orders if order in (UNCHANGED, TO_HALVES, TO_PAIRS)), UNCHANGED)


def _orders(first: Stored, second: Stored, head_dim: int, rotary_dim: int) -> tuple[str, ...]:
    """Return the names of all permutations that turn the first tensor's rows into the second's."""
    a, b = first.columns(COLUMNS), second.columns(COLUMNS)
    if a.shape != b.shape:
        return (OTHER_WEIGHTS,)
    if len(a) % head_dim:
        raise ValueError(f"{first.path}: {len(a)} rows cannot be divided into heads of {head_dim}")
    orders = tuple(name for name, rows in _permuted(a, len(a) // head_dim, rotary_dim) if _equal(rows, b))
    if orders:
        return orders
    direction = np.random.default_rng(0).normal(size=a.shape[1])
    return (OTHER_ORDER,) if _equal(np.sort(a @ direction), np.sort(b @ direction)) else (OTHER_WEIGHTS,)


def _permuted(a: np.ndarray, heads: int, rotary_dim: int) -> Iterator[tuple[str, np.ndarray]]:
    yield UNCHANGED, a
    for name, to in ((TO_HALVES, "half_split"), (TO_PAIRS, "interleaved")):
        once = convert_projection(a, heads, to=to, rotary_dim=rotary_dim)
        yield name, once
        yield f"{name} twice", convert_projection(once, heads, to=to, rotary_dim=rotary_dim)
        if len(a) % 2 == 0:
            yield f"{name} across the heads", convert_projection(a, 1, to=to)


def _equal(a: np.ndarray, b: np.ndarray) -> bool:
    return bool(np.allclose(a, b, rtol=ROUNDING, atol=ROUNDING * float(np.abs(a).mean())))


def run(chosen: argparse.Namespace) -> tuple[int, object, str]:
    """Compare the order of the rows; exit status 0 if right, 1 if not, 2 if the weights are another model's."""
    result = compare_weights(chosen.wanted, chosen.found, head_dim=chosen.head_dim)
    return {True: 0, False: 1, None: 2}[result.right], {**asdict(result), "text": str(result)}, str(result)
