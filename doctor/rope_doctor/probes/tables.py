r"""Read the cosines and sines that a live module returns or stores, and compare them with a rotation."""

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from rope_doctor.clinic.frequencies import describe_base
from rope_doctor.probes.watching import FREQUENCY_TOLERANCE
from rope_edu.encodings.spec import RopeSpec

POSITIONS = (0, 1, 2, 3, 5, 8, 13, 31, 64, 127, 300, 511, 1000, 2047)
TABLES = re.compile(r"(cos|sin|freqs|rope|rotary|embed_positions)(?!.*inv)", re.IGNORECASE)


def called(
    module: Any, model: Any, positions: np.ndarray, layer_type: str, exact: bool = False
) -> np.ndarray | None:
    """Call a module; return cosines + i · sines, (positions, features or pairs), or None for any other result.

    If `exact` is True, the module computes in float32, whatever the model's dtype.
    """
    import torch

    options = {"layer_type": layer_type} if layer_type else {}
    like = next((values for values in model.parameters() if values.is_floating_point()), torch.zeros(1))
    ids = torch.tensor(positions, device=like.device)[None]
    dtype = torch.float32 if exact else like.dtype
    x = torch.zeros(1, len(positions), 1, dtype=dtype, device=like.device)
    with torch.no_grad():
        try:
            out = module(x, ids, **options)
        except (IndexError, RuntimeError, ValueError):  # M-RoPE expects three coordinates
            out = module(x, torch.stack([ids] * 3), **options)
    if isinstance(out, torch.Tensor) and out.is_complex():
        return _rows(out.to(torch.complex128).cpu().numpy(), len(positions))
    pair = isinstance(out, tuple | list) and len(out) == 2
    if not pair or not all(isinstance(table, torch.Tensor) for table in out):
        return None
    cos, sin = (table.double().cpu().numpy() for table in out)
    return _rows(cos + 1j * sin, len(positions))


def _rows(values: np.ndarray, count: int) -> np.ndarray | None:
    """Drop all axes but two, (positions, features); return None if the number of positions differs from `count`."""
    while values.ndim > 2:
        axis = next((axis for axis, size in enumerate(values.shape) if size == 1), 0)
        values = values.take(0, axis=axis)
    return values if values.shape[0] == count else None


def stored(module: Any) -> Iterator[tuple[str, np.ndarray]]:
    """Yield (name, cosines + i · sines) for each table that a module stores, with one row per position."""
    import torch

    own = {**dict(module.named_buffers(recurse=False)), **vars(module)}
    tables = {name: x for name, x in own.items() if isinstance(x, torch.Tensor) and TABLES.search(name)}
    for name, values in tables.items():
        if values.is_meta or not (values.is_floating_point() or values.is_complex()):
            continue
        values = values.detach().cpu()
        numbers = values.to(torch.complex128 if values.is_complex() else torch.float64).numpy().squeeze()
        if numbers.ndim == 3 and numbers.shape[-1] == 2:
            numbers = numbers[..., 0] + 1j * numbers[..., 1]
        if numbers.ndim != 2 or len(numbers) < 8:
            continue
        first, second = np.split(numbers, [numbers.shape[1] // 2], axis=1)
        if np.iscomplexobj(numbers):
            yield name, numbers
        elif "cos" in name and name.replace("cos", "sin") in tables and "sin" not in name:
            other = tables[name.replace("cos", "sin")].detach().cpu().double().numpy().squeeze()
            yield name, numbers + 1j * other
        elif "embed_positions" in name:  # sines first
            yield name, second + 1j * first
        elif "cos_sin" in name:
            yield name, first + 1j * second


def by_pair(values: np.ndarray, expected: np.ndarray) -> np.ndarray | None:
    """Convert a table with a column per pair, or per feature in either layout, to one per pair, or return None."""
    pairs, once = expected.shape[1], _once(values)
    if values.shape[1] == pairs:
        return values if once is None or _once(expected) is not None else None
    return once if values.shape[1] == 2 * pairs else None


def _once(values: np.ndarray) -> np.ndarray | None:
    """Halve a table that stores every pair's numbers twice, in either layout; return None for any other table."""
    if values.shape[1] % 2:
        return None
    neighbours, halves = (values[:, ::2], values[:, 1::2]), np.split(values, 2, axis=1)
    return next((one for one, two in (halves, neighbours) if np.allclose(one, two, atol=1e-6)), None)


def _compared(
    values: np.ndarray, spec: RopeSpec, positions: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return cosines + i · sines per pair, and a mask of those that differ; None if the pairs do not match.

    Rounding the table to its number format, or the frequencies to float32, is not a difference.
    """
    angles = positions[:, None] * spec.inv_freq
    expected = spec.attention_factor * np.exp(1j * angles)
    found = by_pair(values, expected)
    if found is None:
        return None
    mantissa = np.frexp(values.real)[0] * 2.0**11
    if float(np.abs(values.real - values.real.astype(np.float32)).max()) > 0:
        bits = 0.0
    elif np.isfinite(mantissa).all() and (mantissa == np.round(mantissa)).all():  # fits in 11 bits
        bits = 2.0**-8
    else:
        bits = 2.0**-20
    bound = spec.attention_factor * (bits + 1e-6 + angles * FREQUENCY_TOLERANCE)
    return found, ~(np.abs(found - expected) <= bound)


def off(values: np.ndarray, spec: RopeSpec, positions: np.ndarray) -> float:
    """Return the fraction of entries that differ from the rotation, or 2 if the pairs do not match."""
    compared = _compared(values, spec, positions)
    return 2.0 if compared is None else float(compared[1].mean())


def difference(values: np.ndarray, spec: RopeSpec, positions: np.ndarray) -> dict[str, Any] | None:
    """Return the actual and the expected rotation as text, and the first difference, or None if they are equal."""
    pairs, width = len(spec.inv_freq), values.shape[1]
    compared = _compared(values, spec, positions)
    if compared is None:
        twice = _once(values) is not None
        shape = f"{width // 2} pairs, each twice" if twice else f"{width} numbers per position"
        return {"found": shape, "wanted": f"{pairs} pairs, or each twice in one of the two layouts"}
    table, wrong = compared
    if not wrong.any():
        return None
    size = float(np.median(np.abs(table)))
    if abs(size / spec.attention_factor - 1) > 0.01:
        found, wanted = f"cosines and sines of size {size:.6g}", f"{spec.attention_factor:.6g}"
        return {"found": found, "wanted": wanted}
    row, pair = np.argwhere(wrong)[0].tolist()
    speeds = np.abs(np.angle(table[list(positions).index(1)])) if 1 in positions else np.zeros(pairs)
    angle = float(np.angle(table[row, pair] / np.exp(1j * positions[row] * spec.inv_freq[pair])))
    return {
        "found": f"{as_words(speeds, spec)}, and an angle {abs(angle):.3g} rad off",
        "wanted": as_words(spec.inv_freq, spec),
        "pair": pair,
        "position": int(positions[row]),
    }


def as_words(speeds: np.ndarray, spec: RopeSpec) -> str:
    if not np.isfinite(speeds).all() or not (speeds > 0).any():
        return f"frequencies {listed(speeds)}"
    base = describe_base(speeds, 2 * len(speeds), spec.head_dim)
    return f"{base} ({len(speeds)} pairs, the slowest {speeds.min():.6g} rad per token)"


def listed(numbers: np.ndarray) -> str:
    shown = ", ".join(f"{number:.3g}" for number in numbers.ravel()[:4])
    return f"{shown}, …" if numbers.size > 4 else shown
