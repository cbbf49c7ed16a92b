r"""Cases beyond one text with one coordinate: batches, several coordinates, moved keys, where mscale applies."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable, Iterator
from typing import Any

from makers import vector_reference as reference

Rows = list[list[float]]
SIZES = {"rotary_dim": 8, "head_dim": 10, "base": 10_000.0}
MROPE = "Qwen2-VL, arXiv 2409.12191, §2.1; transformers 5.23, apply_multimodal_rotary_pos_emb"
DEALT = "interleaved M-RoPE, arXiv 2510.23095; transformers 5.23, apply_interleaved_mrope"
ERNIE = "ERNIE 4.5, transformers 5.23, modeling_ernie4_5_vl_moe: rows and columns take turns, then time"
BATCHES = {  # name: (positions of each row, real tokens, source)
    "two rows, one of them from the middle": (
        [[0, 1, 2], [40, 41, 42]],
        None,
        "one position for each token of each row",
    ),
    "rows of length 1, each at its own place": (
        [[7], [0], [4095]],
        None,
        "mlx issue 3494: rows beyond the first, at length 1",
    ),
    "gaps, other ones in each row": ([[0, 5, 6, 300], [2, 3, 90, 91]], None, "transformers' position_ids"),
    "padding on the left": (
        [[0, 0, 0, 1], [0, 1, 2, 3]],
        [[0, 0, 1, 1], [1, 1, 1, 1]],
        "transformers' position_ids",
    ),
    "padding on the right": (
        [[0, 1, 0, 0], [0, 1, 2, 3]],
        [[1, 1, 0, 0], [1, 1, 1, 1]],
        "transformers' position_ids",
    ),
    "packed documents, which begin anew": (
        [[0, 1, 2, 0, 1], [0, 0, 1, 2, 3]],
        None,
        "positions restart with each document",
    ),
}
ORDERS = {"contiguous": ([1, 2, 1], [0, 1, 1, 2]), "interleaved": ([2, 1, 1], [0, 1, 2, 0])}
ORDERS |= {
    "rows and columns first": ([1, 1, 2], [1, 2, 0, 0])
}  # (sections as configs give them, axis of each pair)
AXES = {  # name: (order of the sections, positions of each axis, source)
    "time, rows, columns in sections": ("contiguous", [[0, 1, 1, 2], [0, 1, 1, 2], [0, 1, 2, 2]], MROPE),
    "time, rows, columns dealt in turn": ("interleaved", [[0, 1, 1, 2], [0, 1, 1, 2], [0, 1, 2, 2]], DEALT),
    "rows and columns first, then time": (
        "rows and columns first",
        [[0, 3, 3, 9], [0, 1, 1, 9], [0, 1, 2, 9]],
        ERNIE,
    ),
    "text after a picture": (
        "contiguous",
        [[0, 1, 1, 1, 1, 3], [0, 1, 1, 2, 2, 3], [0, 1, 2, 1, 2, 3]],
        MROPE,
    ),
    "two frames of a video": ("interleaved", [[0, 0, 1, 1], [0, 0, 0, 0], [0, 1, 0, 1]], DEALT),
}
SHIFTS = {  # name: (positions of the cached keys, shift, attention factor, source)
    "the cache loses its first 100 tokens": ([100, 101, 350], -100, 1.0, "llama.cpp, llama_memory_seq_add"),
    "text is put in before the cache": ([0, 1, 2], 57, 1.0, "llama.cpp, llama_memory_seq_add"),
    "a shift of 0": ([0, 9], 0, 1.0, "R(0) is the identity"),
    "keys that were lengthened once": ([8, 9], -8, 0.1 * math.log(16) + 1, "YaRN, arXiv 2309.00071, once"),
    "a long way back": ([131_071], -131_071, 1.0, "R(−m) R(m) = 1"),
}  # fmt: skip


FREQUENCIES = reference.frequencies_of("rope", SIZES["rotary_dim"], SIZES["base"])[0]  # radians per token


def rotate_by(x: list[float], angles: list[float], layout: str) -> list[float]:
    """Rotate every pair of one vector by its own angle; the tail passes through."""
    rotated = list(x)
    for (first, second), angle in zip(reference.pairs_of(layout, 2 * len(angles)), angles, strict=True):
        z = complex(x[first], x[second]) * cmath.exp(1j * angle)
        rotated[first], rotated[second] = z.real, z.imag
    return rotated


def differs(actual: Any, expected: Any, bound: float) -> bool:
    """Return whether nested lists differ anywhere by more than a bound, or contain NaN."""
    if isinstance(expected, list):
        return any(differs(a, b, bound) for a, b in zip(actual, expected, strict=True))
    return not abs(actual - expected) <= bound


def detected(wrong: dict[str, Any], expected: Any, bounds: dict[str, float]) -> list[str]:
    """Return the names of the wrong results that exceed the widest float32 bound."""
    bound = bounds["float32, angles in float32"]
    return [name for name, result in wrong.items() if differs(result, expected, bound)]


def batch_cases(numbers: Callable, tolerances: Callable) -> Iterator[dict]:
    """Yield batches whose rows have different positions."""
    for name, (positions, mask, source) in BATCHES.items():
        seq = len(positions[0])
        flat = numbers(len(positions) * seq, SIZES["head_dim"])
        x = [flat[row * seq : (row + 1) * seq] for row in range(len(positions))]
        bounds = tolerances(max(max(row) for row in positions), 1.0)
        real = mask or [[1] * seq for _ in positions]
        wrong_positions = {
            "first_row_for_all": [positions[0]] * len(positions),
            "counts_from_zero": [list(range(seq)) for _ in positions],
            "other_rows_at_0": [positions[0]] + [[0] * seq] * (len(positions) - 1),
        }
        for layout in ("interleaved", "half_split"):
            expected = _rotated_batch(x, positions, layout)
            wrong = {
                name: _unpadded(_rotated_batch(x, rows, layout), real)
                for name, rows in wrong_positions.items()
            }
            case = _case(name, source, layout, 1.0)
            case |= {"positions": positions, "real": real, "x": x, "expected": expected, "tolerance": bounds}
            yield case | {"catches": detected(wrong, _unpadded(expected, real), bounds)}


def _rotated_batch(x: list[Rows], positions: list[list[int]], layout: str) -> list[Rows]:
    return [
        [reference.rotate(v, m, FREQUENCIES, layout, 1.0) for v, m in zip(*row, strict=True)]
        for row in zip(x, positions, strict=True)
    ]


def _unpadded(batch: list[Rows], real: list[list[int]]) -> list[Rows]:
    """Return the real tokens of every row, without padding."""
    return [[v for v, r in zip(*row, strict=True) if r] for row in zip(batch, real, strict=True)]


def _case(name: str, source: str, layout: str, attention_factor: float) -> dict:
    """Return the fields with which every case begins."""
    head = {"name": f"{name}, {layout}", "source": source, "layout": layout, **SIZES}
    return head | {"attention_factor": attention_factor}


def axes_cases(numbers: Callable, tolerances: Callable) -> Iterator[dict]:
    """Yield positions with several coordinates; every pair rotates by one of them."""
    for name, (order, positions, source) in AXES.items():
        sections, axes = ORDERS[order]
        x = numbers(len(positions[0]), SIZES["head_dim"])
        bounds = tolerances(max(max(row) for row in positions), 1.0)
        for layout in ("interleaved", "half_split"):
            expected = _rotated_by_axes(x, axes, positions, layout)
            other = [0, 1, 2, 0] if axes == [0, 1, 1, 2] else [0, 1, 1, 2]
            time, rows, columns = positions
            wrong = {
                "other_order": _rotated_by_axes(x, other, positions, layout),
                "one_coordinate": _rotated_by_axes(x, [0] * 4, positions, layout),
                "rows_for_columns": _rotated_by_axes(x, axes, [time, columns, rows], layout),
            }
            case = _case(name, source, layout, 1.0) | {"sections": sections, "order": order, "axes": axes}
            case |= {"positions": positions, "x": x, "expected": expected, "tolerance": bounds}
            yield case | {"catches": detected(wrong, expected, bounds)}


def _rotated_by_axes(x: Rows, axes: list[int], positions: list[list[int]], layout: str) -> Rows:
    """Rotate vectors by positions with several coordinates; `axes` has the coordinate of each pair."""
    pairs = list(zip(axes, FREQUENCIES, strict=True))
    return [rotate_by(v, [positions[a][n] * f for a, f in pairs], layout) for n, v in enumerate(x)]


def shift_cases(numbers: Callable, tolerances: Callable) -> Iterator[dict]:
    """Yield rotated keys that move: rotated once more, with the attention factor applied only once."""
    for name, (positions, shift, factor, source) in SHIFTS.items():
        raw = numbers(len(positions), SIZES["head_dim"])
        bounds = tolerances(max(map(abs, (*positions, shift))), factor)
        for layout in ("interleaved", "half_split"):
            x, expected = (_rotated_keys(raw, positions, by, layout, factor) for by in (0, shift))
            wrong = {
                "not_moved": x,
                "moved_backwards": _rotated_keys(raw, positions, -shift, layout, factor),
                "factor_twice": _rotated_keys(raw, positions, shift, layout, factor * factor),
            }
            case = _case(name, source, layout, factor) | {"positions": positions, "shift": shift}
            case |= {"x": x, "expected": expected, "tolerance": bounds}
            yield case | {"catches": detected(wrong, expected, bounds)}


def _rotated_keys(raw: Rows, positions: list[int], shift: int, layout: str, factor: float) -> Rows:
    moved = [m + shift for m in positions]
    return [reference.rotate(v, m, FREQUENCIES, layout, factor) for v, m in zip(raw, moved, strict=True)]


V3, V2 = {"mscale": 1.0, "mscale_all_dim": 1.0}, {"mscale": 0.707, "mscale_all_dim": 0.707}
DEEPSEEK = "DeepSeek's modeling_deepseek.py (DeepSeek-V2, V3)"
TRANSFORMERS = "transformers 5.23, modeling_rope_utils and modeling_deepseek_v3"
SCALES = [  # (name, reference, whether MLA scales the softmax, factor, the two numbers, dissenters)
    ("DeepSeek-V3: both are 1", f"{DEEPSEEK}; {TRANSFORMERS}", True, 40.0, V3, []),
    ("DeepSeek-V2: both are 0.707", f"{DEEPSEEK}; {TRANSFORMERS}", True, 40.0, V2,
     [("Megatron-LM (its issue 1429) scaled the softmax by mscale: equal where the two are", None)]),
    ("Ministral 3: both are 1, no MLA", f"{TRANSFORMERS}", False, 16.0, V3,
     [("vLLM 0.25.0 (its issue 48621) ignores the two numbers", "plain")]),
    ("neither is stated", f"YaRN, arXiv 2309.00071; {TRANSFORMERS}", True, 40.0, {}, []),
    ("mscale alone, as DeepSeek reads it", DEEPSEEK, True, 40.0, {"mscale": 0.707},
     [(TRANSFORMERS, "transformers")]),
    ("mscale alone, as transformers reads it", TRANSFORMERS, True, 40.0, {"mscale": 0.707},
     [(DEEPSEEK, "deepseek")]),
    ("mscale_all_dim alone, as DeepSeek reads it", DEEPSEEK, True, 40.0, {"mscale_all_dim": 1.0},
     [(TRANSFORMERS, "transformers")]),
    ("mscale_all_dim alone, as transformers reads it", TRANSFORMERS, True, 40.0, {"mscale_all_dim": 1.0},
     [(DEEPSEEK, "deepseek")]),
]  # fmt: skip


def yarn_mscale(factor: float, mscale: float) -> float:
    """Return YaRN's 0.1 · mscale · ln s + 1."""
    return 0.1 * mscale * math.log(factor) + 1.0


def scales_of(engine: str, factor: float, stated: dict[str, float], mla: bool) -> list[float]:
    """Return the multipliers [on cos and sin, on the softmax scale]."""
    both = "mscale" in stated and "mscale_all_dim" in stated
    on_softmax = yarn_mscale(factor, stated.get("mscale_all_dim", 0.0)) ** 2 if mla else 1.0
    if engine == "plain" or (engine == "transformers" and not both):
        return [yarn_mscale(factor, 1.0), on_softmax]
    mscale, all_dim = stated.get("mscale", 1.0), stated.get("mscale_all_dim", 0.0)
    return [yarn_mscale(factor, mscale) / yarn_mscale(factor, all_dim), on_softmax]


def scale_cases() -> Iterator[dict]:
    """Yield cases for where mscale applies, to cos and sin or to the scores, naming the engines that differ."""
    for name, truth, mla, factor, stated, dissenters in SCALES:
        engine = "deepseek" if truth.startswith(DEEPSEEK) else "transformers"
        on_cos_and_sin, on_softmax = scales_of(engine, factor, stated, mla)
        case = {"name": name, "source": truth, "truth": truth, "mla": mla, "factor": factor, **stated}
        case |= {"on_cos_and_sin": on_cos_and_sin, "on_softmax_scale": on_softmax, "tolerance": 1e-12}
        others = [
            {"who": words} | ({"on_cos_and_sin": scales_of(how, factor, stated, mla)[0]} if how else {})
            for words, how in dissenters
        ]
        yield case | {"others": others, "catches": [other["who"] for other in others if len(other) > 1]}
