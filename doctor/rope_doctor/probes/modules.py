r"""Check whether the rotary modules of a live torch model produce the rotation that its config specifies."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from rope_doctor.clinic import diagnose, frequencies
from rope_doctor.config.reader import Reading
from rope_doctor.probes import tables, watching
from rope_doctor.probes.alternatives import alternatives
from rope_doctor.probes.faults import Fault
from rope_doctor.probes.layer_kinds import LayerKinds
from rope_doctor.probes.recording import OTHER_PARTS
from rope_doctor.probes.tables import POSITIONS, as_words, listed
from rope_doctor.probes.watching import FREQUENCY_TOLERANCE
from rope_edu.encodings.spec import RopeSpec

LEAST_FREQUENCY = 1e-14  # radians per token; real frequencies are higher, and most leftover numbers lower
RULES_OF_TRANSFORMERS = {"default", "linear", "dynamic", "yarn", "longrope", "llama3", "proportional"}


@dataclass
class ModuleProbe:
    model: Any
    kinds: LayerKinds
    faults: list[Fault] = field(default_factory=list)
    probed: list[tuple[str, str]] = field(default_factory=list)  # (description of the check, module name)
    notes: list[str] = field(default_factory=list)

    def run(self) -> None:
        for name, module in self.model.named_modules():
            buffers = _frequencies(module)
            if OTHER_PARTS.search(name):
                if buffers:
                    self.notes.append(f"{name} was not examined: it does not rotate text.")
                continue
            for buffer, values in buffers:
                self.frequencies(name, buffer, values, module)
            for table, values in tables.stored(module):
                self.compare_table(f"{name}.{table}".lstrip("."), values)
        swapped = {fault.layers for fault in self.faults if fault.cause == "kind_of_another"}
        if len(swapped) > 1:
            self.faults = [
                replace(fault, cause="kinds_exchanged") if fault.cause == "kind_of_another" else fault
                for fault in self.faults
            ]

    def frequencies(self, name: str, buffer: str, values: Any, module: Any) -> None:
        """Judge a module's frequencies by the cosines and sines that it returns, or else by the stored numbers."""
        label = self.kinds.named(_prefix(buffer)) or self.kinds.of_module(name)
        if self.never_filled(f"{name}.{buffer}".lstrip("."), label, values):
            return
        try:
            takes = list(inspect.signature(module.forward).parameters)
        except (TypeError, ValueError):
            takes = []
        if len(takes) < 2:
            return
        prefix = _prefix(buffer) if "layer_type" in takes else ""
        call = partial(tables.called, module, self.model, layer_type=prefix)
        self.compare(name, label, call, module, buffer)

    def never_filled(self, where: str, label: str | None, values: Any) -> bool:
        """Return whether a frequency buffer was never filled, after adding the fault if so."""
        if values.is_meta:
            found = "no numbers, on the meta device"
        else:
            numbers = values.double().cpu().numpy().ravel()
            if not any(
                _is_memory(numbers, reading.spec.inv_freq) for reading in self.kinds.candidates(label)[:1]
            ):
                return False
            found = f"numbers that cannot be frequencies, {listed(numbers)}"
        self.probed.append((", stored numbers", where))
        words = self.kinds.words(label)
        self.add(where, words, "never_filled", {"found": found, "wanted": "frequencies from 1 downwards"})
        return True

    def add(
        self, where: str, words: str, cause: str, evidence: dict[str, Any], named: tuple[str, ...] = ()
    ) -> None:
        self.faults.append(Fault(where, words, cause=cause, check="frequencies", named=named, **evidence))

    def nearest(
        self, where: str, label: str | None, off: Callable[[RopeSpec], float], probe: str
    ) -> tuple[Reading, str] | None:
        """Record the probe, and return the reading that minimises `off` with its layers as text, or None."""
        best = min(self.kinds.candidates(label), key=lambda reading: off(reading.spec), default=None)
        if best is None:
            return None
        words = self.kinds.words(best.layer_type)
        self.probed.append((f" ({words}), {probe}", where))
        return best, words

    def compare(self, name: str, label: str | None, call: Any, module: Any, buffer: str) -> None:
        """Compare a module's cosines and sines with the expected ones, and add a fault if they differ."""
        readings = self.kinds.candidates(label)
        trained = min((watching.below_the_switch(reading) or 2048 for reading in readings), default=2048)
        positions = np.array([position for position in POSITIONS if position < min(trained, 2048)])
        try:
            values = call(positions)
            reason = "its result cannot be read as cosines and sines"
        except Exception as error:
            values, reason = None, f"{type(error).__name__}: {str(error)[:80]}"
        if values is None:
            self.compare_numbers(name, label, module, buffer, reason)
            return
        probe = f"cosines and sines at {len(positions)} positions up to {positions[-1]}"
        best = self.nearest(name, label, lambda spec: tables.off(values, spec, positions), probe)
        if best is None:
            self.notes.append(f"{name}: the config states no rotation for these layers.")
            return
        reading, words = best
        fault = tables.difference(values, reading.spec, positions)
        if fault is None:
            return
        if reading.rope_type != "default":
            fault["wanted"] = fault["wanted"].replace(
                "no base fits", f"{reading.rope_type} of base {reading.base:.6g}"
            )
        own = dict(_frequencies(module))[buffer]
        cause, named = _cause_in_buffer(own, buffer, reading, module) or (None, ())
        cause = cause or _cause_in_table(values, reading, positions, self.kinds)
        cause = cause or _cause_in_clinic(call, reading, positions) or _by_speeds(values, reading, positions)
        self.add(name, words, cause, fault, named)

    def compare_numbers(self, name: str, label: str | None, module: Any, buffer: str, reason: str) -> None:
        """Compare the stored frequencies with the expected ones if the module cannot be called."""
        values = dict(_frequencies(module))[buffer]
        own, where = values.double().cpu().numpy().ravel(), f"{name}.{buffer}".lstrip(".")
        best = self.nearest(where, label, partial(_frequency_error, own), f"stored numbers only: {reason}")
        if best is None or _frequency_error(own, best[0].spec) <= FREQUENCY_TOLERANCE:
            return
        reading, words = best
        spec, pair = reading.spec, 0
        if own.shape == spec.inv_freq.shape:
            pair = int(np.argmax(~np.isclose(own, spec.inv_freq, rtol=FREQUENCY_TOLERANCE)))
        evidence = {"found": as_words(own, spec), "wanted": as_words(spec.inv_freq, spec), "pair": pair}
        cause, named = _cause_in_buffer(values, buffer, reading, module) or (None, ())
        self.add(where, words, cause or _name_of(own, spec), evidence, named)

    def compare_table(self, where: str, rows: np.ndarray) -> None:
        """Compare a stored table, one row per position, with the expected one."""
        positions = np.array([position for position in POSITIONS if position < len(rows)])
        values = rows[positions]
        label, probe = self.kinds.of_module(where), f"{len(rows)} rows of a table"
        best = self.nearest(where, label, lambda spec: tables.off(values, spec, positions), probe)
        if best is None:
            return
        reading, words = best
        if not np.isfinite(values).all() or not np.abs(values).max() > 1e-3:
            evidence = {"found": "a table that was never filled", "wanted": "cosines and sines"}
            self.add(where, words, "never_filled", evidence)
        elif (fault := tables.difference(values, reading.spec, positions)) is not None:
            cause = _cause_in_table(values, reading, positions, self.kinds)
            cause = cause or _by_speeds(values, reading, positions)
            rounded = cause.startswith("frequencies_in_")
            self.add(where, words, "table_rounded" if rounded else cause, fault, (where,) if rounded else ())


def _cause_in_buffer(
    values: Any, buffer: str, reading: Reading, module: Any
) -> tuple[str, tuple[str, ...]] | None:
    """Return the cause revealed by a module's stored frequencies or rule, with names for the fix, or None."""
    own, width = values.double().cpu().numpy().ravel(), str(values.dtype).removeprefix("torch.")
    expected = reading.spec.inv_freq
    narrow = width in ("bfloat16", "float16") and own.shape == expected.shape
    if narrow and np.allclose(own, expected, rtol=2.0**-7, atol=1e-7):
        return "cast", (buffer, width)
    rule = getattr(module, "rope_type", None)
    rule = rule.get(_prefix(buffer)) if isinstance(rule, dict) else rule
    if (
        isinstance(rule, str)
        and rule != reading.rope_type
        and {rule, reading.rope_type} <= RULES_OF_TRANSFORMERS
    ):
        return "config_changed", ()
    return None


def _cause_in_table(
    values: np.ndarray, reading: Reading, positions: np.ndarray, kinds: LayerKinds
) -> str | None:
    """Return the cause if these cosines and sines match an alternative rotation, otherwise None."""
    for other in alternatives(reading, kinds, int(positions[-1]) + 1):
        factors = {other.spec.attention_factor, reading.spec.attention_factor, 1.0}
        specs = (other.spec.replace(attention_factor=factor) for factor in factors)
        if any(tables.difference(values, spec, positions) is None for spec in specs):
            return other.cause
    return None


def _cause_in_clinic(call: Any, reading: Reading, positions: np.ndarray) -> str | None:
    """Diagnose a rotation with these cosines and sines in the clinic; return the first mistake, or None."""
    if reading.rope_type in watching.BY_LENGTH or reading.spec.axes is not None:
        return None
    spec = reading.spec

    def rotate(x: np.ndarray, at: np.ndarray) -> np.ndarray:
        table = tables.by_pair(call(at, exact=True), np.ones((len(at), len(spec.inv_freq)), complex))
        assert table is not None  # the same call succeeded earlier
        first, second = np.split(x[:, : spec.rotary_dim], 2, axis=1)
        turned = first * table.real - second * table.imag, first * table.imag + second * table.real
        return np.concatenate((*turned, x[:, spec.rotary_dim :]), axis=1)

    try:
        found = diagnose(rotate, spec.head_dim, against=spec.replace(layout="half_split"))
    except (ValueError, TypeError, AssertionError):
        return None
    known = [name for name in found.mistakes if name not in ("reordered", "other_layout")]
    return min(known, key=lambda name: name.startswith("attention_factor"), default=None)


def _by_speeds(values: np.ndarray, reading: Reading, positions: np.ndarray) -> str:
    """Return the mistake in the frequencies, which are the angles at position 1 of a table."""
    spec = reading.spec
    table = tables.by_pair(values, np.ones((len(values), len(spec.inv_freq)), complex))
    if table is None:
        return "other_width"
    if 1 not in positions:
        return "other_frequencies"
    speeds = np.abs(np.angle(table[list(positions).index(1)]))
    for width, bits in (("float16", 11), ("bfloat16", 8)):
        if speeds.shape == spec.inv_freq.shape and np.allclose(
            speeds, spec.inv_freq, rtol=2.0**-bits, atol=1e-7
        ):
            return f"frequencies_in_{width}"
    return _name_of(speeds, spec)


def _name_of(speeds: np.ndarray, spec: RopeSpec) -> str:
    """Return the clinic's name for the mistake in these frequencies."""
    if speeds.shape != spec.inv_freq.shape:
        return "other_width"
    base = frequencies.fit_base(speeds, spec.rotary_dim).base
    return next(
        iter(frequencies.differ(speeds, spec, base, frequencies.SPEED_TOLERANCE)), "other_frequencies"
    )


def _is_memory(numbers: np.ndarray, expected: np.ndarray) -> bool:
    """Return whether numbers are uninitialised memory rather than the result of a rule."""
    if not np.isfinite(numbers).all() or (numbers < 0).any() or not 0 < numbers.max() <= 1.01:
        return True
    if numbers.shape != expected.shape or np.allclose(numbers, expected, rtol=2.0**-7, atol=1e-7):
        return False  # the expected numbers after a cast, which may round the slowest to 0
    empty = (numbers < LEAST_FREQUENCY) & (expected > 0)
    return bool(empty.any()) or frequencies.is_uninitialised(numbers, expected)


def _frequency_error(own: np.ndarray, spec: RopeSpec) -> float:
    expected = spec.inv_freq
    alike = own.shape == expected.shape
    return float((np.abs(own - expected) / np.where(expected > 0, expected, 1)).max()) if alike else 2.0


def _prefix(buffer: str) -> str:
    """Return the part of a buffer's name before "inv_freq": "" or the name of a layer kind."""
    return buffer.removesuffix("inv_freq").rstrip("_")


def _frequencies(module: Any) -> list[tuple[str, Any]]:
    """Return (name, values) for each buffer or parameter with frequencies in a module, excluding submodules."""
    tensors = dict(module.named_buffers(recurse=False)) | dict(module.named_parameters(recurse=False))
    return [(name, x) for name, x in tensors.items() if name.endswith("inv_freq") and "original" not in name]
