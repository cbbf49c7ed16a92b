r"""Watch a live torch model's attention: are queries and keys turned as the config states?

A text of one token repeated has equal queries in all places, layer after layer, but for what depends on the
position. So the query at position p must be the one at position 0, turned by p.
"""

from __future__ import annotations

import contextlib
import inspect
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from rope_edu.clinic.frequencies import describe_base
from rope_edu.config.reader import STILL
from rope_edu.encodings.layouts import pair_slices
from rope_edu.encodings.rotary import apply_rope
from rope_edu.encodings.spec import RopeSpec
from rope_edu.probes.kinds import Kinds

POSITIONS = np.array([*range(12), 15, 31, 40, 63, 64, 100, 127, 200, 255, 300, 511, 777, 1023])
ROUNDINGS = 64  # of q and k, between the embedding and attention
FLOAT32 = 4e-6  # relative error of frequencies whose powers are computed in float32
EQUAL = 64  # roundings by which values of one token may differ
CLOCKWISE = {"nanochat"}  # architectures that turn by −angle, which no config states
DIAGNOSE, READ = "Diagnose a rotation", "Read a config"  # chapters


@dataclass(frozen=True)
class Fault:
    """A thing that a live model's rotation does otherwise than its config states, in words."""

    where: str  # the module, by its name in the model
    layers: str  # the kind of layers
    found: str
    wanted: str
    fix: str  # the smallest change
    chapter: str = DIAGNOSE  # that explains it
    pair: int | None = None  # the first that differs, and the first position at which it does
    position: int | None = None

    def __str__(self) -> str:
        first = {"pair": self.pair, "position": self.position}
        known = ", ".join(f"{name} {value}" for name, value in first.items() if value is not None)
        at = f" The first that differs: {known}." if known else ""
        return (
            f"{self.where} ({self.layers}):\n    Found {self.found}, wanted {self.wanted}.{at}\n"
            f"    Fix: {self.fix} Chapter “{self.chapter}”."
        )


@dataclass(frozen=True)
class Seen:
    """Queries or keys of one head that reached attention in a layer, `(seq, width)`."""

    name: str  # "queries" or "keys"
    rows: np.ndarray
    before: tuple[np.ndarray, ...]  # outputs of the modules inside this attention, at the first place


def check(model: Any, kinds: Kinds) -> tuple[list[Fault], list[str], list[str]]:
    """Return the faults of queries and keys, what was probed, and notes."""
    longest = min((each.trained or each.longest or 1024 for each in kinds.turning.values()), default=1024)
    positions = POSITIONS[min(longest, 1024) > POSITIONS]
    try:
        seen, positions, eps = _run(model, positions)
    except Exception as error:
        said = str(error).partition("\n")[0][:100]
        return [], [], [f"Attention was not watched: {type(error).__name__}: {said}"]
    if not seen:
        return [], [], ["Attention was not watched: no call of it could be seen."]
    mixing = _with_convolutions(model)
    faults: dict[tuple[str, str], Fault] = {}
    judged = 0
    for layer, values, turned in seen:
        if not _equal(values, eps) or layer in mixing:
            continue
        judged += 1
        found = (_judge(each, layer, kinds, positions, eps) for each in turned)
        if (fault := next(filter(None, found), None)) is not None:
            faults.setdefault((fault.layers, fault.found), fault)
    probed = f"queries and keys as they reach attention, in {judged} of {len(seen)} layers"
    rest = len(seen) - judged
    skipped = f"{rest} layers were not watched: something besides a rotation tells places apart there."
    return list(faults.values()), [probed] if judged else [], [skipped] if rest else []


def _with_convolutions(model: Any) -> set[str]:
    """Return the modules that hold a convolution, which tells the first places from later ones."""
    import torch

    names = [name for name, each in model.named_modules() if isinstance(each, torch.nn.Conv1d)]
    return {name[:end] for name in names for end in range(len(name)) if name[end] == "."}


def _run(model: Any, positions: np.ndarray) -> tuple[list[Any], np.ndarray, float]:
    """Run one token repeated; return (layer, values, [queries, keys]) of each attention, positions, eps."""
    import torch

    parameter = next(each for each in model.parameters() if each.is_floating_point())
    takes = inspect.signature(model.forward).parameters
    if "position_ids" not in takes:
        positions = np.arange(min(64, int(positions[-1]) + 1))
    tokens = torch.full((1, len(positions)), 7, device=parameter.device)
    given: dict[str, Any] = {}
    if "position_ids" in takes:
        given["position_ids"] = torch.tensor(positions, device=parameter.device)[None]
        if "attention_mask" in takes:
            given["attention_mask"] = torch.ones_like(tokens)
    was = model.training
    model.eval()
    try:
        with watched(model) as calls, torch.no_grad():
            model(tokens, **given)
    finally:
        model.train(was)
    eps = 2.0**-24 if parameter.dtype in (torch.float32, torch.float64) else 2.0**-9
    found = []
    for name, q, k, v, before in calls:
        if q.shape[-2] == len(positions) == k.shape[-2]:
            q, k, v = (each.double().cpu().numpy()[0, 0] for each in (q, k, v))
            outputs = tuple(each.double().cpu().numpy() for each in before)
            found.append((name, v, [Seen("queries", q, outputs), Seen("keys", k, outputs)]))
    return found, positions, eps


@contextlib.contextmanager
def watched(model: Any) -> Iterator[list[tuple[str, Any, Any, Any, tuple[Any, ...]]]]:
    """Collect (module's name, q, k, v, …) of each call of attention, torch's or through transformers' interface."""
    from unittest import mock

    import torch

    calls: list[tuple[str, Any, Any, Any, tuple[Any, ...]]] = []
    running: list[str] = []
    inside = [0]
    outputs: dict[str, Any] = {}

    def keep(name: str, out: Any) -> None:
        if isinstance(out, torch.Tensor) and out.ndim > 2:
            outputs[name] = out[0].flatten(1)[0].detach() if out.shape[1] else out

    def through(attend: Callable[..., Any], first: int) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            if not inside[0]:
                named = dict(zip(("query", "key", "value"), args[first:], strict=False)) | options
                q, k, v = named["query"], named["key"], named["value"]
                where = running[-1] if running else ""
                before = tuple(each for name, each in outputs.items() if name.startswith(where))
                calls.append((where, q.detach(), k.detach(), v.detach(), before))
            inside[0] += 1
            try:
                return attend(*args, **options)
            finally:
                inside[0] -= 1

        return call

    with contextlib.ExitStack() as stack:
        for name, module in model.named_modules():
            hooks = [
                module.register_forward_pre_hook(lambda *_, name=name: running.append(name)),
                module.register_forward_hook(lambda *_: running.pop() and None, always_call=True),
            ]
            if not any(True for _ in module.children()):
                hooks.append(module.register_forward_hook(lambda _, given, out, name=name: keep(name, out)))
            for hook in hooks:
                stack.callback(hook.remove)
        functional = torch.nn.functional
        own = through(functional.scaled_dot_product_attention, 0)
        stack.enter_context(mock.patch.object(functional, "scaled_dot_product_attention", own))
        transformers = sys.modules.get("transformers.modeling_utils")
        if interface := getattr(transformers, "AttentionInterface", None):
            get = interface.get_interface
            theirs = lambda self, name, default: through(get(self, name, default), 1)  # noqa: E731
            stack.enter_context(mock.patch.object(interface, "get_interface", theirs))
        yield calls


def _equal(values: np.ndarray, eps: float) -> bool:
    size = float(np.abs(values).max())
    return bool(np.abs(values - values[0]).max() <= EQUAL * eps * size) if size else True


def _judge(seen: Seen, layer: str, kinds: Kinds, positions: np.ndarray, eps: float) -> Fault | None:
    """Return the fault of one layer's queries or keys, or None."""
    label = kinds.of_layer(layer)
    reading = kinds.readings.get(label) if label else None
    allowed = [reading] if reading else list(kinds.readings.values())
    rows = seen.rows * (np.linalg.norm(seen.rows[0]) / np.linalg.norm(seen.rows, axis=1))[:, None]
    offs = [_off(rows, each.spec, positions, eps) for each in allowed]
    if any(not off.any() for off in offs):
        return None
    if kinds.config.get("model_type") in CLOCKWISE:
        flipped = [each.spec.replace(inv_freq=-each.spec.inv_freq) for each in allowed]
        if any(not _off(rows, spec, positions, eps).any() for spec in flipped):
            return None
    if any(_comes_out_in_halves(seen, each.spec, positions, eps) for each in allowed):
        return None
    wanted, off = min(zip(allowed, offs, strict=True), key=lambda each: int(each[1].sum()))
    spec, still = wanted.spec, wanted.rope_type == STILL
    found, fix, chapter = _explained(rows, spec, kinds, positions, eps, still)
    base = describe_base(spec.inv_freq, spec.rotary_dim, spec.head_dim)
    return Fault(
        layer or "attention",
        kinds.words(wanted.layer_type),
        f"{seen.name} {found}",
        "none turned" if still else f"turned {spec.layout}, {base}",
        fix,
        chapter,
        position=int(positions[off.argmax()]),
    )


def _comes_out_in_halves(seen: Seen, spec: RopeSpec, positions: np.ndarray, eps: float) -> bool:
    """Tell whether neighbours are turned and come out as halves, as in DeepSeek-V3.

    Behind the rotation that looks as halves do; the order in which features went in tells the two apart.
    """
    if spec.kind == STILL or spec.layout != "interleaved":
        return False
    rows, d = seen.rows, spec.rotary_dim
    if _off(rows, spec.replace(layout="half_split"), positions, eps).any():
        return False
    for start in dict.fromkeys((rows.shape[1] - spec.head_dim, 0)):
        part = rows[0, start : start + d]
        for out in seen.before:
            if len(out) >= d and np.linalg.norm(part):
                went_in = np.lib.stride_tricks.sliding_window_view(out, d)
                halves = np.concatenate((went_in[:, ::2], went_in[:, 1::2]), axis=1)
                sizes = np.linalg.norm(halves, axis=1) * np.linalg.norm(part)
                if (halves @ part > (1 - ROUNDINGS * eps) * sizes).any():  # up to a factor
                    return True
    return False


def _off(
    rows: np.ndarray, spec: RopeSpec, positions: np.ndarray, eps: float, wide: float = 1.0
) -> np.ndarray:
    """Return for each position whether the row is another than the first one, turned by some error at most."""
    wanted = _turned(rows, spec, positions)
    if wanted is None:
        return np.ones(len(rows), bool)
    apart = np.linalg.norm(rows - wanted, axis=1) / float(np.linalg.norm(rows[0]))
    return np.asarray(apart > ROUNDINGS * eps + wide * FLOAT32 * positions)


def _turned(rows: np.ndarray, spec: RopeSpec, positions: np.ndarray) -> np.ndarray | None:
    """Return the first row turned by each position; the part that turns is all, or the end, or the beginning."""
    width, first = rows.shape[1], rows[0]
    if spec.kind == STILL:
        return np.tile(first, (len(rows), 1))
    if spec.head_dim > width:
        return None
    best: np.ndarray | None = None
    for start in dict.fromkeys((0, width - spec.head_dim)):
        turned = np.tile(first, (len(rows), 1))
        part = turned[:, start : start + spec.head_dim]
        angles = positions[:, None] * spec.inv_freq
        turned[:, start : start + spec.head_dim] = apply_rope(part, angles, layout=spec.layout)
        if best is None or np.abs(rows - turned).sum() < np.abs(rows - best).sum():
            best = turned
    return best


def _explained(
    rows: np.ndarray, spec: RopeSpec, kinds: Kinds, positions: np.ndarray, eps: float, still: bool
) -> tuple[str, str, str]:
    """Return what was found instead, the fix and the chapter."""
    if spec.head_dim > rows.shape[1]:
        fix = f"State head_dim in the config, or make heads of {spec.head_dim} features."
        return f"{rows.shape[1]} features wide", fix, READ

    def fits(other: RopeSpec, at: np.ndarray = positions) -> bool:
        return not _off(rows, other, at, eps, wide=4.0).any()

    swapped = "half_split" if spec.layout == "interleaved" else "interleaved"
    if fits(spec.replace(kind=STILL)) and not still:
        return "not turned at all", "Rotate q and k in these layers.", "Put RoPE in attention"
    if still:
        return "turned", "Do not rotate these layers.", "Tell variants apart"
    if fits(spec.replace(layout=swapped)):
        fix = "Rotate with the other layout, or permute the rows of q and k (convert_projection)."
        return f"turned {swapped}", fix, "Tell two layouts apart"
    if fits(spec.replace(inv_freq=2 * spec.inv_freq)):
        return "turned twice", "Rotate once, and not again inside attention.", DIAGNOSE
    if fits(spec.replace(inv_freq=-spec.inv_freq)):
        return "turned clockwise", "Turn by +angle, or negate sin in one place.", DIAGNOSE
    if fits(spec, np.arange(len(positions))):
        return "turned by row number", "Pass the position ids on to the rotation.", "Count positions"
    for label, other in kinds.turning.items():
        if fits(other.spec):
            found = f"turned as in {kinds.words(label)}"
            return found, "Give each kind of layers its own parameters.", READ
    found = f"turned otherwise: {_speeds(rows, spec, positions)}"
    return found, "Give the rotation the config of these layers: base, rule and width.", READ


def _speeds(rows: np.ndarray, spec: RopeSpec, positions: np.ndarray) -> str:
    """Return the base that the pairs of the wanted layout follow from position 0 to 1, in words."""
    pairs, start = len(spec.inv_freq), rows.shape[1] - spec.head_dim
    part = rows[:2, start : start + 2 * pairs]
    first, second = pair_slices(2 * pairs, spec.layout)
    numbers = part[:, first] + 1j * part[:, second]
    if not np.allclose(np.abs(numbers[0]), np.abs(numbers[1]), rtol=0.05):
        return "not by these pairs"
    speeds = np.abs(np.angle(numbers[1] / numbers[0])) / max(1, int(positions[1] - positions[0]))
    return describe_base(speeds, 2 * pairs, spec.head_dim)
