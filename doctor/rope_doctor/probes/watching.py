r"""Watch a live torch model's attention: are queries and keys rotated as the config specifies?

In a text of one repeated token, all queries of a layer are equal before the rotation. So the query at position p
must be the query at position 0, rotated by p.
"""

import contextlib
import inspect
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from rope_doctor.clinic.frequencies import describe_base
from rope_doctor.config.reader import NOPE
from rope_doctor.probes.layer_kinds import LayerKinds
from rope_edu.encodings.layouts import pair_slices
from rope_edu.encodings.rotary import apply_rope
from rope_edu.encodings.spec import RopeSpec

POSITIONS = np.array([*range(12), 15, 31, 40, 63, 64, 100, 127, 200, 255, 300, 511, 777, 1023])
QK_ROUNDINGS = 64  # roundings allowed in q and k between the embedding and attention
FREQUENCY_TOLERANCE = 4e-6  # relative error of frequencies computed as powers in float32
V_ROUNDINGS = 64  # roundings allowed between values of the same token
CLOCKWISE = {"nanochat"}  # architectures that rotate by −angle; no config field specifies this
DIAGNOSE, READ = "Diagnose a rotation", "Read a config"  # chapter titles


@dataclass(frozen=True)
class Fault:
    """One way in which a live model's rotation departs from its config, as text."""

    where: str  # name of the module in the model
    layers: str  # layer kind
    found: str
    wanted: str
    fix: str  # smallest change
    chapter: str = DIAGNOSE  # title of the chapter that explains the fault
    pair: int | None = None  # first pair that differs
    position: int | None = None  # first position at which it differs

    def __str__(self) -> str:
        first = {"pair": self.pair, "position": self.position}
        known = ", ".join(f"{name} {value}" for name, value in first.items() if value is not None)
        at = f" First difference: {known}." if known else ""
        return (
            f"{self.where} ({self.layers}):\n    Found {self.found}, expected {self.wanted}.{at}\n"
            f"    Fix: {self.fix} Chapter “{self.chapter}”."
        )


@dataclass(frozen=True)
class AttentionInput:
    """Queries or keys of one head as they reach attention in a layer."""

    name: str  # "queries" or "keys"
    rows: np.ndarray  # (seq, width), scaled to the length of the first row
    positions: np.ndarray  # (seq,)
    eps: float  # relative rounding error of the model's number format
    before: tuple[np.ndarray, ...]  # outputs of this attention's modules at the first token

    def off(self, spec: RopeSpec, at: np.ndarray | None = None, wide: float = 1.0) -> np.ndarray:
        """Return whether each row differs from the first row rotated by that row's position, or by `at`.

        The rotated part may be the whole row, its beginning or its end.
        """
        positions, width = self.positions if at is None else at, self.rows.shape[1]
        angles, expected = positions[:, None] * spec.inv_freq, []
        for start in dict.fromkeys((0, width - spec.head_dim)):
            rotated = np.tile(self.rows[0], (len(self.rows), 1))
            part = slice(start, start + spec.head_dim)
            if spec.kind != NOPE and spec.head_dim <= width:
                rotated[:, part] = apply_rope(rotated[:, part], angles, layout=spec.layout)
            expected.append(rotated)
        if spec.kind != NOPE and spec.head_dim > width:
            return np.ones(len(self.rows), bool)
        apart = min((np.linalg.norm(self.rows - rotated, axis=1) for rotated in expected), key=np.sum)
        allowed = QK_ROUNDINGS * self.eps + wide * FREQUENCY_TOLERANCE * positions
        return np.asarray(apart > allowed * np.linalg.norm(self.rows[0]))


def check_attention(model: Any, kinds: LayerKinds) -> tuple[list[Fault], list[str], list[str]]:
    """Return the faults in queries and keys, descriptions of the probes, and notes."""
    import torch

    try:
        calls = _run(model, kinds)
    except Exception as error:
        first_line = str(error).partition("\n")[0][:100]
        return [], [], [f"Attention was not watched: {type(error).__name__}: {first_line}"]
    if not calls:
        return [], [], ["Attention was not watched: no call of it was observed."]
    # a convolution makes the first tokens differ from later ones
    names = [name for name, module in model.named_modules() if isinstance(module, torch.nn.Conv1d)]
    mixing = {name[:end] for name in names for end in range(len(name)) if name[end] == "."}
    judged = [(layer, inputs) for layer, alike, inputs in calls if alike and layer not in mixing]
    faults: dict[tuple[str, str], Fault] = {}
    for layer, inputs in judged:
        layer_faults = (_judge(vectors, layer, kinds) for vectors in inputs)
        if (fault := next(filter(None, layer_faults), None)) is not None:
            faults.setdefault((fault.layers, fault.found), fault)
    probed = f"queries and keys as they reach attention, in {len(judged)} of {len(calls)} layers"
    rest = len(calls) - len(judged)
    skipped = f"{rest} layers were not watched: there, tokens differ by more than their rotation."
    return list(faults.values()), [probed] if judged else [], [skipped] if rest else []


def _run(model: Any, kinds: LayerKinds) -> list[tuple[str, bool, list[AttentionInput]]]:
    """Run a repeated token; return (layer, whether its values are equal, queries and keys) per attention call."""
    import torch

    longest = min((kind.trained or kind.longest or 1024 for kind in kinds.turning.values()), default=1024)
    positions = POSITIONS[min(longest, 1024) > POSITIONS]
    parameter = next(values for values in model.parameters() if values.is_floating_point())
    takes = inspect.signature(model.forward).parameters
    if "position_ids" not in takes:
        positions = np.arange(min(64, int(positions[-1]) + 1))
    tokens = torch.full((1, len(positions)), 7, device=parameter.device)
    options: dict[str, Any] = {}
    if "position_ids" in takes:
        options["position_ids"] = torch.tensor(positions, device=parameter.device)[None]
        if "attention_mask" in takes:
            options["attention_mask"] = torch.ones_like(tokens)
    was = model.training
    model.eval()
    try:
        with recorded_attention(model) as calls, torch.no_grad():
            model(tokens, **options)
    finally:
        model.train(was)
    eps = 2.0**-24 if parameter.dtype in (torch.float32, torch.float64) else 2.0**-9
    inputs = []
    for name, q, k, v, before in calls:
        if q.shape[-2] == len(positions) == k.shape[-2]:
            q, k, v = (x.double().cpu().numpy()[0, 0] for x in (q, k, v))
            outputs = tuple(x.double().cpu().numpy() for x in before)
            alike = bool(np.abs(v - v[0]).max() <= V_ROUNDINGS * eps * np.abs(v).max())
            lengths = ((x, np.linalg.norm(x, axis=1, keepdims=True)) for x in (q, k))
            q, k = (x * (length[0] / length) for x, length in lengths)
            pair = (("queries", q), ("keys", k))
            rows = [AttentionInput(kind, x, positions, eps, outputs) for kind, x in pair]
            inputs.append((name, alike, rows))
    return inputs


@contextlib.contextmanager
def recorded_attention(model: Any) -> Iterator[list[tuple[str, Any, Any, Any, tuple[Any, ...]]]]:
    """Record (module name, q, k, v, outputs before) for each attention call in torch or transformers."""
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
                before = tuple(out for name, out in outputs.items() if name.startswith(where))
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
                hooks.append(module.register_forward_hook(lambda _, args, out, name=name: keep(name, out)))
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


def _judge(vectors: AttentionInput, layer: str, kinds: LayerKinds) -> Fault | None:
    """Return the fault in a layer's queries or keys, or None."""
    label = kinds.of_layer(layer)
    reading = kinds.readings.get(label) if label else None
    allowed = [reading] if reading else list(kinds.readings.values())
    specs = [reading.spec for reading in allowed]
    offs = [vectors.off(spec) for spec in specs]
    if kinds.config.get("model_type") in CLOCKWISE:
        offs += [vectors.off(spec.replace(inv_freq=-spec.inv_freq)) for spec in specs]
    if any(not off.any() for off in offs) or any(_comes_out_in_halves(vectors, spec) for spec in specs):
        return None
    nearest, off = min(zip(allowed, offs, strict=False), key=lambda candidate: int(candidate[1].sum()))
    spec, still = nearest.spec, nearest.rope_type == NOPE
    found, fix, chapter = _explained(vectors, spec, kinds, still)
    base = describe_base(spec.inv_freq, spec.rotary_dim, spec.head_dim)
    return Fault(
        layer or "attention",
        kinds.words(nearest.layer_type),
        f"{vectors.name} {found}",
        "no rotation" if still else f"rotated {spec.layout}, {base}",
        fix,
        chapter,
        position=int(vectors.positions[off.argmax()]),
    )


def _comes_out_in_halves(vectors: AttentionInput, spec: RopeSpec) -> bool:
    """Return whether neighbours are rotated and come out as halves, as in DeepSeek-V3.

    The result looks like half_split; only the feature order before the rotation distinguishes the two.
    """
    halved = spec.kind != NOPE and spec.layout == "interleaved"
    if not halved or vectors.off(spec.replace(layout="half_split")).any():
        return False
    rows, d = vectors.rows, spec.rotary_dim
    for start in dict.fromkeys((rows.shape[1] - spec.head_dim, 0)):
        part = rows[0, start : start + d]
        for out in vectors.before:
            if len(out) >= d and np.linalg.norm(part):
                went_in = np.lib.stride_tricks.sliding_window_view(out, d)
                halves = np.concatenate((went_in[:, ::2], went_in[:, 1::2]), axis=1)
                sizes = np.linalg.norm(halves, axis=1) * np.linalg.norm(part)
                if (halves @ part > (1 - QK_ROUNDINGS * vectors.eps) * sizes).any():  # equal up to a factor
                    return True
    return False


def _explained(
    vectors: AttentionInput, spec: RopeSpec, kinds: LayerKinds, still: bool
) -> tuple[str, str, str]:
    """Return what was found, the fix and the chapter."""
    width = vectors.rows.shape[1]
    if spec.head_dim > width:
        fix = f"State head_dim in the config, or make heads of {spec.head_dim} features."
        return f"{width} features wide", fix, READ

    def fits(other: RopeSpec, at: np.ndarray | None = None) -> bool:
        return not vectors.off(other, at, wide=4.0).any()

    swapped = "half_split" if spec.layout == "interleaved" else "interleaved"
    if still:
        return "rotated", "Do not rotate these layers.", "Tell variants apart"
    if fits(spec.replace(kind=NOPE)):
        return "not rotated at all", "Rotate q and k in these layers.", "Put RoPE in attention"
    if fits(spec.replace(layout=swapped)):
        fix = "Rotate with the other layout, or permute the rows of q and k (convert_projection)."
        return f"rotated {swapped}", fix, "Tell two layouts apart"
    if fits(spec.replace(inv_freq=2 * spec.inv_freq)):
        return "rotated twice", "Rotate once, and not again inside attention.", DIAGNOSE
    if fits(spec.replace(inv_freq=-spec.inv_freq)):
        return "rotated clockwise", "Rotate by +angle, or negate sin in one place.", DIAGNOSE
    if fits(spec, np.arange(len(vectors.rows))):
        return "rotated by row number", "Pass the position ids on to the rotation.", "Count positions"
    for label, other in kinds.turning.items():
        if fits(other.spec):
            found = f"rotated as in {kinds.words(label)}"
            return found, "Give each kind of layers its own parameters.", READ
    found = f"rotated differently: {_speeds(vectors, spec)}"
    return found, "Use the config of these layers for the rotation: base, rule and width.", READ


def _speeds(vectors: AttentionInput, spec: RopeSpec) -> str:
    """Return text on the base that fits the expected layout's pairs from position 0 to 1."""
    width, start = spec.rotary_dim, vectors.rows.shape[1] - spec.head_dim
    first, second = pair_slices(width, spec.layout)
    part = vectors.rows[:2, start : start + width]
    before, after = part[:, first] + 1j * part[:, second]
    if not np.allclose(np.abs(before), np.abs(after), rtol=0.05):
        return "in other pairs"
    speeds = np.abs(np.angle(after / before)) / max(1, int(vectors.positions[1] - vectors.positions[0]))
    return describe_base(speeds, width, spec.head_dim)
