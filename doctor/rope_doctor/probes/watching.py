r"""Watch a live torch model's attention: are queries and keys turned as the config states?

A text of one token repeated has equal queries in all places, layer after layer, but for what depends on the
position. So the query at position p must be the one at position 0, turned by p.
"""

import contextlib
import inspect
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from rope_doctor.clinic.frequencies import describe_base
from rope_doctor.config.reader import STILL
from rope_doctor.probes.kinds import Kinds
from rope_edu.encodings.layouts import pair_slices
from rope_edu.encodings.rotary import apply_rope
from rope_edu.encodings.spec import RopeSpec

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
    """Queries or keys of one head that reached attention in a layer."""

    name: str  # "queries" or "keys"
    rows: np.ndarray  # (seq, width), all of the first one's length
    positions: np.ndarray  # (seq,)
    eps: float  # of the numbers
    before: tuple[np.ndarray, ...]  # outputs of the modules inside this attention, at the first place

    def off(self, spec: RopeSpec, at: np.ndarray | None = None, wide: float = 1.0) -> np.ndarray:
        """Tell of each row whether it is another than the first one turned by its position, or by those of `at`.

        The part that turns is all, or the beginning, or the end.
        """
        positions, width = self.positions if at is None else at, self.rows.shape[1]
        angles, wanted = positions[:, None] * spec.inv_freq, []
        for start in dict.fromkeys((0, width - spec.head_dim)):
            turned = np.tile(self.rows[0], (len(self.rows), 1))
            part = slice(start, start + spec.head_dim)
            if spec.kind != STILL and spec.head_dim <= width:
                turned[:, part] = apply_rope(turned[:, part], angles, layout=spec.layout)
            wanted.append(turned)
        if spec.kind != STILL and spec.head_dim > width:
            return np.ones(len(self.rows), bool)
        apart = min((np.linalg.norm(self.rows - each, axis=1) for each in wanted), key=np.sum)
        allowed = ROUNDINGS * self.eps + wide * FLOAT32 * positions
        return np.asarray(apart > allowed * np.linalg.norm(self.rows[0]))


def check(model: Any, kinds: Kinds) -> tuple[list[Fault], list[str], list[str]]:
    """Return the faults of queries and keys, the places probed, and notes."""
    import torch

    try:
        seen = _run(model, kinds)
    except Exception as error:
        said = str(error).partition("\n")[0][:100]
        return [], [], [f"Attention was not watched: {type(error).__name__}: {said}"]
    if not seen:
        return [], [], ["Attention was not watched: no call of it could be seen."]
    # a convolution tells the first places from later ones
    names = [name for name, each in model.named_modules() if isinstance(each, torch.nn.Conv1d)]
    mixing = {name[:end] for name in names for end in range(len(name)) if name[end] == "."}
    judged = [(layer, turned) for layer, alike, turned in seen if alike and layer not in mixing]
    faults: dict[tuple[str, str], Fault] = {}
    for layer, turned in judged:
        found = (_judge(each, layer, kinds) for each in turned)
        if (fault := next(filter(None, found), None)) is not None:
            faults.setdefault((fault.layers, fault.found), fault)
    probed = f"queries and keys as they reach attention, in {len(judged)} of {len(seen)} layers"
    rest = len(seen) - len(judged)
    skipped = f"{rest} layers were not watched: something besides a rotation tells places apart there."
    return list(faults.values()), [probed] if judged else [], [skipped] if rest else []


def _run(model: Any, kinds: Kinds) -> list[tuple[str, bool, list[Seen]]]:
    """Run one token repeated; return layer, whether its values are equal, queries and keys of each attention."""
    import torch

    longest = min((each.trained or each.longest or 1024 for each in kinds.turning.values()), default=1024)
    positions = POSITIONS[min(longest, 1024) > POSITIONS]
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
            alike = bool(np.abs(v - v[0]).max() <= EQUAL * eps * np.abs(v).max())
            lengths = ((each, np.linalg.norm(each, axis=1, keepdims=True)) for each in (q, k))
            q, k = (each * (length[0] / length) for each, length in lengths)
            seen = [Seen(kind, rows, positions, eps, outputs) for kind, rows in (("queries", q), ("keys", k))]
            found.append((name, alike, seen))
    return found


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


def _judge(seen: Seen, layer: str, kinds: Kinds) -> Fault | None:
    """Return the fault of one layer's queries or keys, or None."""
    label = kinds.of_layer(layer)
    reading = kinds.readings.get(label) if label else None
    allowed = [reading] if reading else list(kinds.readings.values())
    specs = [each.spec for each in allowed]
    offs = [seen.off(spec) for spec in specs]
    if kinds.config.get("model_type") in CLOCKWISE:
        offs += [seen.off(spec.replace(inv_freq=-spec.inv_freq)) for spec in specs]
    if any(not off.any() for off in offs) or any(_comes_out_in_halves(seen, spec) for spec in specs):
        return None
    wanted, off = min(zip(allowed, offs, strict=False), key=lambda each: int(each[1].sum()))
    spec, still = wanted.spec, wanted.rope_type == STILL
    found, fix, chapter = _explained(seen, spec, kinds, still)
    base = describe_base(spec.inv_freq, spec.rotary_dim, spec.head_dim)
    return Fault(
        layer or "attention",
        kinds.words(wanted.layer_type),
        f"{seen.name} {found}",
        "none turned" if still else f"turned {spec.layout}, {base}",
        fix,
        chapter,
        position=int(seen.positions[off.argmax()]),
    )


def _comes_out_in_halves(seen: Seen, spec: RopeSpec) -> bool:
    """Tell whether neighbours are turned and come out as halves, as in DeepSeek-V3.

    Behind the rotation that looks as halves do; the order in which features went in tells the two apart.
    """
    halved = spec.kind != STILL and spec.layout == "interleaved"
    if not halved or seen.off(spec.replace(layout="half_split")).any():
        return False
    rows, d = seen.rows, spec.rotary_dim
    for start in dict.fromkeys((rows.shape[1] - spec.head_dim, 0)):
        part = rows[0, start : start + d]
        for out in seen.before:
            if len(out) >= d and np.linalg.norm(part):
                went_in = np.lib.stride_tricks.sliding_window_view(out, d)
                halves = np.concatenate((went_in[:, ::2], went_in[:, 1::2]), axis=1)
                sizes = np.linalg.norm(halves, axis=1) * np.linalg.norm(part)
                if (halves @ part > (1 - ROUNDINGS * seen.eps) * sizes).any():  # up to a factor
                    return True
    return False


def _explained(seen: Seen, spec: RopeSpec, kinds: Kinds, still: bool) -> tuple[str, str, str]:
    """Return the finding, the fix and the chapter."""
    width = seen.rows.shape[1]
    if spec.head_dim > width:
        fix = f"State head_dim in the config, or make heads of {spec.head_dim} features."
        return f"{width} features wide", fix, READ

    def fits(other: RopeSpec, at: np.ndarray | None = None) -> bool:
        return not seen.off(other, at, wide=4.0).any()

    swapped = "half_split" if spec.layout == "interleaved" else "interleaved"
    if still:
        return "turned", "Do not rotate these layers.", "Tell variants apart"
    if fits(spec.replace(kind=STILL)):
        return "not turned at all", "Rotate q and k in these layers.", "Put RoPE in attention"
    if fits(spec.replace(layout=swapped)):
        fix = "Rotate with the other layout, or permute the rows of q and k (convert_projection)."
        return f"turned {swapped}", fix, "Tell two layouts apart"
    if fits(spec.replace(inv_freq=2 * spec.inv_freq)):
        return "turned twice", "Rotate once, and not again inside attention.", DIAGNOSE
    if fits(spec.replace(inv_freq=-spec.inv_freq)):
        return "turned clockwise", "Turn by +angle, or negate sin in one place.", DIAGNOSE
    if fits(spec, np.arange(len(seen.rows))):
        return "turned by row number", "Pass the position ids on to the rotation.", "Count positions"
    for label, other in kinds.turning.items():
        if fits(other.spec):
            found = f"turned as in {kinds.words(label)}"
            return found, "Give each kind of layers its own parameters.", READ
    found = f"turned otherwise: {_speeds(seen, spec)}"
    return found, "Give the rotation the config of these layers: base, rule and width.", READ


def _speeds(seen: Seen, spec: RopeSpec) -> str:
    """Return the base that the pairs of the wanted layout follow from position 0 to 1, in words."""
    width, start = spec.rotary_dim, seen.rows.shape[1] - spec.head_dim
    first, second = pair_slices(width, spec.layout)
    part = seen.rows[:2, start : start + width]
    before, after = part[:, first] + 1j * part[:, second]
    if not np.allclose(np.abs(before), np.abs(after), rtol=0.05):
        return "not by these pairs"
    speeds = np.abs(np.angle(after / before)) / max(1, int(seen.positions[1] - seen.positions[0]))
    return describe_base(speeds, width, spec.head_dim)
