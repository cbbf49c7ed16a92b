r"""List plausible but wrong rotations for a config, each with a single cause."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rope_doctor.config.reader import NOPE, Reading
from rope_doctor.probes.layer_kinds import LayerKinds
from rope_edu.encodings.spatial import section_axes
from rope_edu.encodings.spec import RopeSpec, plain_rope

LISTS = ("longrope",)


@dataclass(frozen=True)
class Alternative:
    """A wrong rotation, its cause, and its description in a report."""

    cause: str
    words: str
    spec: RopeSpec


def alternatives(reading: Reading, kinds: LayerKinds, length: int) -> Iterator[Alternative]:
    """Yield the rotations that a model might apply by mistake to a text of `length` tokens.

    The first one that matches the model determines the cause. Candidates are the rotation of a different layer
    kind, the rule for a different text length, the rule omitted or applied twice, and different sections.
    """
    spec, rule = reading.spec, reading.rope_type
    for label, other in kinds.turning.items():
        if label != reading.layer_type and not same(other.spec, spec):
            yield Alternative("kind_of_another", f"as in {kinds.words(label)}", other.spec)
    if reading.trained and rule in (*LISTS, "dynamic"):
        short, long = (
            kinds.at_length(n)[reading.layer_type].spec for n in (reading.trained, reading.trained + 1)
        )
        if rule in LISTS:
            early = "switch_early" if length == reading.trained else "long_list"
            is_short = same(short, spec)
            yield Alternative(
                early if is_short else "short_list", "by the other list", long if is_short else short
            )
        elif not same(short, spec):
            yield Alternative("rule_stays", "as a text of the trained length", short)
    if rule not in ("default", NOPE):
        plain = plain_rope(spec.head_dim, reading.base, rotary_dim=spec.rotary_dim, layout=spec.layout)
        plain = plain.replace(axes=spec.axes)
        if not same(plain, spec):
            yield Alternative("rule_missing", f"by plain frequencies, base {reading.base:.6g}", plain)
            twice = spec.inv_freq**2 / plain.inv_freq
            yield Alternative("factor_twice", "by the rule applied twice", spec.replace(inv_freq=twice))
    if spec.axes is not None:
        runs = tuple(sorted(spec.axes))
        for cause, axes in (("sections_contiguous", runs), ("sections_interleaved", _in_turns(spec))):
            if axes not in (None, spec.axes):
                yield Alternative(cause, cause.replace("_", " "), spec.replace(axes=axes))
        for axis in range(max(spec.axes) + 1):
            yield Alternative(
                "one_coordinate", f"by coordinate {axis} alone", spec.replace(axes=(axis,) * len(runs))
            )


def same(one: RopeSpec, other: RopeSpec) -> bool:
    """Return whether two rotations are equal up to rounding."""
    return (
        (one.kind == NOPE) == (other.kind == NOPE)
        and (one.head_dim, one.layout, one.axes) == (other.head_dim, other.layout, other.axes)
        and one.inv_freq.shape == other.inv_freq.shape
        and np.allclose(one.inv_freq, other.inv_freq, rtol=1e-6, atol=0)
        and bool(np.isclose(one.attention_factor, other.attention_factor, rtol=1e-6))
    )


def _in_turns(spec: RopeSpec) -> tuple[int, ...] | None:
    """Return the axes of interleaved sections, or None if these sections cannot be interleaved."""
    try:
        return tuple(section_axes(len(spec.inv_freq), list(spec.sections or ()), "interleaved").tolist())
    except ValueError:
        return None
