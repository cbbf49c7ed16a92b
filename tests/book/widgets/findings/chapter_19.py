"""Chapter 19: partial rotary and p-RoPE, a quarter of a head of 16 features."""

import numpy as np

from rope_edu import apply_rope, inv_freq, p_rope, partial_rope, rope_angles, wavelength

HEAD, LENGTH = 16, 4096


def _waves(share=0.25, base=10_000.0):
    """Return the wavelengths of the pairs that turn, by variant."""
    of_p_rope = p_rope(HEAD, share, base=base).inv_freq
    return {
        "RoPE": wavelength(inv_freq(HEAD, base)),
        "partial": wavelength(partial_rope(HEAD, round(HEAD * share), base=base).inv_freq),
        "p-RoPE": wavelength(of_p_rope[of_p_rope > 0]),
    }


def slower():
    waves = _waves()
    ratio = waves["partial"][1] / waves["p-RoPE"][1]
    return {"Partial rotary": ratio > 10, "They are equal": ratio == 1, "its head is wider": ratio < 1}


def base():
    before, after = _waves(), _waves(base=1e6)
    passed = {name for name in before if ((before[name] <= LENGTH) & (after[name] > LENGTH)).any()}
    return {
        "and in partial rotary": passed == {"RoPE", "partial"},
        "In all three": len(passed) == 3,
        "Only in RoPE": passed == {"RoPE"},
        "Only in p-RoPE": passed == {"p-RoPE"},
    }


def _partner(width, speeds):
    """Return the feature that turns with feature 0, in the interleaved layout."""
    turned = apply_rope(np.eye(width)[:1], rope_angles([1], speeds))[0]
    return np.flatnonzero(turned)[-1]


def layout():
    partial, p = inv_freq(4), p_rope(HEAD, 0.25).inv_freq
    partners, same_speeds = _partner(4, partial) == _partner(HEAD, p), np.allclose(partial, p[:2])
    return {
        "The difference in partners": partners and not same_speeds,
        "The difference in speeds": same_speeds and not partners,
        "Both": partners and same_speeds,
        "Neither": not (partners or same_speeds),
    }


def more():
    quarter, most = (_waves(share)["partial"][1] / _waves(share)["p-RoPE"][1] for share in (0.25, 0.75))
    return {
        "Yes": most < 0.9 * quarter,
        "means more differences": most > 1.1 * quarter,
        "by a constant factor": 0.9 * quarter <= most <= 1.1 * quarter,
    }
