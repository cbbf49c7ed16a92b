r"""Check a live torch model: do its rotary modules give the rotation that its config states?"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from rope_edu.clinic import watching
from rope_edu.clinic.frequencies import describe_base
from rope_edu.clinic.kinds import Kinds

LENGTHS = (0, 1, 2, 3, 5, 8, 13, 31, 64, 127, 300, 511, 1000, 2047)  # positions
FLOAT32 = 4e-6  # relative error of frequencies whose powers are computed in float32
TABLES = re.compile(r"(cos|sin|freqs|rope|rotary|embed_positions)(?!.*inv)", re.IGNORECASE)
OTHER_PARTS = re.compile(r"(^|[._])(vision|visual|image|audio|speech|video|patch|pixel)", re.IGNORECASE)
DIAGNOSE, READ = "Diagnose a rotation", "Read a config"


@dataclass(frozen=True)
class Fault:
    """A thing that a live model's rotation does otherwise than its config states.

    Attributes:
        where: the module, by its name in the model.
        layers: the kind of layers, in words.
        found, wanted: in words.
        fix: the smallest change.
        chapter: the title of the chapter that explains it.
        pair: the first pair that differs, or None.
        position: the first position at which it does, or None.
    """

    where: str
    layers: str
    found: str
    wanted: str
    fix: str
    chapter: str = DIAGNOSE
    pair: int | None = None
    position: int | None = None

    def __str__(self) -> str:
        first = [
            f"{name} {value}"
            for name, value in (("pair", self.pair), ("position", self.position))
            if value is not None
        ]
        at = f" The first that differs: {', '.join(first)}." if first else ""
        return (
            f"{self.where} ({self.layers}):\n    Found {self.found}, wanted {self.wanted}.{at}\n"
            f"    Fix: {self.fix} Chapter “{self.chapter}”."
        )


@dataclass(frozen=True)
class ModelReport:
    """The faults of a live model's rotation, the probes that were made, and notes; `print` it."""

    faults: tuple[Fault, ...]
    probed: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def right(self) -> bool | None:
        """Return True if the model rotates as its config states, False if not, None if nothing could be probed."""
        if self.faults:
            return False
        return True if self.probed else None

    def __str__(self) -> str:
        verdict = {
            True: "The model rotates as its config states.",
            False: "The model does not rotate as its config states.",
            None: "Could not tell: no module gives cosines and sines, and no attention was seen.",
        }
        lines = [verdict[self.right], *map(str, self.faults)]
        return "\n".join(
            [*lines, *(f"Probed: {each}." for each in self.probed), *(f"Note: {each}" for each in self.notes)]
        )


def check_model(model: Any, config: Any = None) -> ModelReport:
    r"""Probe the rotary modules of a live torch model, and the queries and keys that reach its attention.

    The model is probed as it is: after loading, after `.to(torch.bfloat16)`, on its device. Modules that give
    cosines and sines are called; buffers of frequencies and tables are read; and a text of one token repeated is
    run, since its queries are equal in all places but for the rotation.

    Args:
        model: a `torch.nn.Module`.
        config: what is wanted: a dict, the path of a config.json, or a preset's name; by default the model's own.

    Raises:
        ValueError: the config cannot be read, or there is none; the sentence says so.

    >>> from rope_edu.nn.little import Little  # two layers, heads of 16, base 10,000
    >>> config = {"model_type": "llama", "head_dim": 16, "rope_theta": 500_000.0}
    >>> print(check_model(Little(), config).faults[0])
    layers.0.rotary and 1 more (all layers):
        Found base 10000 (8 pairs, the slowest 0.000316228 rad per token), and an angle 0.122 rad off, wanted base
        500000 (8 pairs, the slowest 1.03134e-05 rad per token). The first that differs: pair 1, position 1.
        Fix: Give the module the config of these layers: their base, rule and width. Chapter “Read a config”.

    Chapter 24.
    """
    kinds = Kinds.of(model, config)
    probe = _Probe(model, kinds)
    probe.run()
    faults, probed, notes = watching.check(model, kinds)
    # attention that turns wrongly because its table is wrong is one fault, not two
    known = {fault.layers for fault in probe.faults}
    probe.faults += [Fault(**each) for each in faults if each["layers"] not in known]
    return ModelReport(_alike(probe.faults), (*_counted(probe.probed), *probed), (*probe.notes, *notes))


def _alike(faults: list[Fault]) -> tuple[Fault, ...]:
    """Return faults that differ only in the module once, with how many more there are."""
    kinds: dict[Fault, list[str]] = {}
    for fault in faults:
        kinds.setdefault(replace(fault, where=""), []).append(fault.where)
    return tuple(replace(fault, where=_and_more(where)) for fault, where in kinds.items())


def _and_more(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def _counted(probed: list[tuple[str, str]]) -> list[str]:
    """Return probes as sentences, those alike once."""
    kinds: dict[str, list[str]] = {}
    for where, what in probed:
        kinds.setdefault(what, []).append(where)
    return [f"{_and_more(where)}{what}" for what, where in kinds.items()]


@dataclass
class _Probe:
    model: Any
    kinds: Kinds
    faults: list[Fault] = field(default_factory=list)
    probed: list[tuple[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def run(self) -> None:
        seen: dict[str, str] = {}
        for name, module in self.model.named_modules():
            if OTHER_PARTS.search(name):
                if _frequencies(module):
                    self.notes.append(f"{name} was not examined: it turns no text.")
                continue
            if self.empty(name, module):
                continue
            for label, given in self.given(name, module):
                self.hold(name, label, given, module, seen)
            for table, values in _tables(module):
                self.hold_table(f"{name}.{table}".lstrip("."), values)

    def empty(self, name: str, module: Any) -> bool:
        """Look for frequencies that nobody filled, and report them."""
        for buffer, values in _frequencies(module):
            where, wanted = f"{name}.{buffer}".lstrip("."), "frequencies from 1 down"
            fix = "Compute it again after loading: it is in no checkpoint, and `to_empty` leaves it unfilled."
            if values.is_meta:
                found = "no numbers, on the meta device"
            else:
                numbers = values.double().cpu().numpy()
                if np.isfinite(numbers).all() and (numbers >= 0).all() and 0 < numbers.max() <= 1.01:
                    continue
                found = f"numbers that are no frequencies, {_listed(numbers)}"
            self.faults.append(
                Fault(where, self.kinds.words(self.label_of(name, buffer)), found, wanted, fix)
            )
            return True
        return False

    def label_of(self, name: str, buffer: str = "") -> str | None:
        return self.kinds.named(buffer.removesuffix("inv_freq").rstrip("_")) or self.kinds.of_module(name)

    def given(self, name: str, module: Any) -> Iterator[tuple[str | None, Any]]:
        """Yield a kind of layers and a function from positions to cosines and sines, as complex numbers."""
        labels = [self.label_of(name, buffer) for buffer, _ in _frequencies(module)]
        try:
            names = list(inspect.signature(module.forward).parameters)
        except (TypeError, ValueError):
            return
        if not labels or len(names) < 2:
            return
        takes_kind = "layer_type" in names
        raw = [buffer.removesuffix("inv_freq").rstrip("_") for buffer, _ in _frequencies(module)]
        for label, prefix in zip(labels, raw, strict=True):
            if takes_kind and prefix:
                yield label, lambda at, prefix=prefix: _called(module, self.model, at, layer_type=prefix)
            else:
                yield label, lambda at: _called(module, self.model, at)

    def hold(self, name: str, label: str | None, given: Any, module: Any, seen: dict[str, str]) -> None:
        """Hold a module's cosines and sines against what is wanted."""
        readings = self.kinds.candidates(label)
        trained = min((each.trained or each.longest or 2048 for each in readings), default=2048)
        changing = any(each.rope_type in ("dynamic", "longrope") for each in readings)
        positions = np.array([each for each in LENGTHS if each < min(trained, 2048)])
        try:
            values = given(positions)
        except Exception as error:
            self.buffers(name, label, module, f"{type(error).__name__}: {str(error)[:80]}")
            return
        if values is None:
            self.buffers(name, label, module, "it gives no cosines and sines that could be read")
            return
        best = self.kinds.nearest(label, lambda spec: _off(values, spec, positions))
        if best is None:
            self.notes.append(f"{name}: the config states no rotation of these layers.")
            return
        kind, spec = best
        words = self.kinds.words(kind)
        places = f"{len(positions)} positions up to {positions[-1]}"
        self.probed.append((name, f" ({words}), cosines and sines at {places}"))
        fault = _difference(values, spec, positions)
        if fault is not None:
            self.faults.append(Fault(name, words, **{**self.cause(module, spec, label), **fault}))
        elif changing and (found := self.remembered(given, kind, positions, trained)):
            self.faults.append(Fault(name, words, **found))

    def cause(self, module: Any, spec: Any, label: str | None) -> dict[str, Any]:
        """Return the fix of frequencies that differ."""
        for buffer, values in _frequencies(module):
            own = values.double().cpu().numpy()
            if label and self.label_of("", buffer) not in (None, label):
                continue
            width = str(values.dtype).removeprefix("torch.")
            rounded = len(own) == len(spec.inv_freq) and np.allclose(
                own, spec.inv_freq, rtol=2.0**-7, atol=1e-7
            )
            if rounded and width in ("bfloat16", "float16"):
                return {"fix": f"Keep {buffer} in float32: it was cast to {width} with the model."}
            if len(own) == len(spec.inv_freq) and np.allclose(own, spec.inv_freq, rtol=FLOAT32, atol=1e-9):
                return {
                    "fix": f"{buffer} is right: compute the angles with it in float32, from whole positions."
                }
        return {
            "fix": "Give the module the config of these layers: their base, rule and width.",
            "chapter": READ,
        }

    def buffers(self, name: str, label: str | None, module: Any, reason: str) -> None:
        """Hold the frequencies that a module keeps against what is wanted, where it cannot be called."""
        for buffer, values in _frequencies(module):
            own = values.double().cpu().numpy().ravel()
            best = self.kinds.nearest(label, partial(_off_ladder, own))
            if best is None:
                continue
            kind, spec = best
            where = f"{name}.{buffer}".lstrip(".")
            self.probed.append((where, f" ({self.kinds.words(kind)}), as numbers: {reason}"))
            if _off_ladder(own, spec) > FLOAT32:
                pair = (
                    int(np.argmax(~np.isclose(own, spec.inv_freq, rtol=FLOAT32)))
                    if own.shape == spec.inv_freq.shape
                    else 0
                )
                fault = Fault(
                    where,
                    self.kinds.words(kind),
                    _as_words(own, spec),
                    _as_words(spec.inv_freq, spec),
                    pair=pair,
                    **self.cause(module, spec, label),
                )
                self.faults.append(fault)

    def remembered(self, given: Any, kind: Any, positions: np.ndarray, trained: int) -> dict[str, Any] | None:
        """Return what a long text leaves behind, or None."""
        before, between = given(positions), np.concatenate((positions, [2 * trained - 1]))
        first = given(between)
        wanted = self.kinds.at(kind, 2 * trained).spec
        if (fault := _difference(first, wanted, between)) is not None:
            return fault | {
                "fix": "Let the rule take the length of the text at hand.",
                "chapter": "Stretch the frequencies",
            }
        given(np.concatenate((positions, [4 * trained - 1])))
        fix = {
            "fix": "Compute the frequencies from the text at hand, and keep none of a longer one.",
            "chapter": "Stretch the frequencies",
        }
        answers = ((between, first, given(between)), (positions, before, given(positions)))
        given(positions[:2])  # so that the probe leaves nothing behind
        for at, was, now in answers:
            wrong = np.abs(now - was).max(axis=1) > 1e-3
            if wrong.any():
                after = f"{at[-1] + 1} tokens after a text of {4 * trained}"
                row = int(wrong.argmax())
                found = f"other cosines for {after} than before it"
                return {"found": found, "wanted": "the same", "position": int(at[row]), **fix}
        return None

    def hold_table(self, where: str, rows: np.ndarray) -> None:
        """Hold a stored table, a row for each position, against what is wanted."""
        positions = np.array([each for each in LENGTHS if each < len(rows)])
        values = rows[positions]
        best = self.kinds.nearest(self.kinds.of_module(where), lambda spec: _off(values, spec, positions))
        if best is None:
            return
        kind, spec = best
        words = self.kinds.words(kind)
        self.probed.append((where, f" ({words}), {len(rows)} rows of a table"))
        if not np.isfinite(values).all() or not np.abs(values).max() > 1e-3:
            fix = "Compute the table again after loading: it is in no checkpoint."
            self.faults.append(Fault(where, words, "a table that nobody filled", "cosines and sines", fix))
        elif (fault := _difference(values, spec, positions)) is not None:
            fix = "Make the table from the config of these layers, in float32 or wider."
            self.faults.append(Fault(where, words, **{"fix": fix, "chapter": READ, **fault}))


def _frequencies(module: Any) -> list[tuple[str, Any]]:
    """Return the buffers, parameters or tensors of a module's own that hold frequencies, by name."""
    held = {**dict(module.named_buffers(recurse=False)), **dict(module.named_parameters(recurse=False))}
    return [
        (name, values)
        for name, values in held.items()
        if name.endswith("inv_freq") and "original" not in name
    ]


def _called(module: Any, model: Any, positions: np.ndarray, **options: Any) -> np.ndarray | None:
    """Return a module's cosines + i sines, (positions, features or pairs); None if it gives none."""
    import torch

    like = next((each for each in model.parameters() if each.is_floating_point()), torch.zeros(1))
    ids = torch.tensor(positions, device=like.device)[None]
    x = torch.zeros(1, len(positions), 1, dtype=like.dtype, device=like.device)
    with torch.no_grad():
        try:
            out = module(x, ids, **options)
        except (IndexError, RuntimeError, ValueError):  # M-RoPE: three coordinates
            out = module(x, torch.stack([ids] * 3), **options)
    if isinstance(out, torch.Tensor) and out.is_complex():
        return _rows(out.to(torch.complex128).cpu().numpy(), len(positions))
    if not (
        isinstance(out, tuple | list)
        and len(out) == 2
        and all(isinstance(each, torch.Tensor) for each in out)
    ):
        return None
    cos, sin = (each.double().cpu().numpy() for each in out)
    return _rows(cos + 1j * sin, len(positions))


def _rows(values: np.ndarray, count: int) -> np.ndarray | None:
    """Return an array as (positions, features), of whatever axes of one it has, or equal ones in front."""
    while values.ndim > 2:
        axis = next((axis for axis, size in enumerate(values.shape) if size == 1), 0)
        values = values.take(0, axis=axis)
    return values if values.shape[0] == count else None


def _tables(module: Any) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the tables that a module holds: name, and cosines + i sines, a row for each position."""
    import torch

    held = {name: each for name, each in module.named_buffers(recurse=False) if TABLES.search(name)}
    held |= {
        name: each
        for name, each in vars(module).items()
        if isinstance(each, torch.Tensor) and TABLES.search(name)
    }
    for name, values in held.items():
        if values.is_meta or not (values.is_floating_point() or values.is_complex()):
            continue
        values = values.detach().cpu()
        numbers = values.to(torch.complex128 if values.is_complex() else torch.float64).numpy().squeeze()
        if numbers.ndim == 3 and numbers.shape[-1] == 2:
            numbers = numbers[..., 0] + 1j * numbers[..., 1]
        if numbers.ndim != 2 or len(numbers) < 8:
            continue
        if np.iscomplexobj(numbers):
            yield name, numbers
        elif "cos" in name and name.replace("cos", "sin") in held and "sin" not in name:
            other = held[name.replace("cos", "sin")].detach().cpu().double().numpy().squeeze()
            yield name, numbers + 1j * other
        elif "embed_positions" in name:  # sines first
            half = numbers.shape[1] // 2
            yield name, numbers[:, half:] + 1j * numbers[:, :half]
        elif "cos_sin" in name:
            half = numbers.shape[1] // 2
            yield name, numbers[:, :half] + 1j * numbers[:, half:]


def _by_pair(values: np.ndarray, wanted: np.ndarray) -> np.ndarray | None:
    """Return cosines and sines by pair, of a table by pair or by feature in either layout; else None."""
    width, pairs = values.shape[1], wanted.shape[1]
    if width == pairs:
        return None if _twice(values) and not _twice(wanted) else values
    if width == 2 * pairs:
        halves, neighbours = values.reshape(-1, 2, pairs), values.reshape(-1, pairs, 2)
        if np.allclose(halves[:, 0], halves[:, 1], atol=1e-6):
            return np.asarray(halves[:, 0])
        if np.allclose(neighbours[..., 0], neighbours[..., 1], atol=1e-6):
            return np.asarray(neighbours[..., 0])
    return None


def _twice(values: np.ndarray) -> bool:
    """Tell whether a table has the numbers of each pair twice, in either layout."""
    if values.shape[1] % 2:
        return False
    first, second = np.split(values, 2, axis=1)
    neighbours = np.allclose(values[:, ::2], values[:, 1::2], atol=1e-6)
    return neighbours or np.allclose(first, second, atol=1e-6)


def _wanted(spec: Any, positions: np.ndarray) -> np.ndarray:
    return np.asarray(spec.attention_factor * np.exp(1j * positions[:, None] * spec.inv_freq))


def _bound(values: np.ndarray, spec: Any, positions: np.ndarray) -> np.ndarray:
    """Largest error of each number that rounding explains: of its own width, and of frequencies in float32."""
    coarse = float(np.abs(values.real - values.real.astype(np.float32)).max()) > 0
    bits = 2.0**-8 if _is_narrow(values) else 2.0**-20
    return np.asarray(
        spec.attention_factor
        * ((0 if coarse else bits) + 1e-6 + positions[:, None] * spec.inv_freq * FLOAT32)
    )


def _is_narrow(values: np.ndarray) -> bool:
    """Tell whether all numbers have at most eleven significant bits."""
    mantissa = np.frexp(values.real)[0] * 2.0**11
    return bool(np.isfinite(mantissa).all() and (mantissa == np.round(mantissa)).all())


def _off(values: np.ndarray, spec: Any, positions: np.ndarray) -> float:
    """Return the share of numbers that differ, so that the nearest of several kinds can be told."""
    wanted = _wanted(spec, positions)
    found = _by_pair(values, wanted)
    if found is None:
        return 2.0
    wrong = ~(np.abs(found - wanted) <= _bound(values, spec, positions))
    return float(wrong.mean())


def _off_ladder(own: np.ndarray, spec: Any) -> float:
    wanted = spec.inv_freq
    if own.shape != wanted.shape:
        return 2.0
    return float((np.abs(own - wanted) / np.where(wanted > 0, wanted, 1)).max())


def _difference(values: np.ndarray, spec: Any, positions: np.ndarray) -> dict[str, Any] | None:
    """Return found, wanted, and the first pair and position that differ; None if all is as wanted."""
    pairs = len(spec.inv_freq)
    found = _by_pair(values, _wanted(spec, positions))
    if found is None:
        width = values.shape[1]
        wide = f"{width // 2} pairs, each twice" if _twice(values) else f"{width} numbers for a position"
        return {"found": wide, "wanted": f"{pairs} pairs, or each twice in one of the two layouts"}
    wrong = ~(np.abs(found - _wanted(spec, positions)) <= _bound(values, spec, positions))
    if not wrong.any():
        return None
    size = float(np.median(np.abs(found)))
    if abs(size / spec.attention_factor - 1) > 0.01:
        seen, fix = f"cosines and sines of size {size:.6g}", "Multiply both by the attention factor, once."
        wanted = f"{spec.attention_factor:.6g}"
        return {"found": seen, "wanted": wanted, "fix": fix, "chapter": "Blend by wavelength"}
    row = int(wrong.any(axis=1).argmax())
    pair = int(wrong[row].argmax())
    turned = np.angle(found[list(positions).index(1)]) if 1 in positions else np.zeros(pairs)
    words = _as_words(np.abs(turned), spec)
    angle = float(np.angle(found[row, pair] / np.exp(1j * positions[row] * spec.inv_freq[pair])))
    return {
        "found": f"{words}, and an angle {abs(angle):.3g} rad off",
        "wanted": _as_words(spec.inv_freq, spec),
        "pair": pair,
        "position": int(positions[row]),
    }


def _as_words(speeds: np.ndarray, spec: Any) -> str:
    if not np.isfinite(speeds).all() or not (speeds > 0).any():
        return f"frequencies {_listed(speeds)}"
    slowest = f"{speeds.min():.6g}"
    base = describe_base(speeds, 2 * len(speeds), spec.head_dim)
    return f"{base} ({len(speeds)} pairs, the slowest {slowest} rad per token)"


def _listed(numbers: np.ndarray) -> str:
    shown = ", ".join(f"{each:.3g}" for each in numbers.ravel()[:4])
    return f"{shown}, …" if numbers.size > 4 else shown
