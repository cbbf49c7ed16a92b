r"""Check whether the rotary modules and the attention of a live torch model rotate as specified in its config."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from rope_doctor.probes import watching
from rope_doctor.probes.faults import Fault, ranked
from rope_doctor.probes.layer_kinds import LAYER, LayerKinds
from rope_doctor.probes.modules import ModuleProbe
from rope_doctor.probes.names import unwrapped
from rope_doctor.probes.recording import OTHER_PARTS
from rope_doctor.probes.softmax_scale import query_gains, stated_scale
from rope_doctor.probes.watching import Watched
from rope_doctor.probes.windows import judge_windows, must_be_judged
from rope_doctor.verdict import DIFFERS, HOLDS, NOT_RUN, Judged, Verdict, choose

CHECKS = (  # (name, whether the verdict "right" requires this check)
    ("frequencies", False),
    ("queries and keys", True),
    ("layers", True),
    ("softmax scale", False),
    ("query scale", False),
    ("longer texts", False),
    ("coordinates", False),
    ("windows", False),
)


@dataclass(frozen=True)
class ModelReport:
    """The verdict on a live model's rotation, with its faults, completed probes and notes; `print` shows them.

    Attributes:
        verdict: the outcome of each check and, if it did not run, the reason.
        faults: likeliest cause first. Fix the first and check again, because the others often disappear with it.
    """

    verdict: Verdict
    faults: tuple[Fault, ...]
    probed: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def right(self) -> bool | None:
        """Return True if the model rotates as specified, False if not, None if a central check did not run."""
        return self.verdict.right

    def __str__(self) -> str:
        first_line = {
            True: "The model rotates as its config states.",
            False: "The model does not rotate as its config states.",
            None: "Could not tell whether the model rotates as its config states.",
        }
        lines = [first_line[self.right], *map(str, self.faults[:1])]
        if self.faults[1:]:
            lines += ["Also seen:", *(f"    {fault.seen}" for fault in self.faults[1:])]
        lines += [f"Probed: {probe}." for probe in self.probed] + [f"Note: {note}" for note in self.notes]
        return "\n".join([*lines, str(self.verdict)])


def check_model(
    model: Any,
    config: Any = None,
    *,
    only: Collection[str] = (),
    skip: Collection[str] = (),
    require: Collection[str] = (),
) -> ModelReport:
    r"""Probe a live torch model's rotary modules, and the queries and keys that reach its attention.

    The model is probed as it is now, for example after loading or `.to(torch.bfloat16)`, and on its device. Modules
    that return cosines and sines are called, frequency buffers and tables are read, and the model runs on a text of
    one repeated token, whose queries differ only because of the rotation. Each layer is compared with the config's
    rotation for its kind.

    Args:
        model: a `torch.nn.Module`.
        config: the expected rotation: a dict, a config.json path, a preset name, or None for the model's config.
        only, skip, require: names of checks: the only ones to run, those to skip, and those to count as central.

    Raises:
        ValueError: if the config is missing or unreadable, or a check is unknown; the message gives the reason.

    >>> from rope_doctor.probes.little import Little  # two layers, heads of 16, base 10,000
    >>> config = {"model_type": "llama", "head_dim": 16, "rope_theta": 500_000.0}
    >>> print(check_model(Little(), config).faults[0])
    Cause: The frequencies belong to another base: the config's θ was not used.
        Evidence: layers.0.rotary and 1 more (all layers): Found base 10000 (8 pairs, the slowest 0.000316228 rad
        per token), and an angle 0.122 rad off, expected base 500000 (8 pairs, the slowest 1.03134e-05 rad per
        token). First difference: pair 1, position 1.
        Fix: Make the rotary module from this config, with its base (rope_theta): a change of model.config reaches
        no module. Chapter “Read a config”.

    Chapter 24.
    """
    model = unwrapped(model)
    kinds = LayerKinds.of(model, config)
    probe = ModuleProbe(model, kinds)
    probe.run()
    watched = watching.watch(model, kinds)
    scales, unscaled = watching.scale_faults(watched, kinds)
    windows, unseen = judge_windows(model, kinds)
    faults = [*probe.faults, *_of_all_layers(watched, kinds), *scales, *windows]
    reasons = {"softmax scale": unscaled, "windows": unseen}
    verdict = choose(_judged(faults, probe, watched, reasons, kinds), only=only, skip=skip, require=require)
    differing = {check.name for check in verdict.checks if check.outcome == DIFFERS}
    faults = _of_many_layers([fault for fault in faults if fault.check in differing])
    return ModelReport(
        verdict,
        ranked(faults),
        (*(f"{where}{what}" for what, where in _grouped(probe.probed)), *_words_of(watched)),
        tuple(probe.notes),
    )


def _of_many_layers(faults: list[Fault]) -> list[Fault]:
    """Merge equal faults of several layers or modules into one."""
    keys = [(f.layers, f.cause, f.check, f.found if f.check == "frequencies" else "") for f in faults]
    first = dict(zip(reversed(keys), reversed(faults), strict=True))
    wheres = zip(keys, (fault.where for fault in faults), strict=True)
    return [replace(first[key], where=where) for key, where in _grouped(wheres)]


def _words_of(watched: Watched) -> Iterator[str]:
    judged = watched.judged()
    if judged:
        among = f"{len(judged)} of {len(watched.layers)} layers"
        places = f"{watched.positions} positions up to {watched.longest}"
        yield f"queries and keys as they reach attention, in {among}, at {places}"


def _of_all_layers(watched: Watched, kinds: LayerKinds) -> list[Fault]:
    """Return the faults in attention, with causes that depend on all layers together."""
    still = {fault.where for fault in watched.faults if fault.cause == "no_layer_rotates"}
    turning = {
        name
        for name in watched.judged()
        if any(reading.layer_type in kinds.turning for reading in kinds.allowed(name))
    }
    others = {fault.where for fault in watched.faults if fault.cause == "still_layers_rotate"}
    some = bool(turning - still or others)
    swapped = {fault.layers for fault in watched.faults if fault.cause == "kind_of_another"}
    inverted = some and any(fault.cause == "still_layers_rotate" for fault in watched.faults)

    def cause(fault: Fault) -> str:
        if fault.cause == "no_layer_rotates" and inverted:
            return "still_list_inverted"
        if fault.cause == "no_layer_rotates" and some:
            return "layers_left_still"
        return "kinds_exchanged" if fault.cause == "kind_of_another" and len(swapped) > 1 else fault.cause

    return [replace(fault, cause=cause(fault)) for fault in watched.faults]


def _judged(
    faults: list[Fault],
    probe: "ModuleProbe",
    watched: Watched,
    told: dict[str, str],
    kinds: LayerKinds,
) -> list[Judged]:
    """Return the outcome of every check; `told` gives the reasons why some checks did not run."""
    unseen, missing = watched.failed, "attention was not watched"
    if not unseen and not watched.judged():
        unseen = "no attention was seen in which tokens differ by position alone"
    missing = missing if unseen else ""
    modules = "" if probe.probed else "no module gives cosines and sines or has frequencies"
    reasons = {
        "frequencies": modules,
        "queries and keys": unseen,
        "layers": missing or _unmatched(probe.model, watched, kinds),
        "softmax scale": missing or told["softmax scale"],
        "query scale": watched.query_scale or missing,
        "longer texts": watched.long_texts or missing,
        "coordinates": watched.coordinates or missing,
        "windows": missing or told["windows"],
    }
    ruled = any(
        reading.rope_type in watching.BY_LENGTH and reading.trained for reading in kinds.turning.values()
    )
    stated = any(stated_scale(kinds, width)[1] for _, width in watched.scales.values())
    sections = any(reading.spec.axes for reading in kinds.turning.values())
    scaled = query_gains(kinds) is not None or watched.grows
    central = dict(CHECKS) | {
        "softmax scale": stated,
        "query scale": scaled,
        "longer texts": ruled,
        "coordinates": sections,
        "windows": must_be_judged(kinds),
    }
    differing = {fault.check for fault in faults}
    return [
        Judged(name, DIFFERS, central=central[name])
        if name in differing
        else Judged(name, NOT_RUN if reasons[name] else HOLDS, reasons[name], central[name])
        for name, _ in CHECKS
    ]


def _numbers(names: Iterable[str]) -> set[int]:
    """Return the indices of the layers with these names."""
    return {int(layer[1]) for name in names if (layer := LAYER.search(name)) and not OTHER_PARTS.search(name)}


def _unmatched(model: Any, watched: Watched, kinds: LayerKinds) -> str:
    """Return why an attention layer was not observed or not matched to a kind, or "" if all of them were."""
    unjudged = [name for name, judged in watched.layers.items() if not judged]
    if unjudged:
        return f"{_grouped_names(unjudged)}: tokens differ by more than their position"
    seen, present = _numbers(watched.layers), _numbers(name for name, _ in model.named_modules())
    missing = sorted(set(kinds.attending or ()) & present - seen)
    if missing:
        several = "layers" if len(missing) > 1 else "layer"
        return f"no attention was seen in {several} {', '.join(map(str, missing[:8]))}{', …' * (len(missing) > 8)}"
    unknown = [name for name in watched.layers if len(kinds.allowed(name)) > 1]
    if unknown:
        return f"the config does not say which kind {_grouped_names(unknown)} is"
    return ""


def _grouped_names(names: list[str]) -> str:
    return (
        f"{names[0] or 'attention'} and {len(names) - 1} more" if len(names) > 1 else names[0] or "attention"
    )


def _grouped(items: Iterable[tuple[Any, str]]) -> Iterator[tuple[Any, str]]:
    """Yield each distinct item with its first name and, as text, the number of further names."""
    places: dict[Any, list[str]] = {}
    for item, where in items:
        places.setdefault(item, []).append(where)
    for item, (first, *more) in places.items():
        yield item, f"{first} and {len(more)} more" if more else first
