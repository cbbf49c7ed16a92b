r"""rope-doctor read FILE…: print the rotation in a config.json, a checkpoint folder or a GGUF."""

import argparse
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np

from rope_doctor.config.each_layer import Layer, runs
from rope_doctor.config.files import Statement, read_file
from rope_doctor.config.reader import NOPE, Reading
from rope_doctor.config.values import format_value, visible


def described(statement: Statement) -> dict[str, Any]:
    """Return a file's rotations as JSON-ready numbers, strings, lists and dicts."""
    layers = [_fields(reading) for reading in statement.readings]
    rows = statement.layers.rows(statement.layers.count or 0)
    return {
        "file": str(statement.path),
        "form": statement.form,
        "model": statement.model,
        "layers": layers,
        "each_layer": [asdict(row) for row in rows],
        "each_layer_not_told": statement.layers.why,
    }


def _fields(reading: Reading) -> dict[str, Any]:
    spec = reading.spec
    return {
        "layers": reading.layer_type,
        "rule": reading.rope_type,
        "base": None if reading.rope_type == NOPE else reading.base,
        "factor": reading.factor,
        "head_dim": spec.head_dim,
        "rotary_dim": 0 if reading.rope_type == NOPE else spec.rotary_dim,
        "layout": spec.layout,
        "sections": spec.sections,
        "section_order": reading.section_order,
        "attention_factor": spec.attention_factor,
        "softmax_scale": reading.softmax_scale,
        "trained": reading.trained,
        "claimed": reading.longest,
        "inv_freq": spec.inv_freq.tolist(),
        "remarks": [remark.text for remark in reading.remarks],
    }


def in_words(statement: Statement) -> str:
    """Return a file's rotations as lines of text."""
    model = f", {visible(statement.model)}" if statement.model else ""
    lines = [f"{visible(str(statement.path))}: {statement.form}{model}"]
    remarks: dict[str, None] = {}
    for reading in statement.readings:
        lines += [f"  {name:17} {value}" for name, value in _lines(reading)]
        remarks |= dict.fromkeys(f"  - {remark.text}" for remark in reading.remarks)
    lines += [f"  {name:17} {value}" for name, value in _each_layer(statement)]
    if statement.permuted:
        pairs = "neighbours" if statement.permuted == "half_split" else "halves"
        remarks[f"  - llama.cpp pairs {pairs} here, so the converter permutes the rows of q and k."] = None
    return "\n".join([*lines, *remarks])


def _each_layer(statement: Statement) -> Iterator[tuple[str, str]]:
    """Yield a line per group of identical layers, if layers differ or have windows, and lines on query scales."""
    layers = statement.layers
    rows = layers.rows(layers.count or 0)
    groups: dict[Layer, list[int]] = {}
    for index, row in enumerate(rows):
        groups.setdefault(row, []).append(index)
    if len(groups) > 1 or any(row.window for row in groups):
        yield from ((f"layers {runs(each)}", visible(str(row))) for row, each in groups.items())
    if not rows and layers.why and layers.stated:
        yield "each layer", f"not told: {layers.why}"
    for text in dict.fromkeys(row.queries for row in rows or layers.rows(1) if row.queries):
        yield "queries", f"× {text} at position p, so scores depend on more than the distance"


def _lines(reading: Reading) -> Iterator[tuple[str, str]]:
    spec = reading.spec
    yield "layers", name_of(reading.layer_type)
    if reading.rope_type == NOPE:
        yield "rotation", "none"
        return
    yield "width", f"{spec.rotary_dim} of {spec.head_dim} features rotate, {spec.layout}"
    yield "rule", rule_of(reading)
    turning = spec.inv_freq[spec.inv_freq > 1e-20]
    if len(turning):
        slow, fast = 2 * np.pi / turning.min(), 2 * np.pi / turning.max()
        yield "wavelengths", f"{fast:.6g} … {slow:.6g} tokens"
    if spec.attention_factor != 1:
        yield "attention factor", f"{spec.attention_factor:.6g}"
    if reading.softmax_scale != 1:
        scale = reading.softmax_scale
        yield "softmax scale", "not known" if scale is None else f"× {scale:.6g}"
    if spec.sections:
        yield "sections", f"{', '.join(map(str, spec.sections))}, {reading.section_order}"
    lengths = {"trained": reading.trained, "claimed": reading.longest}
    known = [f"{name} {length}" for name, length in lengths.items() if length]
    yield "tokens", ", ".join(known) or "not in the file"


def name_of(layer_type: str | None) -> str:
    """Return a layer kind's name as text."""
    named = {None: "all layers", "nope": "layers without position"}
    return named.get(layer_type, f"{visible(str(layer_type))} layers")


def rule_of(reading: Reading) -> str:
    """Return a rule as text: "llama3, base 500000, factor 8"."""
    if reading.rope_type == NOPE:
        return "no rotation"
    words = [reading.rope_type, f"base {format_value(reading.base)}"]
    if reading.factor is not None:
        words.append(f"factor {format_value(reading.factor)}")
    return ", ".join(words)


def run(chosen: argparse.Namespace) -> tuple[int, object, str]:
    """Read files; exit status 0, or 2 if any of them could not be read."""
    status, facts, words = 0, [], []
    for path in chosen.files:
        try:
            statement = read_file(path)
            facts.append(described(statement))
            words.append(in_words(statement))
        except (ValueError, OSError) as error:
            status = 2
            facts.append({"file": path, "could_not_tell": str(error)})
            words.append(f"{path}: could not be read: {error}")
    return status, facts, "\n".join(words)
