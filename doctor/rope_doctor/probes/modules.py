r"""Check a live torch model: do its rotary modules give the rotation that its config specifies?"""

import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from rope_doctor.clinic.frequencies import describe_base
from rope_doctor.probes import watching
from rope_doctor.probes.layer_kinds import LayerKinds
from rope_doctor.probes.watching import FREQUENCY_TOLERANCE, READ, Fault
from rope_edu.encodings.spec import RopeSpec

POSITIONS = (0, 1, 2, 3, 5, 8, 13, 31, 64, 127, 300, 511, 1000, 2047)
TABLES = re.compile(r"(cos|sin|freqs|rope|rotary|embed_positions)(?!.*inv)", re.IGNORECASE)
OTHER_PARTS = re.compile(r"(^|[._])(vision|visual|image|audio|speech|video|patch|pixel)", re.IGNORECASE)


@dataclass(frozen=True)
class ModelReport:
    """The faults in a live model's rotation, the completed probes, and notes; `print` it."""

    faults: tuple[Fault, ...]
    probed: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def right(self) -> bool | None:
        """Return True if the model rotates as configured, False if not, None if nothing could be probed."""
        if self.faults:
            return False
        return True if self.probed else None

    def __str__(self) -> str:
        verdict = {
            True: "The model rotates as its config states.",
            False: "The model does not rotate as its config states.",
            None: "Could not tell: no module gives cosines and sines, and no attention was observed.",
        }
        probed = [f"Probed: {probe}." for probe in self.probed] + [f"Note: {note}" for note in self.notes]
        return "\n".join([verdict[self.right], *map(str, self.faults), *probed])


def check_model(model: Any, config: Any = None) -> ModelReport:
    r"""Probe the rotary modules of a live torch model, and the queries and keys that reach its attention.

    The model is probed in its current state: after loading, after `.to(torch.bfloat16)`, on its device. Modules
    that return cosines and sines are called, frequency buffers and tables are read, and a text of one repeated
    token is run, because only the rotation makes its queries differ.

    Args:
        model: a `torch.nn.Module`.
        config: the expected rotation: a dict, a config.json's path, a preset's name, or None for the model's own.

    Raises:
        ValueError: the config is missing or cannot be read; the message says why.

    >>> from rope_doctor.probes.little import Little  # two layers, heads of 16, base 10,000
    >>> config = {"model_type": "llama", "head_dim": 16, "rope_theta": 500_000.0}
    >>> print(check_model(Little(), config).faults[0])
    layers.0.rotary and 1 more (all layers):
        Found base 10000 (8 pairs, the slowest 0.000316228 rad per token), and an angle 0.122 rad off, expected base
        500000 (8 pairs, the slowest 1.03134e-05 rad per token). First difference: pair 1, position 1.
        Fix: Use the config of these layers for the module: base, rule and width. Chapter “Read a config”.

    Chapter 24.
    """
    kinds = LayerKinds.of(model, config)
    probe = _ModelProbe(model, kinds)
    probe.run()
    faults, probed, notes = watching.check_attention(model, kinds)
    # a wrong table and the wrong attention that it causes are one fault, not two
    known = {fault.layers for fault in probe.faults}
    faults = probe.faults + [fault for fault in faults if fault.layers not in known]
    alike = _grouped((replace(fault, where=""), fault.where) for fault in faults)
    rotary = [f"{where}{what}" for what, where in _grouped(probe.probed)]
    return ModelReport(
        tuple(replace(fault, where=where) for fault, where in alike),
        (*rotary, *probed),
        (*probe.notes, *notes),
    )


def _grouped(items: Iterable[tuple[Any, str]]) -> Iterator[tuple[Any, str]]:
    """Yield each distinct item with the first place where it occurs and the number of further places."""
    places: dict[Any, list[str]] = {}
    for item, where in items:
        places.setdefault(item, []).append(where)
    for item, (first, *more) in places.items():
        yield item, f"{first} and {len(more)} more" if more else first


@dataclass
class _ModelProbe:
    model: Any
    kinds: LayerKinds
    faults: list[Fault] = field(default_factory=list)
    probed: list[tuple[str, str]] = field(default_factory=list)  # (description, place)
    notes: list[str] = field(default_factory=list)

    def run(self) -> None:
        for name, module in self.model.named_modules():
            buffers = _frequencies(module)
            if OTHER_PARTS.search(name):
                if buffers:
                    self.notes.append(f"{name} was not examined: it does not rotate text.")
                continue
            if any(self.empty(name, buffer, values) for buffer, values in buffers):
                continue
            try:
                takes = list(inspect.signature(module.forward).parameters)
            except (TypeError, ValueError):
                takes = []
            for buffer, _ in buffers if len(takes) >= 2 else ():
                prefix = _prefix(buffer) if "layer_type" in takes else ""
                call = partial(_called, module, self.model, layer_type=prefix)
                self.compare(name, self.label_of(name, buffer), call, module)
            for table, values in _tables(module):
                self.compare_table(f"{name}.{table}".lstrip("."), values)

    def empty(self, name: str, buffer: str, values: Any) -> bool:
        """Report frequencies that were never filled; return True if so."""
        if values.is_meta:
            found = "no numbers, on the meta device"
        else:
            numbers = values.double().cpu().numpy()
            if np.isfinite(numbers).all() and (numbers >= 0).all() and 0 < numbers.max() <= 1.01:
                return False
            found = f"numbers that cannot be frequencies, {_listed(numbers)}"
        where, words = f"{name}.{buffer}".lstrip("."), self.kinds.words(self.label_of(name, buffer))
        fix = "Compute it again after loading: no checkpoint contains it, and `to_empty` leaves it unfilled."
        self.faults.append(Fault(where, words, found, "frequencies from 1 downwards", fix))
        return True

    def label_of(self, name: str, buffer: str) -> str | None:
        return self.kinds.named(_prefix(buffer)) or self.kinds.of_module(name)

    def nearest(self, where: str, label: str | None, off: Callable[[RopeSpec], float], probe: str) -> Any:
        """Record the probe; return the nearest layer kind, its spec and display name, or None if none rotates."""
        best = self.kinds.nearest(label, off)
        if best is None:
            return None
        words = self.kinds.words(best[0])
        self.probed.append((f" ({words}), {probe}", where))
        return *best, words

    def compare(self, name: str, label: str | None, call: Any, module: Any) -> None:
        """Compare a module's cosines and sines with the expected ones."""
        readings = self.kinds.candidates(label)
        trained = min((reading.trained or reading.longest or 2048 for reading in readings), default=2048)
        positions = np.array([position for position in POSITIONS if position < min(trained, 2048)])
        try:
            values = call(positions)
            reason = "its result cannot be read as cosines and sines"
        except Exception as error:
            values, reason = None, f"{type(error).__name__}: {str(error)[:80]}"
        if values is None:
            self.buffers(name, label, module, reason)
            return
        probe = f"cosines and sines at {len(positions)} positions up to {positions[-1]}"
        best = self.nearest(name, label, lambda spec: _off(values, spec, positions), probe)
        if best is None:
            self.notes.append(f"{name}: the config states no rotation for these layers.")
            return
        kind, spec, words = best
        fault = _difference(values, spec, positions)
        if fault is not None:
            fault = {**self.cause(module, spec, label), **fault}
        elif any(reading.rope_type in ("dynamic", "longrope") for reading in readings):
            fault = self.remembered(call, kind, positions, trained)
        if fault is not None:
            self.faults.append(Fault(name, words, **fault))

    def cause(self, module: Any, spec: RopeSpec, label: str | None) -> dict[str, Any]:
        """Return the fix for frequencies that differ."""
        for buffer, values in _frequencies(module):
            own, width = values.double().cpu().numpy(), str(values.dtype).removeprefix("torch.")
            if len(own) != len(spec.inv_freq) or (label and self.label_of("", buffer) not in (None, label)):
                continue
            rounded = np.allclose(own, spec.inv_freq, rtol=2.0**-7, atol=1e-7)
            if rounded and width in ("bfloat16", "float16"):
                return {"fix": f"Keep {buffer} in float32: it was cast to {width} with the model."}
            if np.allclose(own, spec.inv_freq, rtol=FREQUENCY_TOLERANCE, atol=1e-9):
                fix = f"{buffer} is right: compute the angles from it in float32, with integer positions."
                return {"fix": fix}
        fix = "Use the config of these layers for the module: base, rule and width."
        return {"fix": fix, "chapter": READ}

    def buffers(self, name: str, label: str | None, module: Any, reason: str) -> None:
        """Compare a module's stored frequencies with the expected ones, if it cannot be called."""
        for buffer, values in _frequencies(module):
            own, where = values.double().cpu().numpy().ravel(), f"{name}.{buffer}".lstrip(".")
            best = self.nearest(
                where, label, partial(_frequency_error, own), f"stored numbers only: {reason}"
            )
            if best is None or _frequency_error(own, best[1]) <= FREQUENCY_TOLERANCE:
                continue
            _, spec, words = best
            pair = 0
            if own.shape == spec.inv_freq.shape:
                pair = int(np.argmax(~np.isclose(own, spec.inv_freq, rtol=FREQUENCY_TOLERANCE)))
            found, wanted = _as_words(own, spec), _as_words(spec.inv_freq, spec)
            cause = self.cause(module, spec, label)
            self.faults.append(Fault(where, words, found, wanted, pair=pair, **cause))

    def remembered(self, call: Any, kind: Any, positions: np.ndarray, trained: int) -> dict[str, Any] | None:
        """Return the fault if a long text gets wrong frequencies or changes later ones, or None."""
        before, between = call(positions), np.append(positions, 2 * trained - 1)
        first = call(between)
        chapter = {"chapter": "Stretch the frequencies"}
        fault = _difference(first, self.kinds.at(kind, 2 * trained).spec, between)
        if fault is not None:
            return fault | {"fix": "Apply the rule to the length of the current text."} | chapter
        call(np.append(positions, 4 * trained - 1))
        answers = ((between, first, call(between)), (positions, before, call(positions)))
        call(positions[:2])  # restores the module after the probe
        for at, was, now in answers:
            wrong = np.abs(now - was).max(axis=1) > 1e-3
            if wrong.any():
                after = f"{at[-1] + 1} tokens after a text of {4 * trained}"
                return chapter | {
                    "found": f"other cosines for {after} than before it",
                    "wanted": "the same",
                    "position": int(at[wrong.argmax()]),
                    "fix": "Compute the frequencies from the current text, and keep none from a longer one.",
                }
        return None

    def compare_table(self, where: str, rows: np.ndarray) -> None:
        """Compare a stored table, one row per position, with the expected one."""
        positions = np.array([position for position in POSITIONS if position < len(rows)])
        values = rows[positions]
        label, probe = self.kinds.of_module(where), f"{len(rows)} rows of a table"
        best = self.nearest(where, label, lambda spec: _off(values, spec, positions), probe)
        if best is None:
            return
        _, spec, words = best
        if not np.isfinite(values).all() or not np.abs(values).max() > 1e-3:
            fix = "Compute the table again after loading: no checkpoint contains it."
            self.faults.append(Fault(where, words, "a table that was never filled", "cosines and sines", fix))
        elif (fault := _difference(values, spec, positions)) is not None:
            fix = "Make the table from the config of these layers, in float32 or wider."
            self.faults.append(Fault(where, words, **{"fix": fix, "chapter": READ, **fault}))


def _prefix(buffer: str) -> str:
    """Return the word before "inv_freq" in a buffer's name: "", or the name of a layer kind."""
    return buffer.removesuffix("inv_freq").rstrip("_")


def _frequencies(module: Any) -> list[tuple[str, Any]]:
    """Return (name, values) for a module's own buffers and parameters that hold frequencies."""
    tensors = dict(module.named_buffers(recurse=False)) | dict(module.named_parameters(recurse=False))
    return [(name, x) for name, x in tensors.items() if name.endswith("inv_freq") and "original" not in name]


def _called(module: Any, model: Any, positions: np.ndarray, layer_type: str) -> np.ndarray | None:
    """Call a module and return its cosines + i · sines, shape (positions, features or pairs), or None."""
    import torch

    options = {"layer_type": layer_type} if layer_type else {}
    like = next((values for values in model.parameters() if values.is_floating_point()), torch.zeros(1))
    ids = torch.tensor(positions, device=like.device)[None]
    x = torch.zeros(1, len(positions), 1, dtype=like.dtype, device=like.device)
    with torch.no_grad():
        try:
            out = module(x, ids, **options)
        except (IndexError, RuntimeError, ValueError):  # M-RoPE takes three coordinates
            out = module(x, torch.stack([ids] * 3), **options)
    if isinstance(out, torch.Tensor) and out.is_complex():
        return _rows(out.to(torch.complex128).cpu().numpy(), len(positions))
    pair = isinstance(out, tuple | list) and len(out) == 2
    if not pair or not all(isinstance(table, torch.Tensor) for table in out):
        return None
    cos, sin = (table.double().cpu().numpy() for table in out)
    return _rows(cos + 1j * sin, len(positions))


def _rows(values: np.ndarray, count: int) -> np.ndarray | None:
    """Reduce to (positions, features), dropping size-1 axes and equal leading entries; None if that fails."""
    while values.ndim > 2:
        axis = next((axis for axis, size in enumerate(values.shape) if size == 1), 0)
        values = values.take(0, axis=axis)
    return values if values.shape[0] == count else None


def _tables(module: Any) -> Iterator[tuple[str, np.ndarray]]:
    """Yield each table's name and its cosines + i · sines, one row per position."""
    import torch

    own = {**dict(module.named_buffers(recurse=False)), **vars(module)}
    tables = {name: x for name, x in own.items() if isinstance(x, torch.Tensor) and TABLES.search(name)}
    for name, values in tables.items():
        if values.is_meta or not (values.is_floating_point() or values.is_complex()):
            continue
        values = values.detach().cpu()
        numbers = values.to(torch.complex128 if values.is_complex() else torch.float64).numpy().squeeze()
        if numbers.ndim == 3 and numbers.shape[-1] == 2:
            numbers = numbers[..., 0] + 1j * numbers[..., 1]
        if numbers.ndim != 2 or len(numbers) < 8:
            continue
        first, second = np.split(numbers, [numbers.shape[1] // 2], axis=1)
        if np.iscomplexobj(numbers):
            yield name, numbers
        elif "cos" in name and name.replace("cos", "sin") in tables and "sin" not in name:
            other = tables[name.replace("cos", "sin")].detach().cpu().double().numpy().squeeze()
            yield name, numbers + 1j * other
        elif "embed_positions" in name:  # the sines come first
            yield name, second + 1j * first
        elif "cos_sin" in name:
            yield name, first + 1j * second


def _by_pair(values: np.ndarray, expected: np.ndarray) -> np.ndarray | None:
    """Return per-pair cosines and sines from a per-pair or per-feature table (either layout), or None."""
    pairs, once = expected.shape[1], _once(values)
    if values.shape[1] == pairs:
        return values if once is None or _once(expected) is not None else None
    return once if values.shape[1] == 2 * pairs else None


def _once(values: np.ndarray) -> np.ndarray | None:
    """Return one copy of a table that holds every pair's numbers twice, in either layout; otherwise None."""
    if values.shape[1] % 2:
        return None
    neighbours, halves = (values[:, ::2], values[:, 1::2]), np.split(values, 2, axis=1)
    return next((one for one, two in (halves, neighbours) if np.allclose(one, two, atol=1e-6)), None)


def _compared(
    values: np.ndarray, spec: RopeSpec, positions: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return cosines + i · sines per pair, and a mask of those beyond rounding error; None if the pairs differ.

    Rounding error covers the table's number format and float32 frequencies.
    """
    angles = positions[:, None] * spec.inv_freq
    expected = spec.attention_factor * np.exp(1j * angles)
    by_pair = _by_pair(values, expected)
    if by_pair is None:
        return None
    mantissa = np.frexp(values.real)[0] * 2.0**11
    if float(np.abs(values.real - values.real.astype(np.float32)).max()) > 0:
        bits = 0.0
    elif np.isfinite(mantissa).all() and (mantissa == np.round(mantissa)).all():  # at most eleven bits
        bits = 2.0**-8
    else:
        bits = 2.0**-20
    bound = spec.attention_factor * (bits + 1e-6 + angles * FREQUENCY_TOLERANCE)
    return by_pair, ~(np.abs(by_pair - expected) <= bound)


def _off(values: np.ndarray, spec: RopeSpec, positions: np.ndarray) -> float:
    """Return the fraction of numbers that differ; the kind with the smallest fraction is the nearest."""
    compared = _compared(values, spec, positions)
    return 2.0 if compared is None else float(compared[1].mean())


def _frequency_error(own: np.ndarray, spec: RopeSpec) -> float:
    expected = spec.inv_freq
    alike = own.shape == expected.shape
    return float((np.abs(own - expected) / np.where(expected > 0, expected, 1)).max()) if alike else 2.0


def _difference(values: np.ndarray, spec: RopeSpec, positions: np.ndarray) -> dict[str, Any] | None:
    """Return a Fault's fields: found, wanted, and where they first differ; None if nothing differs."""
    pairs, width = len(spec.inv_freq), values.shape[1]
    compared = _compared(values, spec, positions)
    if compared is None:
        twice = _once(values) is not None
        shape = f"{width // 2} pairs, each twice" if twice else f"{width} numbers per position"
        return {"found": shape, "wanted": f"{pairs} pairs, or each twice in one of the two layouts"}
    by_pair, wrong = compared
    if not wrong.any():
        return None
    size = float(np.median(np.abs(by_pair)))
    if abs(size / spec.attention_factor - 1) > 0.01:
        found, wanted = f"cosines and sines of size {size:.6g}", f"{spec.attention_factor:.6g}"
        fix = "Multiply both by the attention factor, once."
        return {"found": found, "wanted": wanted, "fix": fix, "chapter": "Blend by wavelength"}
    row, pair = np.argwhere(wrong)[0].tolist()
    speeds = np.abs(np.angle(by_pair[list(positions).index(1)])) if 1 in positions else np.zeros(pairs)
    angle = float(np.angle(by_pair[row, pair] / np.exp(1j * positions[row] * spec.inv_freq[pair])))
    return {
        "found": f"{_as_words(speeds, spec)}, and an angle {abs(angle):.3g} rad off",
        "wanted": _as_words(spec.inv_freq, spec),
        "pair": pair,
        "position": int(positions[row]),
    }


def _as_words(speeds: np.ndarray, spec: RopeSpec) -> str:
    if not np.isfinite(speeds).all() or not (speeds > 0).any():
        return f"frequencies {_listed(speeds)}"
    base = describe_base(speeds, 2 * len(speeds), spec.head_dim)
    return f"{base} ({len(speeds)} pairs, the slowest {speeds.min():.6g} rad per token)"


def _listed(numbers: np.ndarray) -> str:
    shown = ", ".join(f"{number:.3g}" for number in numbers.ravel()[:4])
    return f"{shown}, …" if numbers.size > 4 else shown
