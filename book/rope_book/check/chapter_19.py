"""Chapter 19 exercises: tell variants apart."""

from typing import Any

from rope_book.check.answers import Answer, Reply, array, native, number, of_function, whole
from rope_book.check.exercise import Known, Verdict, judges, of_cases
from rope_edu.encodings import inv_freq, p_rope, partial_rope, xpos_scale

PARTNER = "It must return one whole number, or None where the feature does not turn."


def _partner(j: int, head_dim: int, fraction: float, kind: str) -> int | None:
    """Return the feature that rotates with feature j in the half_split layout, or None if j does not rotate."""
    turning = int(fraction * head_dim / 2)
    half = turning if kind == "partial" else head_dim // 2
    if j >= 2 * half or j % half >= turning:
        return None
    return (j + half) % (2 * half)


def _as_feature(result: Any) -> int | None:
    return None if result is None else whole(result, PARTNER)


@judges("19.1")
@of_function(or_none=True)
def _knows_partners(partner: Answer) -> Verdict:
    """Judge exercise 19.1 on every feature of four heads, for partial rotation and p-RoPE."""
    for head_dim, fraction in ((16, 0.25), (16, 0.5), (12, 1.0), (64, 0.75)):
        for kind, other in (("partial", "p-rope"), ("p-rope", "partial")):
            for j in range(head_dim):
                right = _partner(j, head_dim, fraction, kind)
                result = _as_feature(partner(j, head_dim, fraction, kind))
                if result == right:
                    continue
                case = f"partner({j}, {head_dim}, {fraction}, {kind!r})"
                if right is None:
                    return f"{case} is None: feature {j} never turns. Yours is {result}."
                if result is None and right < j:
                    return f"{case} is {right}: feature {j} is the second of its pair. Yours is None."
                if result in (_partner(j, head_dim, fraction, other), j + head_dim // 2):
                    return f"{case} is {right}: yours, {result}, is {other}'s partner, or RoPE's."
                return f"{case} is {right}, yours is {result}."
    return True


@judges("19.2")
@of_function
def _reads_the_denominator(denominator: Answer) -> Verdict:
    """Judge exercise 19.2 on the frequencies of RoPE, partial RoPE, p-RoPE, and p-RoPE without its zeros."""
    cut = p_rope(512, 0.25, 1e6).inv_freq[:64]
    cases = [
        ("RoPE, head of 128", inv_freq(128), 1e4, 128),
        ("partial rotary, 32 of 128 features", partial_rope(128, 32).inv_freq, 1e4, 32),
        ("p-RoPE, a quarter of 512", p_rope(512, 0.25, 1e6).inv_freq, 1e6, 512),
        ("the same 64 frequencies, without the zeros", cut, 1e6, 512),
    ]
    for words, frequencies, base, right in cases:
        result = number(denominator(frequencies.copy(), base), "It must return one number.")
        if abs(result - right) < 1e-6 * right:
            continue
        if abs(result - 2 * len(frequencies)) < 1e-6:
            return (
                f"{words}: the denominator is {right}. The length of a table does not show its denominator."
            )
        if abs(result + right) < 1e-6 * right:
            return f"{words}: the size is right, the sign is not; ln θ₁ is negative."
        if abs(2 * result - right) < 1e-6 * right:
            return f"{words}: yours is {result:g}, half of it. The exponent of pair 1 is −2 over the denominator."
        return f"{words}: the denominator is {right}, yours is {result:g}."
    return True


@judges("19.3")
@of_cases(((0, 64, 512), (31, 64, 512), (5, 16, 100), (0, 64, 0), (3, 64, 2048)), tol=1e-9)
def _fades_as_xpos(result: float, pair: int, width: int, distance: int) -> Known:
    """Judge exercise 19.3 with several pairs, widths and distances."""
    zeta = float(xpos_scale(512, width)[pair])
    right, halved = zeta ** (distance / 512), (pair + 0.4 * width) / (1.4 * width)
    case = f"fades({pair}, {width}, {distance})"
    slips = {
        f"{case}: ζ belongs to 512 tokens, not to one.": zeta**distance,
        f"{case}: m and −n are both there already: the product has ζ once for each 512 tokens.": right**2,
        f"{case}: that grows. ζ is below 1, and a key that is farther back counts less.": 1 / right,
        f"{case}: pair i is at feature 2i; ζ has 2i where yours has i.": halved ** (distance / 512),
    }
    return right, slips, f"{case} is {right:.4f}, yours is {result:.4f}."


def _as_layers(result: Any) -> list[int]:
    """Return a collection of whole numbers as a sorted list."""
    ask = "It must return a list of layers."
    result = array(sorted(result) if isinstance(result, set) else native(result), None, ask)
    if result.ndim != 1:
        raise Reply(ask)
    return sorted(whole(layer, ask) for layer in result.tolist())


@judges("19.4")
@of_function
def _finds_still_layers(still_layers: Answer) -> Verdict:
    """Judge exercise 19.4 on configs that specify the layers by a list or by an interval."""
    cases = [
        ({"num_hidden_layers": 8, "no_rope_layers": [1, 1, 1, 0, 1, 1, 1, 0]}, [3, 7]),
        ({"num_hidden_layers": 5, "no_rope_layers": [0, 1, 1, 1, 1]}, [0]),
        ({"num_hidden_layers": 3, "no_rope_layers": [1, 1, 1]}, []),
        ({"num_hidden_layers": 9, "no_rope_layer_interval": 4}, [3, 7]),
        ({"num_hidden_layers": 6, "no_rope_layer_interval": 2}, [1, 3, 5]),
    ]
    for config, right in cases:
        result = _as_layers(still_layers(dict(config)))
        if result == right:
            continue
        rest = sorted(set(range(config["num_hidden_layers"])) - set(right))
        if result == rest:
            return f"{config}: those are the layers that turn. In no_rope_layers, 1 means that a layer turns."
        if right and result == [layer + 1 for layer in right]:
            return f"{config}: layers are counted from 0, so the first of yours is one too high."
        if (step := config.get("no_rope_layer_interval")) and result == list(range(0, 9, step)):
            return f"{config}: layer 0 turns. Every {step}th is still: the first three are {right[:3]}."
        return f"{config}: the layers without position are {right}, yours are {result}."
    return True
