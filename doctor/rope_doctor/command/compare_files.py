r"""rope-doctor compare A B: whether two files state the same rotation, and what it costs if not."""

import argparse
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from rope_doctor.command.read_files import name_of, rule_of
from rope_doctor.config.files import Statement, read_file
from rope_doctor.config.gguf_rotation import KEYS
from rope_doctor.config.reader import NOPE, Reading
from rope_doctor.config.values import ConfigError, format_value

TOLERANCE = 1e-6  # radians at the longest length; relative for an attention factor
# relative error of factors in rope_freqs: converters compute them in float32, 2e-7 off for Llama 3.2
LIST_TOLERANCE = 5e-7
UNKNOWN_LENGTH = 4096  # tokens, if neither file specifies a length
CHAPTERS = {  # chapter titles
    **dict.fromkeys(("kinds of layers", "rotation", "frequencies"), "Read a config"),
    "layout": "Tell two layouts apart",
    "width": "Tell variants apart",
    "sections": "Turn in more dimensions",
    "attention factor": "Blend by wavelength",
}


@dataclass(frozen=True)
class Difference:
    """One way in which the second file's rotation differs from the first's.

    Attributes:
        what, layers: what differs, such as "frequencies", and in which layers, as text.
        wanted, found: its form in the first file and in the second, as text.
        fix: the smallest change to the second file.
        cost, pair, angle: for frequencies, the error of the angles as text, the first pair that differs, and the
            largest error within the length, in radians; otherwise "" and None.
    """

    what: str
    layers: str
    wanted: str
    found: str
    fix: str
    cost: str = ""
    pair: int | None = None
    angle: float | None = None

    def __str__(self) -> str:
        verb = "differ" if self.what.endswith("s") else "differs"
        cost = f"    Cost: {self.cost}\n" if self.cost else ""
        return (
            f"{self.layers[0].upper()}{self.layers[1:]}: the {self.what} {verb}.\n"
            f"    Found {self.found}, expected {self.wanted}.\n{cost}"
            f"    Fix: {self.fix} Chapter “{CHAPTERS[self.what]}”."
        )


@dataclass(frozen=True)
class Comparison:
    """The outcome: the differences at lengths up to `length` (none if the rotations are the same), and notes."""

    length: int
    differences: tuple[Difference, ...]
    notes: tuple[str, ...]

    @property
    def alike(self) -> bool:
        """Return whether both files specify the same rotation."""
        return not self.differences

    def __str__(self) -> str:
        length = f"{self.length} tokens"
        verdict = f"They rotate alike, up to {length}." if self.alike else "They do not rotate alike."
        return "\n".join([verdict, *map(str, self.differences), *(f"Note: {note}" for note in self.notes)])


def compare(wanted: str | Path | Statement, found: str | Path | Statement) -> Comparison:
    """Compare the rotations in two files, config.json or GGUF, for every layer kind.

    A GGUF stores numbers in float32, so the numbers of a config are rounded before it is compared with one.

    Args:
        wanted, found: a path, or the Statement that `read_file` returns for it.

    Raises:
        ConfigError: a file could not be read; the message says why.
        OSError: a file could not be opened.
    """
    first, second = (file if isinstance(file, Statement) else read_file(file) for file in (wanted, found))
    readings = [*first.readings, *second.readings]
    length = max(reading.longest or reading.trained or UNKNOWN_LENGTH for reading in readings)
    grows = any(remark.kind == "depends on length" for reading in readings for remark in reading.remarks)
    if first.form != second.form:
        first, second = first.kept, second.kept
    pairs = [(first, second), *([(first.at(length), second.at(length))] if grows else [])]
    differences: dict[tuple[str, str], Difference] = {}
    for a, b in pairs:
        for difference in _Sides(a, b, length).differences():
            differences.setdefault((difference.what, difference.layers), difference)
    return Comparison(length, tuple(differences.values()), tuple(_notes(first, second)))


def _notes(wanted: Statement, found: Statement) -> Iterator[str]:
    if wanted.permuted != found.permuted:
        gguf = found if found.permuted else wanted
        yield (
            f"{gguf.path} pairs neighbours, so the rows of q and k must have been permuted. "
            "Only the weights show whether they were."
        )
    lengths = [{reading.longest for reading in file.readings if reading.longest} for file in (wanted, found)]
    if all(lengths) and lengths[0] != lengths[1]:
        first, second = (", ".join(map(str, sorted(claimed))) for claimed in lengths)
        yield f"The files claim different lengths, {first} and {second} tokens."
    for file in (wanted, found):
        remarks = [remark for reading in file.readings for remark in reading.remarks]
        texts = (remark.text for remark in remarks if remark.kind in ("layout assumed", "not read"))
        yield from (f"{file.path}: {text}" for text in dict.fromkeys(texts))


@dataclass(frozen=True)
class _Sides:
    wanted: Statement
    found: Statement
    length: int

    def differences(self) -> Iterator[Difference]:
        kinds = [[reading.layer_type for reading in file.readings] for file in (self.wanted, self.found)]
        # the kinds that either file names, and None if both have unnamed layers
        labels = [label for names in kinds for label in names if label is not None]
        for label in dict.fromkeys([*([None] if all(None in names for names in kinds) else []), *labels]):
            try:
                wanted, found = self.wanted.of(label), self.found.of(label)
            except ConfigError:
                first, second = (", ".join(map(name_of, names)) for names in kinds)
                fix = f"State these layers in {self.found.path}."
                yield Difference("kinds of layers", name_of(label), first, second, fix)
                continue
            yield from self.of_kind(name_of(label), wanted, found)

    def of_kind(self, layers: str, wanted: Reading, found: Reading) -> Iterator[Difference]:
        still = wanted.rope_type == NOPE, found.rope_type == NOPE
        if any(still):
            fix = f"These layers must {'not ' if still[0] else ''}be rotated by {self.found.path}."
            if not all(still):
                yield Difference("rotation", layers, rule_of(wanted), rule_of(found), fix)
            return
        a, b = wanted.spec, found.spec
        first, second = (
            "half_split" if file.permuted else spec.layout
            for file, spec in ((self.wanted, a), (self.found, b))
        )
        if first != second:
            fix = "Rotate with the other layout, or permute the rows of q and k (convert_projection)."
            yield Difference("layout", layers, first, second, fix)
        if (a.rotary_dim, a.head_dim) != (b.rotary_dim, b.head_dim):
            first, second = (f"{spec.rotary_dim} of {spec.head_dim} features" for spec in (a, b))
            field = "rotary_dim" if a.rotary_dim != b.rotary_dim else "head_dim"
            yield Difference("width", layers, first, second, self.fix(field, getattr(a, field)))
        if a.axes != b.axes:
            first, second = (f"{side.spec.sections}, {side.section_order}" for side in (wanted, found))
            fix = self.fix("rope_scaling.mrope_section", a.sections and list(a.sections))
            yield Difference("sections", layers, first, second, fix)
        if abs(a.attention_factor / b.attention_factor - 1) > TOLERANCE:
            first, second = (f"{spec.attention_factor:.9g}" for spec in (a, b))
            fix = self.fix("rope_scaling.attention_factor", a.attention_factor)
            yield Difference("attention factor", layers, first, second, fix)
        if a.rotary_dim == b.rotary_dim:
            yield from self.frequencies(layers, wanted, found)

    def frequencies(self, layers: str, wanted: Reading, found: Reading) -> Iterator[Difference]:
        a, b = wanted.spec.inv_freq, found.spec.inv_freq
        errors = np.abs(a - b) * self.length
        listed = (wanted.spec.kind == "factors") != (found.spec.kind == "factors")
        wrong = errors > TOLERANCE + (LIST_TOLERANCE * a * self.length if listed else 0)
        if not wrong.any():
            return
        pair, worst = int(wrong.argmax()), int(errors.argmax())
        half = np.pi / abs(a[worst] - b[worst])
        when = f", and half a turn off from token {half:.0f} on" if half < self.length else ""
        yield Difference(
            "frequencies",
            layers,
            f"{rule_of(wanted)}: {a[pair]:.9g}",
            f"{rule_of(found)}: pair {pair} of {len(a)} turns by {b[pair]:.9g} rad per token",
            self.cause(wanted, found),
            f"pair {worst} is {errors[worst]:.3g} rad off at {self.length} tokens{when}.",
            pair,
            float(errors[worst]),
        )

    def cause(self, wanted: Reading, found: Reading) -> str:
        """Return the fix for frequencies that differ: the first setting to change."""
        if wanted.base != found.base:
            return self.fix("rope_theta", wanted.base)
        rule = wanted.rope_type
        if self.found.form == "GGUF" and rule in ("llama3", "proportional"):
            return f"Write the factors of {rule} as the tensor rope_freqs.weight of {self.found.path}."
        if rule != found.rope_type:
            factor = "" if wanted.factor is None else f", with factor {format_value(wanted.factor)}"
            return f"State the rule {rule}{factor} in {self.found.path}."
        if wanted.factor is not None and wanted.factor != found.factor and found.factor is not None:
            return self.fix("rope_scaling.factor", wanted.factor)
        return f"Copy the numbers of the rule {rule} from {self.wanted.path} to {self.found.path}."

    def fix(self, field: str, value: object) -> str:
        if self.found.form == "GGUF" and field in KEYS:
            field = f"{self.found.model}.{KEYS[field]}"
        return f"Set {field.rpartition('rope_scaling.')[2]} to {format_value(value)} in {self.found.path}."


def run(chosen: argparse.Namespace) -> tuple[int, object, str]:
    """Compare two files; exit status 0 if their rotations are the same, 1 if not."""
    result = compare(chosen.wanted, chosen.found)
    return 0 if result.alike else 1, {"alike": result.alike, **asdict(result)}, str(result)
