r"""Check, while a live torch model runs, whether it rotates queries and keys as its config specifies.

In a layer whose tokens are all equal, all queries are equal before the rotation. The query at position p must
therefore equal the query at position 0, rotated to p.
"""

import inspect
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rope_doctor.clinic.frequencies import describe_base
from rope_doctor.config.reader import NOPE, Reading
from rope_doctor.probes.alternatives import alternatives
from rope_doctor.probes.faults import Fault
from rope_doctor.probes.layer_kinds import LAYER, LayerKinds
from rope_doctor.probes.recording import OTHER_PARTS, Call, recorded
from rope_doctor.probes.softmax_scale import query_gains, stated_scale
from rope_edu.encodings.layouts import pair_slices
from rope_edu.encodings.rotary import apply_rope
from rope_edu.encodings.spec import RopeSpec

POSITIONS = np.array([*range(12), 15, 31, 40, 63, 64, 100, 127, 200, 255, 300, 511, 777, 1023])
ROWS = 61  # length of the text for a model that does not accept positions
LONGEST_RUN = 4096  # longest text to run on a model that does not accept positions
QK_ROUNDINGS = 64  # allowed roundings in q and k between the embedding and attention
FREQUENCY_TOLERANCE = 4e-6  # relative error of frequencies computed as powers in float32
V_ROUNDINGS = 64  # allowed roundings by which the values of equal tokens differ
SCALE_TOLERANCE = 1e-3  # relative error of a softmax scale, which some models round to bfloat16
GAIN_TOLERANCE = 0.01  # relative error of a query's norm in bfloat16
FEWEST_ROWS = 8  # minimum number of equal tokens needed to judge a layer
CLOCKWISE = {"nanochat"}  # architectures that rotate by −angle, although no config field says so
OF_COORDINATES = ("sections_contiguous", "sections_interleaved", "one_coordinate")
BY_LENGTH = ("dynamic", "longrope")


@dataclass(frozen=True)
class AttentionInput:
    """The queries or keys of one head, as they enter the attention of a layer."""

    name: str  # "queries" or "keys"
    rows: np.ndarray  # (seq, width), scaled to the norm of the first row
    positions: np.ndarray  # (seq,), or coordinates (seq, axes)
    eps: float  # relative rounding error of the model's dtype
    before: tuple[np.ndarray, ...]  # outputs of this attention's submodules, at the first token
    gains: np.ndarray  # (seq,), norms of the rows before scaling, relative to the first

    def off(self, spec: RopeSpec, at: np.ndarray | None = None, wide: float = 1.0) -> np.ndarray:
        """Return, for each row, whether it differs from the first row rotated to its position, or to that in `at`.

        The rotated part may be the whole row, its beginning or its end. `wide` multiplies the frequency tolerance.
        """
        positions, width = self.positions if at is None else at, self.rows.shape[1]
        if spec.kind != NOPE and spec.head_dim > width:
            return np.ones(len(self.rows), bool)
        angles, expected = _angles(positions, spec), []
        for start in dict.fromkeys((0, width - spec.head_dim)):
            rotated = np.tile(self.rows[0], (len(self.rows), 1))
            part = slice(start, start + spec.head_dim)
            if spec.kind != NOPE:
                rotated[:, part] = apply_rope(rotated[:, part], angles - angles[0], layout=spec.layout)
            expected.append(rotated)
        apart = min((np.linalg.norm(self.rows - rotated, axis=1) for rotated in expected), key=np.sum)
        farthest = positions if positions.ndim == 1 else positions.max(axis=1)
        allowed = QK_ROUNDINGS * self.eps + wide * FREQUENCY_TOLERANCE * farthest
        return np.asarray(apart > allowed * np.linalg.norm(self.rows[0]))


def _angles(positions: np.ndarray, spec: RopeSpec) -> np.ndarray:
    if positions.ndim == 1:
        return np.asarray(positions[:, None] * spec.inv_freq)
    return np.asarray(positions[:, list(spec.axes or (0,) * len(spec.inv_freq))] * spec.inv_freq)


@dataclass
class Watched:
    """Observations of attention: the faults, the judged layers, and the reasons why others were not judged."""

    faults: list[Fault] = field(default_factory=list)
    # whether each layer was judged, keyed by layer name
    layers: dict[str, bool] = field(default_factory=dict)
    scales: dict[str, tuple[float, int]] = field(default_factory=dict)  # (softmax scale, width), by name
    failed: str = ""  # why the model could not be run
    long_texts: str = ""  # why texts at or beyond the trained length were not judged, or "" if they were
    query_scale: str = ""  # why query gains were not judged, or "" if they were
    coordinates: str = ""  # why there was no text with different coordinates, or "" if there was one
    grows: bool = False  # whether queries already grow with position in a short text
    positions: int = 0
    longest: int = 0

    def judged(self) -> list[str]:
        return [name for name, judged in self.layers.items() if judged]


def watch(model: Any, kinds: LayerKinds) -> Watched:
    """Run a live model, at several lengths if its rule depends on the length, and judge its queries and keys."""
    watched = Watched()
    ruled = [
        reading for reading in kinds.turning.values() if reading.rope_type in BY_LENGTH and reading.trained
    ]
    watched.long_texts = "" if ruled else "the rule does not depend on the length of the text"
    if not any(reading.spec.axes for reading in kinds.turning.values()):
        watched.coordinates = "the config gives a token one position"
    try:
        _judge_at(model, kinds, watched, None)
    except Exception as error:
        first_line = str(error).partition("\n")[0][:100]
        watched.failed = f"{type(error).__name__}: {first_line}"
        return watched
    _judge_gains(model, kinds, watched)
    if ruled:
        trained = min(reading.trained or 0 for reading in ruled)
        try:
            for number, length in enumerate((trained, trained + 1, 2 * trained, 4 * trained, 2 * trained, 2)):
                _judge_at(model, kinds, watched, length, after=4 * trained if number > 3 else 0)
        except Exception as error:
            watched.long_texts = f"{type(error).__name__}: {str(error).partition(chr(10))[0][:100]}"
    return watched


def _judge_at(model: Any, kinds: LayerKinds, watched: Watched, length: int | None, after: int = 0) -> None:
    """Run `length` tokens (None: a short text), and add the faults; `after` is the length of an earlier text."""
    readings = kinds.readings if length is None else kinds.at_length(length)
    check = "queries and keys" if length is None else "longer texts"
    calls, positions = _run(model, kinds, watched, length)
    if length is None:
        watched.positions, watched.longest = len(positions), int(positions.max())
    for name, scale, inputs in calls:
        if length is None:
            watched.grows |= any((np.abs(each.gains - 1) > GAIN_TOLERANCE).any() for each in inputs[:1])
            watched.layers[name] = watched.layers.get(name, False) or bool(inputs)
            if scale is not None and inputs:
                watched.scales[name] = scale, inputs[0].rows.shape[1]
        elif any(fault.where == name for fault in watched.faults):
            continue
        wrong = [fault for vectors in inputs if (fault := _judge(vectors, name, kinds, readings, length))]
        watched.faults += _of_one_layer(wrong, inputs, check, after, length)


def _judge_gains(model: Any, kinds: LayerKinds, watched: Watched) -> None:
    """If the config makes queries grow with position, run a text long enough to show it, and add the faults."""
    stated = query_gains(kinds)
    if stated is None:
        grows = "queries grow with the position, and the config does not say how"
        watched.query_scale = grows if watched.grows else "the config scales no queries by position"
        return
    length, wanted_at = stated
    try:
        calls, _ = _run(model, kinds, watched, length)
    except Exception as error:
        watched.query_scale = f"{type(error).__name__}: {str(error).partition(chr(10))[0][:100]}"
        return
    for name, _, inputs in calls:
        for queries in inputs[:1]:
            wanted = wanted_at(queries.positions, kinds.allowed(name)[0].rope_type != NOPE)
            wanted = wanted / wanted[0]
            off = np.abs(queries.gains / wanted - 1) > GAIN_TOLERANCE
            if off.any():
                at = int(off.argmax())
                found, expected = f"queries {queries.gains[at]:.4g} times as long", f"{wanted[at]:.4g} times"
                label, position = kinds.words(kinds.of_layer(name)), int(queries.positions[at])
                fault = Fault(name, label, found, expected, "query_scale", "query scale", position=position)
                watched.faults.append(fault)


def _of_one_layer(
    wrong: list[Fault], inputs: list[AttentionInput], check: str, after: int, length: int | None
) -> Iterator[Fault]:
    """Yield at most one fault for a layer's queries and keys."""
    if not wrong:
        return
    fault, both = wrong[0], len(wrong) == len(inputs)
    changes: dict[str, Any] = {} if fault.check == "coordinates" else {"check": check}
    if length is not None:
        changes["found"] = f"in a text of {length} tokens, {fault.found}"
        if after:
            changes["found"] = f"in a text of {length} tokens after one of {after}, {fault.found}"
            changes["cause"] = "remembers"
    if both and fault.found.startswith("queries"):
        changes["found"] = changes.get("found", fault.found).replace("queries", "queries and keys", 1)
    elif not both and fault.cause == "no_layer_rotates":
        changes["cause"] = f"{fault.found.split()[0]}_not_rotated"
    yield Fault(**(vars(fault) | changes))


def _run(
    model: Any, kinds: LayerKinds, watched: Watched, length: int | None
) -> tuple[list[tuple[str, float | None, list[AttentionInput]]], np.ndarray]:
    """Run a text of equal tokens; return (layer, softmax scale, queries and keys) for each call, and the positions.

    A call's list of queries and keys is empty if the layer's tokens may differ in more than position.
    """
    import torch

    parameter = next(values for values in model.parameters() if values.is_floating_point())
    takes = inspect.signature(model.forward).parameters
    positions = _positions(kinds, length, "position_ids" in takes)
    tokens = torch.full((1, len(positions)), 7, device=parameter.device)
    options: dict[str, Any] = {}
    ids = torch.tensor(positions, device=parameter.device)[None]
    if "position_ids" in takes:
        options["position_ids"] = ids
        if "attention_mask" in takes:
            options["attention_mask"] = torch.ones_like(tokens)
    axes = [max(reading.spec.axes) + 1 for reading in kinds.turning.values() if reading.spec.axes]
    coordinates = positions if not axes else _coordinates(positions, max(axes))
    was = model.training
    model.eval()
    try:
        with recorded(model, len(positions)) as recorder, torch.no_grad():
            if axes and options and not watched.coordinates:
                several = torch.tensor(coordinates.T.copy(), device=parameter.device)[:, None]
                try:
                    model(tokens, **options | {"position_ids": several})
                except Exception as error:
                    watched.coordinates = f"the model takes no coordinates: {type(error).__name__}"
                    recorder.calls.clear()
                    recorder.products.clear()
                    coordinates = positions
                    model(tokens, **options)
            else:
                coordinates = positions
                watched.coordinates = watched.coordinates or "the model takes no position ids"
                model(tokens, **options)
    finally:
        model.train(was)
    eps = 2.0**-24 if parameter.dtype in (torch.float32, torch.float64) else 2.0**-9
    mixing = _kernels(model)
    known = kinds.attending
    calls = []
    for call in recorder.found():
        layer = LAYER.search(call.layer)
        outside = layer is not None and known is not None and int(layer[1]) not in known
        if (outside and call.v is None) or OTHER_PARTS.search(call.layer):
            continue
        call = _of_the_text(call, len(positions))
        if call.q.shape[-2] == len(positions) == call.k.shape[-2]:
            even = any(call.layer.startswith(f"{name}.") or call.layer == name for name in recorder.evened)
            inputs = _inputs(call, coordinates, eps, even, mixing.get(call.layer, 1))
            calls.append((call.layer, call.scale, inputs))
    return calls, positions


def _of_the_text(call: Call, count: int) -> Call:
    """Return a call without the keys that follow the text's own, such as the summaries in DeepSeek V4."""
    if call.k.shape[-2] <= count:
        return call
    v = None if call.v is None else call.v[..., :count, :]
    return replace(call, k=call.k[..., :count, :], v=v)


def below_the_switch(reading: Reading) -> int | None:
    """Return the length below which the frequencies do not depend on the text, or None if it is not stated."""
    if reading.trained and reading.rope_type in BY_LENGTH:
        return reading.trained - 1
    return reading.trained or reading.longest


def _positions(kinds: LayerKinds, length: int | None, given: bool) -> np.ndarray:
    """Return positions below the trained length, or for `length` tokens; consecutive unless ids can be `given`."""
    if length is None:
        longest = min((below_the_switch(kind) or 1024 for kind in kinds.turning.values()), default=1024)
        if not given:
            return np.arange(min(ROWS, longest))
        chosen = POSITIONS[min(longest, 1024) > POSITIONS]
    elif not given:
        if length > LONGEST_RUN:
            raise ValueError(f"the model takes no positions, and {length} tokens are too many to run")
        return np.arange(length)
    else:
        chosen = np.append(POSITIONS[length - 1 > POSITIONS], length - 1)
    # an odd number of tokens, which cannot be mistaken for a width
    return np.delete(chosen, -2) if len(chosen) % 2 == 0 and len(chosen) > 2 else chosen


def _coordinates(positions: np.ndarray, axes: int) -> np.ndarray:
    """Return coordinates, `(seq, axes)`, that differ from each other for every token but the first."""
    return np.stack(
        [positions, *((positions + axis * (1 + positions % 5)) for axis in range(1, axes))], axis=1
    )


def _kernels(model: Any) -> dict[str, int]:
    """Return the number of tokens that each module with convolutions mixes."""
    import torch

    sizes: dict[str, int] = {}
    for name, module in model.named_modules():
        if isinstance(module, torch.nn.Conv1d):
            for end in range(len(name)):
                if name[end] == ".":
                    sizes[name[:end]] = sizes.get(name[:end], 1) + module.kernel_size[0] - 1
    return sizes


def _inputs(call: Call, positions: np.ndarray, eps: float, even: bool, mixed: int) -> list[AttentionInput]:
    """Return a call's queries and keys, from the first token equal to all later ones; [] if too few are equal."""
    q, k = (x.double().cpu().numpy()[0, 0] for x in (call.q, call.k))
    if call.v is not None and call.v.data_ptr() != call.k.data_ptr():
        v = call.v.double().cpu().numpy()[0, 0]
        apart = np.abs(v - v[-1]).max(axis=1) > V_ROUNDINGS * eps * np.abs(v).max()
    else:  # without values, tokens are known to be equal only if they were made equal or the norms are constant
        length = np.linalg.norm(k, axis=1)
        apart = (np.abs(length - length[-1]) > V_ROUNDINGS * eps * length.max()) & (not even)
    start = int(np.flatnonzero(apart)[-1]) + 1 if apart.any() else 0
    start = max(start, mixed - 1)
    if len(q) - start < min(FEWEST_ROWS, len(q)):
        return []
    before = tuple(x.double().cpu().numpy() for x in call.before)
    inputs = []
    for name, x in (("queries", q[start:]), ("keys", k[start:])):
        length = np.linalg.norm(x, axis=1, keepdims=True)
        length = np.where(length > 0, length, 1) / (length[0] if length[0] > 0 else 1)
        inputs.append(AttentionInput(name, x / length, positions[start:], eps, before, length[:, 0]))
    return inputs


def _judge(
    vectors: AttentionInput,
    layer: str,
    kinds: LayerKinds,
    readings: dict[str | None, Reading],
    length: int | None,
) -> Fault | None:
    """Return the fault in a layer's queries or keys, or None."""
    allowed = kinds.allowed(layer, readings)
    specs = [reading.spec for reading in allowed]
    offs = [vectors.off(spec) for spec in specs]
    if kinds.config.get("model_type") in CLOCKWISE:
        offs += [vectors.off(spec.replace(inv_freq=-spec.inv_freq)) for spec in specs]
    if any(not off.any() for off in offs) or any(_comes_out_in_halves(vectors, spec) for spec in specs):
        return None
    nearest, off = min(zip(allowed, offs, strict=False), key=lambda candidate: int(candidate[1].sum()))
    spec, still = nearest.spec, nearest.rope_type == NOPE
    cause, found, named = _explained(vectors, nearest, kinds, length)
    base = describe_base(spec.inv_freq, spec.rotary_dim, spec.head_dim)
    if base == "no base fits":
        base = f"{nearest.rope_type} of base {nearest.base:.6g}"
    return Fault(
        layer or "attention",
        kinds.words(nearest.layer_type),
        f"{vectors.name} {found}",
        "no rotation" if still else f"{spec.layout}, {base}",
        cause,
        "coordinates" if cause in OF_COORDINATES else "queries and keys",
        named,
        position=int(np.ravel(vectors.positions[off.argmax()])[0]),
    )


def _comes_out_in_halves(vectors: AttentionInput, spec: RopeSpec) -> bool:
    """Return whether neighbouring features form pairs but are returned in half_split order, as in DeepSeek-V3.

    The result looks like half_split, and can be recognised only by the order of features before the rotation.
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
    vectors: AttentionInput, reading: Reading, kinds: LayerKinds, length: int | None
) -> tuple[str, str, tuple[str, ...]]:
    """Return the cause, the finding as text, and names to insert into the fix."""
    spec, width = reading.spec, vectors.rows.shape[1]
    if spec.head_dim > width:
        return "narrow_head", f"{width} features wide", (str(spec.head_dim),)

    def fits(other: RopeSpec, at: np.ndarray | None = None) -> bool:
        return not vectors.off(other, at, wide=4.0).any()

    if reading.rope_type == NOPE:
        return "still_layers_rotate", "rotated", ()
    if fits(spec.replace(kind=NOPE)):
        return "no_layer_rotates", "not rotated at all", ()
    for other in alternatives(reading, kinds, length or 0):
        if fits(other.spec):
            return other.cause, f"rotated {other.words}", ()
    swapped = "half_split" if spec.layout == "interleaved" else "interleaved"
    if fits(spec.replace(layout=swapped)):
        return "other_layout", f"rotated {swapped}", ()
    if fits(spec.replace(inv_freq=2 * spec.inv_freq)):
        return "rotated_twice", "rotated twice", ()
    if fits(spec.replace(inv_freq=-spec.inv_freq)):
        return "turns_backwards", "rotated clockwise", ()
    if fits(spec, np.arange(len(vectors.rows))):
        return "ignores_positions", "rotated by row number", ()
    return "rotated_otherwise", f"rotated differently: {_speeds(vectors, spec)}", ()


def _speeds(vectors: AttentionInput, spec: RopeSpec) -> str:
    """Describe the base that fits the angles between the first two rows, in the expected pairs."""
    width, start = spec.rotary_dim, vectors.rows.shape[1] - spec.head_dim
    first, second = pair_slices(width, spec.layout)
    part = vectors.rows[:2, start : start + width]
    before, after = part[:, first] + 1j * part[:, second]
    if not np.allclose(np.abs(before), np.abs(after), rtol=0.05):
        return "in other pairs"
    step = np.diff(vectors.positions[:2].reshape(2, -1)[:, 0])[0]
    speeds = np.abs(np.angle(after / before)) / max(1, int(step))
    return describe_base(speeds, width, spec.head_dim)


def scale_faults(watched: Watched, kinds: LayerKinds) -> tuple[list[Fault], str]:
    """Return the faults in the softmax scales and, if these were not judged, the reason."""
    if not watched.scales:
        return [], "no call of attention shows its scale"
    faults, unstated = [], ""
    for layer, (scale, width) in watched.scales.items():
        wanted, is_stated = stated_scale(kinds, width)
        if abs(scale / wanted - 1) <= SCALE_TOLERANCE:
            continue
        if not is_stated:
            unstated = f"scores are multiplied by {scale:.6g}, and the config states no scale"
            continue
        label = kinds.words(kinds.of_layer(layer))
        found, expected = f"scores multiplied by {scale:.6g}", f"{wanted:.6g}"
        faults.append(Fault(layer, label, found, expected, "softmax_scale", "softmax scale", (expected,)))
    return faults, unstated
