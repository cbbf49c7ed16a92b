r"""rope-doctor weights A B: compare the row order of q and k in two checkpoints of one model.

A checkpoint is a safetensors file, a .bin (which requires torch), a GGUF, an index of several files, a folder, or a
model on the Hub. Projections fused with v are split. In latent attention (MLA), only the rows that rotate are
compared. The checks are q and k, both central: the exit status is 0 only if both checkpoints have q and k for every
attention layer, in the expected order. It is 1 if an order is wrong, and 2 otherwise.
"""

import argparse
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import numpy as np

from rope_doctor.command.judging import chosen_checks, in_json
from rope_doctor.config.each_layer import WITHOUT_HEADS, runs
from rope_doctor.config.files import Statement, read_file
from rope_doctor.config.fused import FUSED, LATENT, Heads, Held, heads_of, split_fused, turning_rows
from rope_doctor.config.gguf import is_gguf
from rope_doctor.config.layers import body_of
from rope_doctor.config.sources import on_disk
from rope_doctor.config.tensors import files_of, read_tensors
from rope_doctor.config.values import ConfigError, Notes, visible
from rope_doctor.verdict import DIFFERS, HOLDS, NOT_RUN, Judged, Verdict
from rope_edu.encodings.layouts import convert_projection
from rope_edu.encodings.spec import RopeSpec

COLUMNS = 64  # columns read per row, which are enough to identify the row
ROUNDING = 2.0**-7  # largest relative difference caused by rounding to bfloat16
UNCHANGED, TO_HALVES, TO_PAIRS = "unchanged", "permuted to half_split", "permuted to interleaved"
OTHER_WEIGHTS, OTHER_ORDER = "other weights", "in another order"
PROJECTION = re.compile(
    r"(?:\.|^)(?:(?P<a>[qk])_proj|w(?P<b>[qk])|attn_(?P<c>[qk]))\."
    r"(?P<lora>lora_B\.(?:\w+\.)?)?(?P<kind>weight|bias)(?P<ggml>\.lora_b)?$"
)


Projections = dict[tuple[str, str, str], tuple[str, Held]]  # keyed by (layer, q or k, weight or bias)


@dataclass(frozen=True)
class Order:
    """The possible orders of a projection's rows; several if some rows are equal."""

    name: str
    orders: tuple[str, ...]


@dataclass(frozen=True)
class Rows:
    """The q and k rows in the second checkpoint.

    Attributes:
        right: True if all are in the expected order, False if not, None if the weights belong to another model.
        wanted: the expected order, as text.
        wrong: the projections whose order is wrong, out of `count`.
        verdict: the outcome of the q and k checks.
    """

    right: bool | None
    wanted: str
    wrong: tuple[Order, ...]
    count: int
    verdict: Verdict = field(default=Verdict(()))

    def __str__(self) -> str:
        return f"{self.order()}\n{self.verdict}"

    def order(self) -> str:
        """Return a sentence on the row order, with a fix if it is wrong."""
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
    """Compare the q and k rows in two checkpoints of one model: safetensors files, GGUFs, or folders of either.

    The layout is read from a GGUF itself or, for safetensors, from a config.json in the same folder. If both
    layouts are known, the expected order follows from them. Otherwise it is the order of the first projection,
    which is right only if nothing was permuted.

    Args:
        head_dim: the head width, if neither checkpoint specifies it.

    Raises:
        ValueError: if a file cannot be read, the files share no projection, or the head width is unknown.
        OSError: if a file cannot be opened.
    """
    wanted, found = (on_disk(path, weights=True) for path in (wanted, found))
    files = [_statement_beside(path) for path in (wanted, found)]
    specs = [file.readings[0].spec if file else None for file in files]
    spec = specs[0] or specs[1]
    heads = [_heads(path, file) for path, file in zip((wanted, found), files, strict=True)]
    latent = heads[0].latent or heads[1].latent
    heads = [replace(each, latent=latent) for each in heads]
    width = spec.head_dim if head_dim is None and spec else head_dim
    width = latent.turning if latent else width
    if width is None:
        raise ValueError("neither checkpoint has a config.json or is a GGUF: state --head-dim")
    rotary_dim = spec.rotary_dim if spec and spec.head_dim == width else width
    tensors = [read_tensors(path) for path in (wanted, found)]
    (first, why), (second, why_too) = (
        _projections(each, head, width) for each, head in zip(tensors, heads, strict=True)
    )
    both = [key for key in first if key in second]
    if not both:
        raise ValueError(why or why_too or "the two checkpoints have no projection of q or k in common")
    named = [
        Order(visible(second[key][0]), _orders(first[key][1], second[key][1], width, rotary_dim))
        for key in both
    ]
    order = _expected(specs, named)
    wrong = tuple(rows for rows in named if order not in rows.orders)
    right: bool | None = not wrong and (order == UNCHANGED or all(specs))
    if any(rows.orders == (OTHER_WEIGHTS,) for rows in wrong):
        right, wrong = None, tuple(rows for rows in wrong if rows.orders == (OTHER_WEIGHTS,))
    missing = _missing((first, second), (wanted, found), files, (why, why_too))
    parts = {key[1] for key, rows in zip(both, named, strict=True) if rows in wrong}
    return Rows(right, order, wrong, len(named), _verdict(right, parts, missing))


def _verdict(right: bool | None, wrong: set[str], missing: dict[str, str]) -> Verdict:
    """Return the verdict on q and k; if the layouts are unknown, any change of order counts against both."""
    checks = []
    for part in ("q", "k"):
        outcome, reason = HOLDS, ""
        if right is None:
            outcome, reason = NOT_RUN, OTHER_WEIGHTS
        elif part in wrong or (right is False and not wrong):
            outcome = DIFFERS
        elif part in missing:
            outcome, reason = NOT_RUN, missing[part]
        checks.append(Judged(part, outcome, reason, central=True))
    return Verdict(tuple(checks))


def _missing(
    projections: tuple[Projections, Projections],
    paths: tuple[Path, Path],
    files: list[Statement | None],
    reasons: tuple[str, str],
) -> dict[str, str]:
    """Return a message for q and for k that names the layers whose weights a checkpoint lacks."""
    expected = {key[0] for rows in projections for key in rows if key[2] == "weight"}
    for file in files:
        if file and file.layers.count:
            described = file.layers.rows(file.layers.count)
            labels = [row.label for row in described] or [""] * file.layers.count
            expected |= {str(i) for i, label in enumerate(labels) if label not in WITHOUT_HEADS}
    found: dict[str, str] = {}
    for part in ("q", "k"):
        for rows, path, why in zip(projections, paths, reasons, strict=True):
            lacking = sorted(int(n) for n in expected - {key[0] for key in rows if key[1] == part} if n)
            if lacking and part not in found:
                said = f"{path} has no {part} that can be read in layers {runs(lacking)}"
                found[part] = f"{said}: {why}" if why else said
    return found


def _statement_beside(path: Path) -> Statement | None:
    """Return the rotation specified by a GGUF, or by a config.json in a checkpoint's folder."""
    source = next(iter(files_of(path)), path)
    if source.is_file() and is_gguf(source):
        try:
            return read_file(source)
        except ConfigError as error:
            if error.reason != "missing":
                raise
            return None  # a LoRA adapter specifies no rotation
    source = (path if path.is_dir() else path.parent) / "config.json"
    return read_file(source) if source.is_file() else None


def _heads(path: Path, file: Statement | None) -> Heads:
    config = file.config if file else None
    body = body_of(config, Notes()) if config else None
    fields = body[0].values | {"model_type": body[1]} if body else None
    return heads_of(next(iter(files_of(path)), path), fields)


def _projections(tensors: dict[str, Held], heads: Heads, head_dim: int) -> tuple[Projections, str]:
    """Return q and k keyed by (layer, q or k, weight or bias), and why a tensor could not be split, or ""."""
    by_key: Projections = {}
    why = ""
    for name, stored in tensors.items():
        layer = re.search(r"\d+", name)
        found = _rows_of(name, stored, heads, head_dim)
        if isinstance(found, str):
            why = found
            continue
        for (part, kind), rows in found.items():
            by_key[layer[0] if layer else "", part, kind] = rows
    ordered = sorted(by_key.items(), key=lambda item: (item[0][2] != "weight", len(item[0][0]), item[0]))
    return dict(ordered), why


def _rows_of(
    name: str, stored: Held, heads: Heads, head_dim: int
) -> dict[tuple[str, str], tuple[str, Held]] | str:
    """Return the rows of q, k or both in a tensor, or the reason why they cannot be identified."""
    if match := PROJECTION.search(name):
        part = match["a"] or match["b"] or match["c"]
        kind = ("LoRA " if match["lora"] or match["ggml"] else "") + match["kind"]
        if heads.latent is None:
            return {(part, kind): (name, stored)}
        rows = turning_rows(stored, part, heads.latent)
        return rows if isinstance(rows, str) else {(part, kind): (name, rows)}
    if match := LATENT.search(name):
        part = "q" if match["q"] else "k"
        rows = turning_rows(stored, part, heads.latent)
        return rows if isinstance(rows, str) else {(part, match["kind"]): (name, rows)}
    if match := FUSED.search(name):
        parts = split_fused(stored, heads, head_dim)
        if isinstance(parts, str):
            return parts
        return {(half, match["kind"]): (f"{half} of {name}", rows) for half, rows in parts.items()}
    return {}


def _expected(specs: list[RopeSpec | None], named: list[Order]) -> str:
    first, second = (spec and spec.layout for spec in specs)
    if first and second:
        return UNCHANGED if first == second else TO_HALVES if second == "half_split" else TO_PAIRS
    return next((order for order in named[0].orders if order in (UNCHANGED, TO_HALVES, TO_PAIRS)), UNCHANGED)


def _orders(first: Held, second: Held, head_dim: int, rotary_dim: int) -> tuple[str, ...]:
    """Return the names of all permutations that map the rows of the first tensor to those of the second."""
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
    """Compare the row order; exit status 0 if it is right in every layer, 1 if it is wrong, 2 if it is unknown."""
    result = compare_weights(chosen.wanted, chosen.found, head_dim=chosen.head_dim)
    verdict = chosen_checks(result.verdict, chosen)
    result = replace(result, verdict=verdict)
    facts = {**asdict(result), "right": verdict.right, "verdict": in_json(verdict), "text": str(result)}
    return verdict.status, facts, str(result)
