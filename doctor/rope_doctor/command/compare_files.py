r"""rope-doctor compare A B: find differences between two files' rotations, layer by layer, and what they cost.

The checks are kinds, windows, frequencies, layout, width, sections, attention-factor, softmax-scale, query-scale
and loading. All are central except loading, and except layout if the files do not specify it. The exit status is 0
only if all central checks ran and passed; it is 1 if a check differs, and 2 otherwise.
"""

import argparse
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from rope_doctor.command.judging import chosen_checks, in_json
from rope_doctor.command.read_files import name_of, rule_of
from rope_doctor.config.each_layer import NOT_STATED, Layer, runs
from rope_doctor.config.files import Statement, read_file
from rope_doctor.config.gguf_rotation import KEYS
from rope_doctor.config.reader import NOPE, Reading
from rope_doctor.config.values import ConfigError, format_value, visible
from rope_doctor.verdict import COULD_NOT_TELL, DIFFERS, HOLDS, NOT_RUN, Judged, Verdict

TOLERANCE = 1e-6  # in radians at the longest length; relative for an attention factor
# relative error of factors in rope_freqs, which converters compute in float32; 2e-7 for Llama 3.2
LIST_TOLERANCE = 5e-7
SCALE_TOLERANCE = 1e-5  # relative error of a softmax scale; a GGUF stores a tenth of a multiplier in float32
UNKNOWN_LENGTH = 4096  # tokens, if neither file specifies a length
CHECKS = {  # type of difference -> check that reports it
    "kinds of layers": "kinds",
    "rotation": "kinds",
    "windows": "windows",
    "frequencies": "frequencies",
    "layout": "layout",
    "width": "width",
    "sections": "sections",
    "attention factor": "attention-factor",
    "softmax scale": "softmax-scale",
    "query scale": "query-scale",
    "loading": "loading",
}
HIDDEN = "theta lost by 4"  # shown only if exactly one file has it, because all files in the transformers 5 form do
REMARKS_THAT_STAY = (
    "layout assumed",
    "not read",
    "theta lost by 5",
    "softmax not scaled",
    "factor ignored by 5",
)
UNKNOWN_LAYERS = 48  # layers to compare if neither file gives the number of layers
CHAPTERS = {  # chapter titles
    **dict.fromkeys(("kinds of layers", "rotation", "frequencies", "loading"), "Read a config"),
    **dict.fromkeys(("windows", "query scale"), "Count positions"),
    "softmax scale": "Blend by wavelength",
    "layout": "Tell two layouts apart",
    "width": "Tell variants apart",
    "sections": "Turn in more dimensions",
    "attention factor": "Blend by wavelength",
}


@dataclass(frozen=True)
class Difference:
    """A difference between the rotations in two files.

    Attributes:
        what: the property that differs, such as "frequencies".
        layers: the layers affected.
        wanted, found: the value of this property in the first and in the second file.
        fix: the smallest change to the second file that removes the difference.
        cost: for frequencies, a description of the angle error; otherwise "".
        pair: for frequencies, the first pair that differs; otherwise None.
        angle: for frequencies, the largest angle error in radians over the compared length; otherwise None.
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
    """The differences between two rotations at lengths up to `length`, with notes and a verdict."""

    length: int
    differences: tuple[Difference, ...]
    notes: tuple[str, ...]
    verdict: Verdict

    @property
    def alike(self) -> bool:
        """Return True if there are no differences; `verdict` records whether every central check ran."""
        return not self.differences

    def __str__(self) -> str:
        length = f"{self.length} tokens"
        verdict = f"They rotate alike, up to {length}." if self.alike else "They do not rotate alike."
        if self.verdict.status == COULD_NOT_TELL:
            verdict = f"Could not tell: nothing that was judged differs, up to {length}."
        notes = (f"Note: {note}" for note in self.notes)
        return "\n".join([verdict, *map(str, self.differences), *notes, str(self.verdict)])


def compare(wanted: str | Path | Statement, found: str | Path | Statement) -> Comparison:
    """Compare the rotations in two files, config.json or GGUF, for every layer kind.

    A GGUF stores numbers in float32, so the numbers in a config are rounded before it is compared with a GGUF.

    Args:
        wanted, found: a path, or the Statement that `read_file` returns for it.

    Raises:
        ConfigError: if a file cannot be read; the message gives the reason.
        OSError: if a file cannot be opened.
    """
    first, second = (file if isinstance(file, Statement) else read_file(file) for file in (wanted, found))
    readings = [*first.readings, *second.readings]
    length = max(reading.longest or reading.trained or UNKNOWN_LENGTH for reading in readings)
    grows = any(remark.kind == "depends on length" for reading in readings for remark in reading.remarks)
    lost = list(_lost(first, second))
    if first.form != second.form:
        first, second = first.kept, second.kept
    pairs = [(first, second), *([(first.at(length), second.at(length))] if grows else [])]
    differences: dict[tuple[str, str], Difference] = {}
    for a, b in pairs:
        for difference in _Sides(a, b, length).differences():
            differences.setdefault((difference.what, difference.layers), difference)
    layers, left_open = _layers(first, second)
    by_kind = list(differences.values())
    if any(each.what == "kinds of layers" for each in layers):  # reported above, layer by layer
        by_kind = [each for each in by_kind if CHECKS[each.what] != "kinds"]
    all_found = (*layers, *by_kind, *lost)
    left_open |= _not_judged(first, second, {difference.what for difference in all_found})
    return Comparison(length, all_found, tuple(_notes(first, second)), _verdict(all_found, left_open))


def _verdict(differences: Iterable[Difference], left_open: dict[str, str]) -> Verdict:
    """Return the verdict on all checks, given the differences and the reasons why some checks did not run."""
    differing = {CHECKS[difference.what] for difference in differences}
    checks = []
    for name in dict.fromkeys(CHECKS.values()):
        outcome = DIFFERS if name in differing else NOT_RUN if name in left_open else HOLDS
        reason = left_open.get(name, "") if outcome == NOT_RUN else ""
        central = name not in ("loading", "layout") or (name == "layout" and not reason)
        checks.append(Judged(name, outcome, reason, central))
    return Verdict(tuple(checks))


def _not_judged(wanted: Statement, found: Statement, differing: set[str]) -> dict[str, str]:
    """Return the reasons why rotation checks did not run."""
    reasons = {}
    if "width" in differing and "frequencies" not in differing:
        reasons["frequencies"] = "the widths differ"
    assumed = [
        file
        for file in (wanted, found)
        if any(remark.kind == "layout assumed" for reading in file.readings for remark in reading.remarks)
    ]
    if assumed and wanted.model != found.model:
        reasons["layout"] = f"{assumed[0].path} does not state which features pair"
    elif assumed and not wanted.model:
        reasons["layout"] = "neither file states which features pair"
    unsure = next(
        (f for f in (wanted, found) if any(each.softmax_scale is None for each in f.readings)), None
    )
    if unsure and (wanted.model != found.model or wanted.readings[0].factor != found.readings[0].factor):
        reasons["softmax-scale"] = (
            f"it is not known whether {visible(unsure.model) or unsure.path} scales by mscale_all_dim"
        )
    return reasons


def _lost(wanted: Statement, found: Statement) -> Iterator[Difference]:
    """Yield a difference if transformers 5 reads the first config's base but loses the second's."""
    texts = [
        [each.text for reading in file.readings for each in reading.remarks if each.kind == "theta lost by 5"]
        for file in (wanted, found)
    ]
    if texts[1] and not texts[0] and wanted.form == found.form:
        base = format_value(next(reading.base for reading in wanted.readings if reading.rope_type != NOPE))
        fix = f"Name the base {base} in {found.path} as {wanted.path} does."
        yield Difference(
            "loading", "all layers", f"a base of {base} that is read", f"{texts[1][0][:-1]}", fix
        )


def _layers(wanted: Statement, found: Statement) -> tuple[list[Difference], dict[str, str]]:
    """Compare kinds, windows and query scales layer by layer; also return why some were not compared."""
    both = wanted.layers, found.layers
    told = [layers for layers in both if layers.row is None]
    if told:
        if wanted.form == found.form and wanted.model == found.model and both[0].stated == both[1].stated:
            return [], {}  # the same code would read the same fields
        path = wanted.path if wanted.layers.row is None else found.path
        reason = f"{path}: {told[0].why}"
        return [], {"kinds": reason, "windows": reason, "query-scale": reason}
    counts = [layers.count for layers in both if layers.count]
    count = min(counts) if counts else UNKNOWN_LAYERS
    first, second = (layers.rows(count) for layers in both)
    if wanted.form != found.form:
        first, second = ([layer.coarse() for layer in rows] for rows in (first, second))
    rows = list(zip(first, second, strict=True))
    differences = [*_folded(rows, "kinds of layers", _kind), *_folded(rows, "query scale", _queries)]
    same_kinds = [(a, b) if _kind(a) == _kind(b) else (a, a) for a, b in rows]
    open_ = any(NOT_STATED in (a.window, b.window) for a, b in same_kinds)
    if open_ and (wanted.form, wanted.model) == (found.form, found.model):
        open_ = any((a.window == NOT_STATED) != (b.window == NOT_STATED) for a, b in same_kinds)
    known = [(a, b) if NOT_STATED not in (a.window, b.window) else (a, a) for a, b in same_kinds]
    differences += _folded(known, "windows", lambda layer: f"{layer.label}, {_tokens(layer)}")
    silent = wanted if any(a.window == NOT_STATED for a, b in same_kinds) else found
    reasons = {"windows": f"{silent.path} does not state its window"} if open_ else {}
    fix = f"State these layers in {found.path} as in {wanted.path}."
    return [replace(each, fix=fix) for each in differences], reasons


def _kind(layer: Layer) -> str:
    return str(replace(layer, window=None))


def _queries(layer: Layer) -> str:
    return (
        f"queries × {layer.queries}, so scores depend on more than the distance"
        if layer.queries
        else "no scale"
    )


def _tokens(layer: Layer) -> str:
    return "every earlier token" if layer.window is None else f"window {layer.window}"


def _folded(rows: list[tuple[Layer, Layer]], what: str, text: Callable[[Layer], str]) -> Iterator[Difference]:
    """Yield a single difference for all layers that differ in the same way."""
    groups: dict[tuple[str, str], list[int]] = {}
    for index, (a, b) in enumerate(rows):
        if text(a) != text(b):
            groups.setdefault((text(a), text(b)), []).append(index)
    for (first, second), indices in groups.items():
        layers = f"{'layer' if len(indices) == 1 else 'layers'} {runs(indices)} of {len(rows)}"
        yield Difference(what, layers, first, second, "")


def _notes(wanted: Statement, found: Statement) -> Iterator[str]:
    if wanted.permuted != found.permuted:
        gguf = found if found.permuted else wanted
        pairs = "neighbours" if gguf.permuted == "half_split" else "halves"
        yield (
            f"{gguf.path} pairs {pairs}, so the rows of q and k must have been permuted. "
            "Only the weights show whether they were."
        )
    lengths = [{reading.longest for reading in file.readings if reading.longest} for file in (wanted, found)]
    if all(lengths) and lengths[0] != lengths[1]:
        first, second = (", ".join(map(str, sorted(claimed))) for claimed in lengths)
        yield f"The files claim different lengths, {first} and {second} tokens."
    counts = [file.layers.count for file in (wanted, found)]
    if all(counts) and counts[0] != counts[1]:
        yield f"The files state different numbers of layers, {counts[0]} and {counts[1]}."
    hidden = [
        any(each.kind == HIDDEN for reading in file.readings for each in reading.remarks)
        for file in (wanted, found)
    ]
    stay = (*REMARKS_THAT_STAY, *([HIDDEN] if hidden[0] != hidden[1] and wanted.form == found.form else []))
    for file in (wanted, found):
        remarks = [remark for reading in file.readings for remark in reading.remarks]
        texts = (remark.text for remark in remarks if remark.kind in stay)
        yield from (f"{file.path}: {text}" for text in dict.fromkeys(texts))


@dataclass(frozen=True)
class _Sides:
    wanted: Statement
    found: Statement
    length: int

    def differences(self) -> Iterator[Difference]:
        kinds = [[reading.layer_type for reading in file.readings] for file in (self.wanted, self.found)]
        # kinds named in either file, and None if both have unnamed layers
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
        first, second = (file.permuted or spec.layout for file, spec in ((self.wanted, a), (self.found, b)))
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
        if a.rotary_dim == b.rotary_dim:
            yield from self.frequencies(layers, wanted, found)
        if abs(a.attention_factor / b.attention_factor - 1) > TOLERANCE:
            first, second = (f"{spec.attention_factor:.9g}" for spec in (a, b))
            fix = self.fix("rope_scaling.attention_factor", a.attention_factor)
            yield Difference("attention factor", layers, first, second, fix)
        scale, other = wanted.softmax_scale, found.softmax_scale
        if scale and other and abs(scale / other - 1) > SCALE_TOLERANCE:
            first, second = (f"× {each:.6g} on 1/√d" for each in (scale, other))
            fix = f"Multiply the softmax scale by {scale:.6g}, as {self.wanted.path} does."
            yield Difference("softmax scale", layers, first, second, fix)

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
        """Return the fix for differing frequencies: the first setting to change."""
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
    """Compare two files; exit status 0 if every central check passes, 1 if any check fails, otherwise 2."""
    result = compare(chosen.wanted, chosen.found)
    verdict = chosen_checks(result.verdict, chosen)
    differing = {check.name for check in verdict.checks if check.outcome == DIFFERS}
    kept = tuple(each for each in result.differences if CHECKS[each.what] in differing)
    result = replace(result, differences=kept, verdict=verdict)
    facts = {"alike": result.verdict.right, **asdict(result), "verdict": in_json(verdict)}
    return verdict.status, facts, str(result)
