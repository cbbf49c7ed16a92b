r"""Write the test vectors: PYTHONPATH=book python -m makers.vectors.

A published case stays the same byte for byte: its line is copied if the recomputed numbers are close.
`--release 1.2.0` raises the version and records the new lines in vectors_published.json.
"""

from __future__ import annotations

import hashlib
import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import rope_doctor.vectors
from makers import vector_reference as reference
from makers import vectors_beyond as beyond
from makers.hostile_configs import CONFIGS, ROTATIONS
from rope_doctor.clinic import BROKEN
from rope_doctor.config import ConfigError, rope_from_config
from rope_edu.encodings.spec import RopeSpec

HERE = Path(rope_doctor.vectors.__file__).parent
FORMAT = "rope vectors 1"
ROFORMER = "RoFormer, arXiv 2104.09864, eq. 34"
YARN = "YaRN, arXiv 2309.00071, §3.4 (attention factor)"
NEOX = "GPT-NeoX, arXiv 2204.06745, §2.1 (a part of the head)"
SIZES = {  # name: (head_dim, rotary_dim, base, attention_factor, positions, source)
    "one pair": (2, 2, 10_000.0, 1.0, (0, 1, 2, 3), ROFORMER),
    "two pairs": (4, 4, 10_000.0, 1.0, (0, 1, 2, 7, 100), ROFORMER),
    "a tail": (10, 6, 10_000.0, 1.0, (0, 1, 5, 1000), NEOX),
    "half the head": (16, 8, 10_000.0, 1.0, (0, 3, 4095), NEOX),
    "another base": (8, 8, 500_000.0, 1.0, (0, 1, 8191, 131_071), ROFORMER),
    "an attention factor": (8, 8, 10_000.0, 0.1 * math.log(16) + 1, (0, 1, 17), YARN),
    "beside 256: bfloat16 has no 257": (8, 8, 10_000.0, 1.0, (255, 256, 257, 258), ROFORMER),
    "beside 2048: float16 has no 2049": (8, 8, 10_000.0, 1.0, (2047, 2048, 2049), ROFORMER),
    "beyond float16": (8, 8, 10_000.0, 1.0, (65_519, 65_520, 100_003), ROFORMER),
    "near 2^20": (8, 8, 1e6, 1.0, (2**20 - 3, 2**20 - 1, 2**20), ROFORMER),
    "a whole head": (64, 64, 10_000.0, 1.0, (1, 1021), ROFORMER),
    "a whole head of Llama 3": (128, 128, 500_000.0, 1.0, (8191,), ROFORMER),
    "backwards": (8, 8, 10_000.0, 1.0, (-1, -100), ROFORMER),
    "unsorted, repeated, from the middle": (8, 8, 10_000.0, 1.0, (900, 7, 7, 0, 31), ROFORMER),
    "gaps": (8, 8, 10_000.0, 1.0, (0, 5, 6, 4000, 4001), ROFORMER),
    "one token, far from 0": (8, 8, 10_000.0, 1.0, (77,), ROFORMER),
}
FACTOR = "attention_factor"
LISTS = {"short_factor": [1.0 + i / 16 for i in range(8)], "long_factor": [1.0 + i * i for i in range(8)]}
SPLIT = {"factor": 32.0, "trained_length": 4096, **LISTS}
RULES = [  # (rule, width, base, parameters, source)
    ("rope", 128, 10_000.0, {}, "RoFormer, arXiv 2104.09864, §3.2.2"),
    ("rope", 128, 500_000.0, {}, "Llama 3, arXiv 2407.21783, §3.2"),
    ("rope", 2, 10_000.0, {}, "RoFormer, arXiv 2104.09864, §3.2.2"),
    ("linear", 128, 10_000.0, {"factor": 4.0}, "arXiv 2306.15595, §2.3"),
    ("ntk-aware", 128, 10_000.0, {"factor": 8.0}, "arXiv 2309.00071, definition 1"),
    ("dynamic", 64, 10_000.0, {"factor": 2.0, "trained_length": 2048, "length": 2048}, "transformers' dynamic"),
    ("dynamic", 64, 10_000.0, {"factor": 2.0, "trained_length": 2048, "length": 6144}, "transformers' dynamic"),
    ("by parts", 128, 10_000.0, {"factor": 16.0, "trained_length": 4096}, "arXiv 2309.00071, definition 2"),
    ("yarn", 128, 10_000.0, {"factor": 16.0, "trained_length": 4096}, "YaRN's code; transformers, type yarn"),
    ("yarn", 64, 150_000.0, {"factor": 32.0, "trained_length": 4096, "truncate": False}, "gpt-oss's config.json"),
    (
        "yarn", 64, 10_000.0,
        {"factor": 40.0, "trained_length": 4096, "mscale": 1.0, "mscale_all_dim": 1.0}, "DeepSeek-V3's config.json",
    ),
    ("llama3", 128, 500_000.0, {"factor": 8.0, "trained_length": 8192}, "Llama 3.1's config.json"),
    ("llama3", 64, 500_000.0, {"factor": 32.0, "trained_length": 8192}, "Llama 3.2's config.json"),
    (
        "llama3", 128, 500_000.0,
        {"factor": 16.0, "trained_length": 8192, "low_freq_factor": 1.0, "high_freq_factor": 1.0},
        "Llama 4 Scout's config.json: a step",
    ),
    (
        "yarn", 64, 50_000.0,
        {"factor": 32.0, "trained_length": 4096, "beta_fast": 1.0, "beta_slow": 1.0, "mscale": 1.0,
         "mscale_all_dim": 1.0},
        "Kimi K2's config.json: a ramp of one pair",
    ),
    ("longrope", 16, 10_000.0, SPLIT | {"length": 4096}, "LongRoPE, arXiv 2402.13753"),
    ("longrope", 16, 10_000.0, SPLIT | {"length": 4097}, "LongRoPE, arXiv 2402.13753"),
    ("p-rope", 64, 1_000_000.0, {"p": 0.25}, "arXiv 2410.06205, §6; Gemma 4's global layers"),
]  # fmt: skip


def numbers(rows: int, width: int) -> list[list[float]]:
    """Return multiples of 1/16 from −2 to 2, which are exact in bfloat16 and float16."""
    return [[((37 * (row * width + i) + 11) % 65 - 32) / 16 for i in range(width)] for row in range(rows)]


def rotation_cases() -> Iterator[dict]:
    """Yield all rotations, in both layouts."""
    for name, (head_dim, rotary_dim, base, factor, positions, source) in SIZES.items():
        frequencies, _ = reference.frequencies_of("rope", rotary_dim, base)
        x = numbers(len(positions), head_dim)
        for layout in ("interleaved", "half_split"):
            expected = [
                reference.rotate(row, position, frequencies, layout, factor)
                for row, position in zip(x, positions, strict=True)
            ]
            case = {"name": f"{name}, {layout}", "source": source, "layout": layout, "head_dim": head_dim}
            case |= {"rotary_dim": rotary_dim, "base": base, FACTOR: factor, "positions": list(positions)}
            case |= {"x": x, "expected": expected, "tolerance": tolerances(max(map(abs, positions)), factor)}
            yield case | {"catches": detected(case)}


def tolerances(farthest: int, factor: float) -> dict[str, float]:
    """Return bounds on |actual − expected| by number format, for pairs of numbers up to 2, with norm below 3.

    cos and sin are off by half an ulp, their products by another half; a float32 angle has three roundings of
    m·θ ≤ m.
    """
    size = 3 * factor
    return {
        "float64": size * (4 + farthest) * 2**-52,
        "float32": size * 4 * 2**-24,
        "float32, angles in float32": size * (4 + 3 * farthest) * 2**-24,
        "bfloat16": size * 2**-8,
        "float16": size * 2**-11,
    }


def detected(case: dict) -> list[str]:
    """Return the names of the clinic's broken rotations that exceed a case's widest float32 tolerance."""
    frequencies, _ = reference.frequencies_of("rope", case["rotary_dim"], case["base"])
    spec = RopeSpec(frequencies, case[FACTOR], case["layout"], case["head_dim"])
    x, positions = np.array(case["x"]), np.array(case["positions"])
    names = []
    for name, make in BROKEN.items():
        if name in ("other_width", "one_clock") and case["head_dim"] == 2:
            continue
        try:
            rotated = np.array(make(spec)(x.copy(), positions))
        except (ValueError, IndexError, ZeroDivisionError):
            continue  # not applicable at this width
        error = np.abs(rotated - case["expected"]).max()
        if not error <= case["tolerance"]["float32, angles in float32"]:  # true for NaN too
            names.append(name)
    return names


def frequency_cases() -> Iterator[dict]:
    """Yield the frequencies and attention factor of every rule."""
    for rule, width, base, parameters, source in RULES:
        frequencies, factor = reference.frequencies_of(rule, width, base, **parameters)
        stated = ", ".join(
            f"{name} {value}" for name, value in parameters.items() if not isinstance(value, list)
        )
        case = {"name": f"{rule}, {width} features, base {base:g}" + (f", {stated}" if stated else "")}
        case |= {"source": source, "rule": rule, "rotary_dim": width, "base": base, "parameters": parameters}
        yield case | {"inv_freq": frequencies, FACTOR: factor, "tolerance": 1e-12}


def config_cases() -> Iterator[dict]:
    """Yield valid and hostile configs, with the rotation or the field to refuse."""
    for name, (config, source, catches, options) in CONFIGS.items():
        case = {"name": name, "source": source, "catches": catches, "config": config, "options": options}
        if name not in ROTATIONS:
            yield case | {"refused": _field_refused(config, options)}
            continue
        rule, head_dim, rotary_dim, base, parameters = ROTATIONS[name]
        frequencies, factor = reference.frequencies_of(rule, rotary_dim, base, **parameters)
        rotation = {"inv_freq": frequencies, FACTOR: factor, "layout": "half_split"}
        yield case | {**rotation, "head_dim": head_dim, "rotary_dim": rotary_dim, "tolerance": 1e-12}


def _field_refused(config: object, options: dict) -> str:
    """Return the field that the library blames when it refuses a config."""
    try:
        spec = rope_from_config(config, **options)
    except ConfigError as error:
        return error.field
    raise AssertionError(f"read as {spec}, but it must be refused, or stated in ROTATIONS")


FILES = {
    "rotate": rotation_cases,
    "frequencies": frequency_cases,
    "configs": config_cases,
    "batch": lambda: beyond.batch_cases(numbers, tolerances),
    "axes": lambda: beyond.axes_cases(numbers, tolerances),
    "shift": lambda: beyond.shift_cases(numbers, tolerances),
    "scale": beyond.scale_cases,
}
PUBLISHED = Path(__file__).with_name("vectors_published.json")


def nearly(actual: object, expected: object) -> bool:
    """Return whether two JSON values are equal, numbers to 12 digits because last bits vary between machines."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        return actual.keys() == expected.keys() and all(
            nearly(actual[key], expected[key]) for key in expected
        )
    if isinstance(expected, list) and isinstance(actual, list):
        return len(actual) == len(expected) and all(map(nearly, actual, expected))
    if isinstance(expected, float) and isinstance(actual, float):
        return abs(actual - expected) <= 1e-12 * max(1.0, abs(expected))
    return actual == expected


def lines_of(text: str) -> dict[str, str]:
    """Return a file's lines by case name."""
    lines = [line.removesuffix(",") for line in text.splitlines() if line.startswith('{"name"')]
    return {json.loads(line)["name"]: line for line in lines}


def committed(name: str) -> dict[str, str]:
    """Return a committed file's lines by case name."""
    path = HERE / f"{name}.json"
    return lines_of(path.read_text(encoding="utf-8")) if path.exists() else {}


def text_of(name: str, version: str | None = None) -> str:
    """Return a file's text, with one case per line and committed cases before new ones."""
    old = committed(name)
    new = {case["name"]: case for case in FILES[name]()}
    lines = []
    for case in [*(case for case in old if case in new), *(case for case in new if case not in old)]:
        line = json.dumps(new[case], ensure_ascii=False)
        unchanged = case in old and nearly(json.loads(line), json.loads(old[case]))
        lines.append(old[case] if unchanged else line)
    cases = ",\n".join(lines)
    head = f'"format": "{FORMAT}", "version": "{version or published()[-1][0]}", "what": "{name}"'
    return f'{{{head}, "cases": [\n{cases}\n]}}\n'


def published() -> list[tuple[str, dict[str, dict[str, str]]]]:
    """Return the versions in order, with the fingerprints of the lines that they added: file -> name -> SHA-256."""
    return list(json.loads(PUBLISHED.read_text(encoding="utf-8")).items())


def fingerprint(line: str) -> str:
    """Return the first 16 digits of a line's SHA-256."""
    return hashlib.sha256(line.encode()).hexdigest()[:16]


def release(version: str) -> None:
    """Record all unpublished lines under a new version."""
    versions = dict(published()) if PUBLISHED.exists() else {}
    known = {(name, case) for added in versions.values() for name, cases in added.items() for case in cases}
    versions[version] = {
        name: {
            case: fingerprint(line)
            for case, line in lines_of(text_of(name, version)).items()
            if (name, case) not in known
        }
        for name in FILES
    }
    PUBLISHED.write_text(json.dumps(versions, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def main(arguments: list[str]) -> None:
    """Write all vector files."""
    if arguments[:1] == ["--release"]:
        release(arguments[1])
    for name in FILES:
        (HERE / f"{name}.json").write_text(text_of(name), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
