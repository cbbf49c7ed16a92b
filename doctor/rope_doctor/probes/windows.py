r"""Check, from a live torch model's attention masks, how many tokens each layer sees."""

from collections.abc import Iterator
from typing import Any

from rope_doctor.config.each_layer import CHUNKED, FULL, SLIDING, Layer, layers_of_config
from rope_doctor.config.reader import NOPE
from rope_doctor.probes.faults import Fault
from rope_doctor.probes.layer_kinds import LAYER, LayerKinds
from rope_doctor.probes.names import windows
from rope_doctor.probes.recording import OTHER_PARTS, Call, recorded

BEYOND = 3  # number of tokens by which the text exceeds every window
LONGEST = 4_200  # maximum number of tokens in the text
HIDDEN = -1e3  # a mask value below this hides a token


def must_be_judged(kinds: LayerKinds) -> bool:
    """Return whether the config has windows and a text of at most `LONGEST` tokens exceeds them all."""
    widths = windows(kinds.body)
    return bool(widths) and max(widths) + BEYOND <= LONGEST


def judge_windows(model: Any, kinds: LayerKinds) -> tuple[list[Fault], str]:
    """Return the faults in the windows, and the reason if these were not judged, otherwise ""."""
    still = {label for label, reading in kinds.readings.items() if reading.rope_type == NOPE}
    layers = layers_of_config(kinds.body, still)
    rows = layers.rows(layers.count or 0)
    widths = [row.window for row in rows if isinstance(row.window, int)]
    if not widths:
        return [], layers.why or "the config states no window"
    if not kinds.layers:
        return [], "the config does not say which layers are of which kind"
    count = max(widths) + BEYOND
    if count > LONGEST:
        return [], f"a text longer than the window of {max(widths):,} tokens was not run"
    try:
        seen = dict(_seen_by_layer(model, count))
    except Exception as error:
        return [], f"{type(error).__name__}: {str(error).partition(chr(10))[0][:100]}"
    judged = {index: seen[index] for index, row in enumerate(rows) if index in seen and _is_stated(row)}
    if not judged:
        return [], "no call of attention shows its mask"
    return list(_faults(judged, rows, count)), ""


def _is_stated(row: Layer) -> bool:
    """Return whether a layer's kind determines how many tokens it sees; a pooling layer's kind does not."""
    if row.label == FULL:
        return row.window is None
    return row.label in (SLIDING, CHUNKED) and isinstance(row.window, int)


def _faults(judged: dict[int, tuple[str, int]], rows: list[Layer], count: int) -> Iterator[Fault]:
    wanted = {index: _visible(rows[index], count) for index in judged}
    sizes = {(found > wanted[index]) - (found < wanted[index]) for index, (_, found) in judged.items()}
    for index, (name, found) in judged.items():
        if found != wanted[index]:
            cause = "no_window" if found == count else "other_window"
            cause = "windows_exchanged" if {1, -1} <= sizes else cause
            told = f"the last of {count} tokens sees {found}"
            yield Fault(name, f"{rows[index].label} layers", told, str(wanted[index]), cause, "windows")


def _visible(row: Layer, count: int) -> int:
    """Return the number of tokens that the last of `count` tokens sees, including itself."""
    if not isinstance(row.window, int):
        return count
    return (count - 1) % row.window + 1 if row.label == CHUNKED else min(row.window, count)


def _seen_by_layer(model: Any, count: int) -> Iterator[tuple[int, tuple[str, int]]]:
    """Run `count` tokens; yield each layer's index, its name, and the number of tokens that the last token sees."""
    import torch

    device = next(model.parameters()).device
    tokens = torch.full((1, count), 7, device=device)
    was = model.training
    model.eval()
    try:
        with recorded(model, count) as recorder, torch.no_grad():
            model(tokens)
    finally:
        model.train(was)
    for call in recorder.calls:
        layer = LAYER.search(call.layer)
        if layer and not OTHER_PARTS.search(call.layer) and call.q.shape[-2] == count <= call.k.shape[-2]:
            yield int(layer[1]), (call.layer, _last_row(call, count))


def _last_row(call: Call, count: int) -> int:
    """Return how many of the text's keys the last query sees."""
    if call.mask is None or call.mask.ndim < 3:
        return min(call.window or count, count)
    row = call.mask[0, 0, -1, :count] if call.mask.ndim == 4 else call.mask[0, -1, :count]
    return int((row if row.dtype.is_floating_point is False else row > HIDDEN).sum())
