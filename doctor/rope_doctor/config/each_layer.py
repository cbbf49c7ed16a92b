r"""Describe a model's layers: their kinds, their windows, whether they rotate, and their query factors.

>>> gemma = {"model_type": "gemma2", "num_hidden_layers": 4, "sliding_window": 4096}
>>> [layer.label for layer in layers_of_config(gemma, ()).rows(4)]
['sliding_attention', 'full_attention', 'sliding_attention', 'full_attention']
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeGuard

from rope_doctor.config.values import RULES, Part, format_value, visible

FULL, SLIDING, CHUNKED = "full_attention", "sliding_attention", "chunked_attention"
NOT_STATED = "not stated"
WITHOUT_HEADS = ("linear_attention", "conv", "mamba", "recurrent")  # layer kinds without queries to rotate
PATTERNS: dict[str, dict[str, Any]] = RULES["layer_patterns"]


@dataclass(frozen=True)
class Layer:
    """A layer of a model.

    Attributes:
        label: its kind, such as "full_attention".
        rotates: whether its queries and keys rotate.
        window: number of tokens that it sees; None if it sees all, "not stated" if the file does not specify it.
        queries: the position-dependent factor on the queries, as text; "" if there is none.
    """

    label: str
    rotates: bool = True
    window: int | str | None = None
    queries: str = ""

    def coarse(self) -> "Layer":
        """Return the layer with its kind reduced to one that both a GGUF and a config.json can express."""
        label = "no attention" if self.label in WITHOUT_HEADS else FULL
        return self if self.label in (SLIDING, CHUNKED) else replace(self, label=label)

    def __str__(self) -> str:
        window = f", window {self.window}" if self.window is not None else ""
        return f"{self.label}{window}{'' if self.rotates else ', not rotated'}"


@dataclass(frozen=True)
class Layers:
    """The layers described in a file.

    Attributes:
        count: number of layers; None if the file does not specify it.
        row: function that returns a layer, given its index and the layer count; None if the kinds are unknown.
        why: the reason why the kinds are unknown.
        stated: the fields of the file that determine the layers, with their values.
    """

    count: int | None
    row: Callable[[int, int], Layer] | None
    why: str = ""
    stated: tuple[tuple[str, str], ...] = ()

    def rows(self, count: int) -> list[Layer]:
        """Return the first `count` layers, or an empty list if their kinds are unknown."""
        row, total = self.row, self.count or count
        return [] if row is None else [row(index, total) for index in range(min(count, total))]


UNTOLD = Layers(None, None, "the file does not describe them")


def layers_of_config(config: dict[str, Any], still: Collection[str | None]) -> Layers:
    """Return the layers of a config's language model; `still` lists the kinds that do not rotate."""
    family = str(config.get("model_type") or "")
    types, count = (
        config.get("layer_types"),
        _whole(_first(config, "num_hidden_layers", "n_layer", "n_layers")),
    )
    stated = tuple((name, repr(config[name])) for name in RULES["fields_of_layers"] if name in config)
    turning = config.get("no_rope_layers")
    if _are_names(types):
        types = [each for each in types if each != "mlp"]  # dory lists a layer's blocks separately
        count = len(types) if len(types) < len(config["layer_types"]) else count
        count, label_of = min(len(types), count or len(types)), _listed(types)
    else:
        made = _labels(config, family)
        if isinstance(made, str):
            return Layers(count, None, made, stated)
        label_of = made
    if isinstance(turning, list) and turning:
        count = count or len(turning)
    rotates = _rotates(config, family, still)
    scaled = _queries(config, family)

    def row(index: int, total: int) -> Layer:
        label, turns = label_of(index, total), rotates(index)
        turns = turns and label not in still and label not in WITHOUT_HEADS
        if family == "llama4_text" and label == FULL and turns and not isinstance(types, list):
            label = CHUNKED
        return Layer(visible(label), turns, _window(config, family, label), scaled(turns))

    return Layers(count, row, "", stated)


def _labels(config: dict[str, Any], family: str) -> Callable[[int, int], str] | str:
    """Return a function that labels a layer by its index and the layer count, or the reason why there is none."""
    pattern, window = PATTERNS.get(family), config.get("sliding_window")
    if not family:
        return "without a model_type, the kinds of its layers are unknown"
    if pattern is None:
        if family in RULES["one_window_for_all_layers"]:
            longest = _whole(config.get("max_position_embeddings"))
            slides = bool(window) and not (longest and (_whole(window) or 0) >= longest)
            return lambda index, total: SLIDING if slides else FULL
        idle = ("sliding_window",) if config.get("use_sliding_window") is False else ()
        names = [name for name in RULES["hints_of_kinds"] if name not in idle]
        fields = [name for name in names if config.get(name) not in (None, False, 0, [], {})]
        return (
            f"the kinds follow from {fields[0]} by a rule that only the model's code states"
            if fields
            else _full
        )
    if "cycle" in pattern:
        cycle = _cycle(config, pattern)
        return lambda index, total: cycle[index % len(cycle)]
    if "by" in pattern:
        late = _whole(config.get("max_window_layers"))
        slides = bool(window) and config.get("use_sliding_window") is True
        if slides and late is None:
            return "max_window_layers is not in the file"
        if slides and pattern.get("every_other_before"):
            return lambda index, total: SLIDING if index % 2 == 0 and index < (late or 0) else FULL
        return lambda index, total: SLIDING if slides and index >= (late or 0) else FULL
    if pattern.get("window_decides") and "sliding_window" in config and not window:
        return _full
    found = config.get(pattern["field"]) if "field" in pattern else None
    period = pattern["period"] if found is None else _whole(found)
    if isinstance(found, str) and found and set(found) <= {"L", "G"}:
        return lambda index, total: (
            FULL if found[index % len(found)] == "G" or index == total - 1 else SLIDING
        )
    if period is None:
        return f"{pattern['field']} is {format_value(found)}, not a number of layers"
    return periodic(period, first=pattern.get("full") == "first", ends=bool(pattern.get("ends_full")))


def _cycle(config: dict[str, Any], pattern: dict[str, Any]) -> list[str]:
    """Return the labels of a repeating pattern; the config may list them under different names."""
    listed, called = config.get(pattern.get("listed", "")), pattern.get("called", {})
    return [called.get(each, each) for each in (listed if _are_names(listed) else pattern["cycle"])]


def periodic(period: int, *, first: bool, ends: bool = False) -> Callable[[int, int], str]:
    """Return a function that labels each period's first or last layer, and with `ends` the last of all, as full."""

    def label(index: int, total: int) -> str:
        full = index % period == 0 if first else (index + 1) % period == 0
        return FULL if full or (ends and index == total - 1) else SLIDING

    return label if period else _sliding


def _full(index: int, total: int) -> str:
    return FULL


def _sliding(index: int, total: int) -> str:
    return SLIDING


def _listed(types: list[str]) -> Callable[[int, int], str]:
    return lambda index, total: types[index]


def _rotates(config: dict[str, Any], family: str, still: Collection[str | None]) -> Callable[[int], bool]:
    turning = config.get("no_rope_layers")
    bases = config.get("layer_rope_theta")
    default = RULES["defaults"].get(family, {}).get("no_rope_layer_interval")
    interval = _whole(config.get("no_rope_layer_interval")) or default
    if isinstance(turning, list) and turning:
        return lambda index: index >= len(turning) or bool(turning[index])
    if isinstance(bases, list) and bases:
        return lambda index: index >= len(bases) or bool(bases[index])
    if interval and default:
        return lambda index: (index + 1) % interval != 0
    return lambda index: not (None in still or "nope" in still)


def _window(config: dict[str, Any], family: str, label: str) -> int | str | None:
    field = RULES["window_of_a_label"].get(label)
    if field is None:
        return None
    if label == SLIDING:
        field = RULES["window_of_a_family"].get(family) or field
    stated = _whole(config.get(field))
    return NOT_STATED if stated is None else stated


def _queries(config: dict[str, Any], family: str) -> Callable[[bool], str]:
    """Return a function that describes a layer's query factor, given whether the layer rotates."""
    rotation: Any = next(
        (config[name] for name in ("rope_parameters", "rope_scaling") if config.get(name)), {}
    )
    part = Part(rotation if isinstance(rotation, dict) else {})
    beta, trained = part.raw("llama_4_scaling_beta"), part.raw("original_max_position_embeddings")
    if beta:
        return lambda rotates: grows(beta, trained, 0)
    if config.get("use_logn_attn") is True:
        length = format_value(_first(config, "seq_length", "max_position_embeddings"))
        return lambda rotates: f"max(1, ln(p + 1) / ln({length}))"
    if family == "llama4_text" and config.get("attn_temperature_tuning", True):
        text = grows(config.get("attn_scale", 0.1), config.get("floor_scale", 8192), 1)
        return lambda rotates: "" if rotates else text
    return lambda rotates: ""


def grows(beta: object, length: object, offset: int) -> str:
    """Describe a query factor that grows with the logarithm of position p.

    >>> grows(0.1, 8192, 1)
    '1 + 0.1·ln(1 + ⌊(p + 1)/8192⌋)'
    """
    position = f"(p + {offset})" if offset else "p"
    return f"1 + {format_value(beta)}·ln(1 + ⌊{position}/{format_value(length)}⌋)"


def runs(indices: Iterable[int]) -> str:
    """Return indices as text, with consecutive ones condensed into ranges.

    >>> runs([0, 1, 2, 5, 7, 8])
    '0–2, 5, 7–8'
    """
    found = list(_runs(indices))
    shown = [str(first) if first == last else f"{first}–{last}" for first, last in found[:6]]
    return ", ".join([*shown, "…"] if len(found) > 6 else shown)


def _runs(indices: Iterable[int]) -> Iterator[tuple[int, int]]:
    first = last = None
    for index in indices:
        if last is None or index != last + 1:
            if first is not None and last is not None:
                yield first, last
            first = index
        last = index
    if first is not None and last is not None:
        yield first, last


def _are_names(value: Any) -> TypeGuard[list[str]]:
    """Return whether a value is a non-empty list of names."""
    return isinstance(value, list) and bool(value) and all(isinstance(each, str) for each in value)


def _whole(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        return None
    return int(value) if 0 <= value <= 1e15 and value == int(value) else None


def _first(config: dict[str, Any], *names: str) -> Any:
    return next((config[name] for name in names if config.get(name) is not None), None)
