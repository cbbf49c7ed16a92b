r"""Cases beyond one text of one coordinate: batches, several coordinates, moved keys, where mscale goes."""

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
}  # (sections as configs state them, axis of each pair)
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
SHIFTS = {  # name: (positions of the keys in the cache, by how much they move, attention factor, source)
    "the cache loses its first 100 tokens": ([100, 101, 350], -100, 1.0, "llama.cpp, llama_memory_seq_add"),
    "text is put in before the cache": ([0, 1, 2], 57, 1.0, "llama.cpp, llama_memory_seq_add"),
    "a shift of 0": ([0, 9], 0, 1.0, "R(0) is the identity"),
    "keys that were lengthened once": ([8, 9], -8, 0.1 * math.log(16) + 1, "YaRN, arXiv 2309.00071, once"),
    "a long way back": ([131_071], -131_071, 1.0, "R(−m) R(m) = 1"),
}  # fmt: skip


def turned(x: list[float], angles: list[float], layout: str, factor: float = 1.0) -> list[float]:
    """One vector, each pair turned by its own angle; the tail passes."""
    found = list(x)
    for (first, second), angle in zip(reference.pairs_of(layout, 2 * len(angles)), angles, strict=True):
        z = factor * complex(x[first], x[second]) * cmath.exp(1j * angle)
        found[first], found[second] = z.real, z.imag
    return found


def speeds() -> list[float]:
    """Frequencies of all cases here, radians per token."""
    return reference.frequencies_of("rope", SIZES["rotary_dim"], SIZES["base"])[0]


def far(found: Any, expected: Any, bound: float) -> bool:
    """Whether nested lists differ somewhere by more than a bound."""
    if isinstance(expected, list):
        return any(far(a, b, bound) for a, b in zip(found, expected, strict=True))
    return not abs(found - expected) <= bound


def caught(wrong: dict[str, Callable[[], Any]], expected: Any, bound: float) -> list[str]:
    """Names of the wrong results that are too far from the expected one."""
    return [name for name, make in wrong.items() if far(make(), expected, bound)]


def batch_cases(numbers: Callable, tolerances: Callable) -> Iterator[dict]:
    """Rows of a batch, each with positions of its own."""
    for name, (positions, real, source) in BATCHES.items():
        seq = len(positions[0])
        flat = numbers(len(positions) * seq, SIZES["head_dim"])
        x = [flat[row * seq : (row + 1) * seq] for row in range(len(positions))]
        for layout in ("interleaved", "half_split"):

            def rotated(places: list[list[int]], layout: str = layout, x: list[Rows] = x) -> list[Rows]:
                return [
                    [
                        turned(v, [m * speed for speed in speeds()], layout)
                        for v, m in zip(row, places[n], strict=True)
                    ]
                    for n, row in enumerate(x)
                ]

            expected = rotated(positions)
            bounds = tolerances(max(max(row) for row in positions), 1.0)
            real = real or [[1] * seq for _ in positions]
            seen = [
                [v for v, r in zip(row, mask, strict=True) if r]
                for row, mask in zip(expected, real, strict=True)
            ]

            def kept(
                places: list[list[int]], real: list[list[int]] = real, rotated: Callable = rotated
            ) -> list[Rows]:
                return [
                    [v for v, r in zip(row, mask, strict=True) if r]
                    for row, mask in zip(rotated(places), real, strict=True)
                ]

            counted = [list(range(seq)) for _ in positions]
            wrong = {
                "first_row_for_all": lambda p=positions, kept=kept: kept([p[0]] * len(p)),
                "counts_from_zero": lambda c=counted, kept=kept: kept(c),
                "other_rows_at_0": lambda p=positions, kept=kept: kept(
                    [p[0]] + [[0] * len(p[0])] * (len(p) - 1)
                ),
            }
            case = {
                "name": f"{name}, {layout}",
                "source": source,
                "layout": layout,
                **SIZES,
                "attention_factor": 1.0,
            }
            case |= {"positions": positions, "real": real, "x": x, "expected": expected, "tolerance": bounds}
            yield case | {"catches": caught(wrong, seen, bounds["float32, angles in float32"])}


def axes_cases(numbers: Callable, tolerances: Callable) -> Iterator[dict]:
    """Positions of several coordinates, of which each pair turns by one."""
    for name, (order, positions, source) in AXES.items():
        sections, axes = ORDERS[order]
        x = numbers(len(positions[0]), SIZES["head_dim"])
        for layout in ("interleaved", "half_split"):

            def rotated(
                of_pair: list[int], places: list[list[int]], layout: str = layout, x: Rows = x
            ) -> Rows:
                return [
                    turned(v, [places[a][n] * s for a, s in zip(of_pair, speeds(), strict=True)], layout)
                    for n, v in enumerate(x)
                ]

            expected = rotated(axes, positions)
            bounds = tolerances(max(max(row) for row in positions), 1.0)
            other = [0, 1, 2, 0] if axes == [0, 1, 1, 2] else [0, 1, 1, 2]
            wrong = {
                "other_order": lambda o=other, p=positions, r=rotated: r(o, p),
                "one_coordinate": lambda p=positions, r=rotated: r([0] * 4, p),
                "rows_for_columns": lambda a=axes, p=positions, r=rotated: r(a, [p[0], p[2], p[1]]),
            }
            case = {
                "name": f"{name}, {layout}",
                "source": source,
                "layout": layout,
                **SIZES,
                "attention_factor": 1.0,
            }
            case |= {"sections": sections, "order": order, "axes": axes}
            case |= {"positions": positions, "x": x, "expected": expected, "tolerance": bounds}
            yield case | {"catches": caught(wrong, expected, bounds["float32, angles in float32"])}


def shift_cases(numbers: Callable, tolerances: Callable) -> Iterator[dict]:
    """Keys that were rotated and are moved: turned once more, and lengthened no more."""
    for name, (positions, shift, factor, source) in SHIFTS.items():
        raw = numbers(len(positions), SIZES["head_dim"])
        for layout in ("interleaved", "half_split"):

            def rotated(places: list[int], times: float, layout: str = layout, raw: Rows = raw) -> Rows:
                return [
                    turned(v, [m * speed for speed in speeds()], layout, times)
                    for v, m in zip(raw, places, strict=True)
                ]

            x, expected = rotated(positions, factor), rotated([m + shift for m in positions], factor)
            bounds = tolerances(max(map(abs, (*positions, shift))), factor)
            wrong = {
                "not_moved": lambda x=x: x,
                "moved_backwards": lambda p=positions, s=shift, f=factor, r=rotated: r([m - s for m in p], f),
                "factor_twice": lambda p=positions, s=shift, f=factor, r=rotated: r(
                    [m + s for m in p], f * f
                ),
            }
            case = {
                "name": f"{name}, {layout}",
                "source": source,
                "layout": layout,
                **SIZES,
                "attention_factor": factor,
            }
            case |= {
                "positions": positions,
                "shift": shift,
                "x": x,
                "expected": expected,
                "tolerance": bounds,
            }
            yield case | {"catches": caught(wrong, expected, bounds["float32, angles in float32"])}


V3, V2 = {"mscale": 1.0, "mscale_all_dim": 1.0}, {"mscale": 0.707, "mscale_all_dim": 0.707}
DEEPSEEK = "DeepSeek's modeling_deepseek.py (DeepSeek-V2, V3)"
TRANSFORMERS = "transformers 5.23, modeling_rope_utils and modeling_deepseek_v3"
SCALES = [  # (name, whose truth, is the softmax scaled: MLA, factor, the two numbers, others who differ)
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


def grown(factor: float, mscale: float) -> float:
    """YaRN's 0.1 · mscale · ln s + 1."""
    return 0.1 * mscale * math.log(factor) + 1.0


def scales_of(who: str, factor: float, stated: dict[str, float], mla: bool) -> list[float]:
    """What cos and sin, and what the scores are multiplied by: [on cos and sin, on the softmax scale]."""
    both = "mscale" in stated and "mscale_all_dim" in stated
    on_softmax = grown(factor, stated.get("mscale_all_dim", 0.0)) ** 2 if mla else 1.0
    if who == "plain" or (who == "transformers" and not both):
        return [grown(factor, 1.0), on_softmax]
    ratio = grown(factor, stated.get("mscale", 1.0)) / grown(factor, stated.get("mscale_all_dim", 0.0))
    return [ratio, on_softmax]


def scale_cases(*_: object) -> Iterator[dict]:
    """Where mscale goes: on cos and sin, or on the scores; where two engines differ, both are there by name."""
    for name, truth, mla, factor, stated, others in SCALES:
        who = "deepseek" if truth.startswith(DEEPSEEK) else "transformers"
        on_turns, on_softmax = scales_of(who, factor, stated, mla)
        case = {"name": name, "source": truth, "truth": truth, "mla": mla, "factor": factor, **stated}
        case |= {"on_cos_and_sin": on_turns, "on_softmax_scale": on_softmax, "tolerance": 1e-12}
        differ = [
            {"who": words, "on_cos_and_sin": scales_of(how, factor, stated, mla)[0]}
            if how
            else {"who": words}
            for words, how in others
        ]
        yield case | {"others": differ, "catches": [each["who"] for each in differ if len(each) > 1]}
