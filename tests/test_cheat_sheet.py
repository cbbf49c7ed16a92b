"""Every formula on the cheat sheet, run as it is printed, is the library's; every number on it is computed."""

import re
from pathlib import Path

import numpy as np
import pytest

from rope_edu import plain

TEXT = (Path(__file__).resolve().parents[1] / "book" / "cheat_sheet.md").read_text(encoding="utf-8")
PROSE = " ".join(TEXT.split())
ROWS = {
    cells[0]: cells[1:]
    for line in re.findall(r"^\| (.+) \|$", TEXT, re.MULTILINE)
    if len(cells := line.split(" | ")) > 1
}
D, B, L, S = 128, 10_000.0, 4096, 8.0
PAIRS = np.arange(D // 2)
FREQUENCIES = plain.inv_freq(D, B)


def codes(row: str, column: int) -> list[str]:
    """Return the code in one cell of a table."""
    return re.findall(r"`([^`]+)`", ROWS[row][column])


def run(code: str, **values):
    """Run a piece of code as a reader would: NumPy's names, and the letters of the page."""
    names = vars(np) | {"d": D, "b": B, "L": L, "s": S, "i": PAIRS, "f": FREQUENCIES} | values
    if "=" in code:
        exec(code, names)
        return names[code.partition(" =")[0]]
    return eval(code, names)


TURNS = run(re.search(r"`(r = [^`]+)`", TEXT)[1])


def same(found, wanted) -> None:
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-15)


def test_frequency_wavelength_turn_and_score():
    same(run(codes("frequency, radians per token", 1)[0]), FREQUENCIES)
    same(run(codes("wavelength, tokens per turn", 1)[0]), plain.wavelength(FREQUENCIES))
    rng = np.random.default_rng(0)
    (turn,) = codes(next(row for row in ROWS if row.startswith("turned pair")), 1)
    for x, y, m in rng.normal(size=(5, 3)):
        same(run(turn, x=x, y=y, m=m, f=0.3), plain.rotate_pair([x, y], m * 0.3))
    q, k = rng.normal(size=(2, D))
    complex_q, complex_k = q[0::2] + 1j * q[1::2], k[0::2] + 1j * k[1::2]
    (score,) = codes("score, pairs as complex numbers", 1)
    turned = [plain.apply_rope(x, m * FREQUENCIES) for x, m in ((q, 40), (k, 7))]
    same(run(score, q=complex_q, k=complex_k, m=40, n=7), turned[0] @ turned[1])


def test_layouts():
    interleaved, half = ROWS["pair i"]
    for features, turn in ((interleaved, plain.apply_rope), (half, plain.rotate_half_split)):
        x = np.random.default_rng(1).normal(size=D)
        first, second = (run(code) for code in re.findall(r"`([^`]+)`", features))
        turned = turn(x, 5 * FREQUENCIES)
        pairs = [
            plain.rotate_pair([x[a], x[b]], 5 * f) for a, b, f in zip(first, second, FREQUENCIES, strict=True)
        ]
        same(turned[first], np.array(pairs)[:, 0])
        same(turned[second], np.array(pairs)[:, 1])
    x, a = np.random.default_rng(2).normal(size=D), 5 * FREQUENCIES
    tables = [run(codes("angles for all features", column)[0], a=a) for column in (0, 1)]
    companions = [plain.quarter_turn(x), np.concatenate([-x[D // 2 :], x[: D // 2]])]
    for angles, companion, turn in zip(
        tables, companions, (plain.apply_rope, plain.rotate_half_split), strict=True
    ):
        same(x * np.cos(angles) + companion * np.sin(angles), turn(x, a))
    (order,) = re.findall(r"in each head as `([^`]+)`", PROSE)
    assert (run(order) == plain.layout_permutation(D)).all()


def by_parts(row: str) -> np.ndarray:
    """Return the frequencies of a rule by parts, with the share that its row states."""
    kept = run(next(code for code in codes(row, 0) if code.startswith("g = ")), r=TURNS)
    return run(codes("by parts", 0)[0], g=kept)


RULES = {
    "PI (`linear`)": (lambda code: run(code), plain.position_interpolation(D, S, B)),
    "ABF": (lambda code: run(code, B=5e5), plain.abf(D, 5e5)),
    "NTK-aware": (lambda code: run(code), plain.ntk_aware(D, S, B)),
    "LongRoPE": (
        lambda code: run(code, k=np.linspace(1, 60, D // 2)),
        plain.longrope(D, S, L, L + 1, None, np.linspace(1, 60, D // 2))[0],
    ),
    "p-RoPE": (lambda code: run(code, p=0.25), plain.p_rope(D, 0.25, B)),
}


@pytest.mark.parametrize("row", RULES)
def test_rule_is_the_librarys(row):
    found, wanted = RULES[row]
    same(found(codes(row, 0)[0]), wanted)


def test_rules_by_parts_are_the_librarys():
    same(by_parts("by parts"), plain.ntk_by_parts(D, S, L, B))
    same(by_parts("Llama 3"), plain.llama3(D, S, L, B))
    (stretch,) = codes("dynamic NTK", 0)
    same(
        plain.ntk_aware(D, run(stretch, factor=2.0, l=9000), B),
        plain.dynamic_ntk(D, L, 9000, 2.0, B),
    )
    same(run(codes("YaRN", 1)[0]), plain.yarn(D, S, L, B)[1])
    ones = np.ones(D // 2)
    same(run(codes("LongRoPE", 1)[0]), plain.longrope(D, S, L, L + 1, ones, ones)[1])


def test_reach_of_ntk_is_where_the_first_slow_pair_meets_a_new_angle():
    slow = int((plain.wavelength(FREQUENCIES) < L).sum())
    assert (TURNS < 1).argmax() == slow
    reach = L * FREQUENCIES[slow:] / plain.ntk_aware(D, S, B)[slow:]
    (code,) = re.findall(r"reaches `([^`]+)`", ROWS["NTK-aware"][2])
    same(run(code, j=slow), reach.min())


def test_alibi_is_the_librarys():
    (code,) = re.findall(r"score minus `([^`]+)`", PROSE)
    bias = plain.alibi_bias(8, 6, 6)
    for h in range(1, 9):
        same(-run(code, h=h, H=8, m=5, n=2), bias[h - 1, 5, 2])


def test_numbers_are_computed():
    large = plain.inv_freq(128, 500_000.0)
    waves, wide = plain.wavelength(FREQUENCIES), plain.wavelength(large)
    said = [
        f"from {waves[0]:.2f} to {waves[-1]:,.0f} tokens (base 500,000: to {wide[-1]:,.0f})",
        f"{(waves < L).sum()} of its {len(waves)} pairs complete a turn within 4,096 tokens",
        f"4,096 tokens (base 500,000: {(wide < L).sum()})",
    ]
    factors = [plain.yarn(D, s, L, B)[1] for s in (8, 16, 32)]
    said.append("{:.2f} for s = 8, {:.2f} for 16, {:.2f} for 32".format(*factors))
    said.append("scores times {:.2f}, {:.2f}, {:.2f}".format(*(a * a for a in factors)))
    for base in (10_000, 100_000, 500_000, 1_000_000):
        first = plain.first_negative_distance(plain.inv_freq(128, float(base)), 30_000)
        said.append(f"{first:,} ({'base ' if base == 10_000 else ''}{base:,})")
    for sentence in said:
        assert sentence in PROSE, sentence
    assert int(np.float32(257).view(np.uint32) & 0xFFFF) == 0x8000  # a tie of bfloat16, to the even 256
