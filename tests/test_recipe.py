"""The settings and the arithmetic of book/recipe.md: every engine is told the same rule, and the rule reaches."""

import ast
import json
import math
import re
from pathlib import Path

import nbformat
import numpy as np
import pytest

from rope_book.results.real import load_real
from rope_doctor import rope_from_config
from rope_edu.encodings import completes_turn, inv_freq, ntk_aware, reach, yarn

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "book" / "recipe.md").read_text(encoding="utf-8")
CHAPTER = nbformat.read(ROOT / "notebooks" / "23_test_the_claims.ipynb", as_version=4)
CLAIMS = "\n".join(cell.source for cell in CHAPTER.cells)
TRAINED, WANTED = 32_768, 131_072
CONFIG = json.loads(re.search(r"```json\n(.*?)```", PAGE, re.DOTALL)[1])
SHELL = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)


def test_the_config_states_yarn_from_the_trained_length_to_the_wanted_one():
    spec = rope_from_config(CONFIG)
    expected = yarn(128, WANTED / TRAINED, TRAINED, base=1_000_000)
    np.testing.assert_allclose(spec.inv_freq, expected.inv_freq, rtol=1e-12)
    assert spec.attention_factor == pytest.approx(expected.attention_factor)
    assert CONFIG["max_position_embeddings"] == WANTED


@pytest.mark.parametrize("command", SHELL)
def test_every_engine_is_told_the_same_rule_and_length(command):
    length = int(re.search(r"(?:--max-model-len|--context-length|-c) (\d+)", command)[1])
    assert length == WANTED
    if override := re.search(r"'(\{.*\})'", command):
        stated = json.loads(override[1])
        assert stated.pop("max_position_embeddings", None) == (WANTED if "sglang" in command else None)
        assert stated == {"rope_parameters": CONFIG["rope_parameters"]}
    else:
        factor, original = re.search(
            r"--rope-scaling yarn --rope-scale (\d+) --yarn-orig-ctx (\d+)", command
        ).groups()
        assert (int(factor), int(original)) == (WANTED // TRAINED, TRAINED)


def test_yarn_reaches_the_wanted_length_and_ntk_aware_scaling_only_with_the_larger_factor():
    plain, stretch = inv_freq(128, 1_000_000), WANTED / TRAINED
    first = int(np.argmin(completes_turn(plain, TRAINED)))
    larger = stretch ** (63 / first)
    assert reach(yarn(128, stretch, TRAINED, base=1_000_000).inv_freq, TRAINED, plain) >= WANTED * (1 - 1e-9)
    assert reach(ntk_aware(128, larger, base=1_000_000).inv_freq, TRAINED, plain) >= WANTED * (1 - 1e-9)
    assert reach(ntk_aware(128, stretch, base=1_000_000).inv_freq, TRAINED, plain) < 0.9 * WANTED


def test_the_base_to_type_is_the_formula_beside_it_rounded_up_and_reaches():
    stretch, pairs, first, base = re.search(
        r"\$10\^6 \\cdot (\d+)\^\{(\d+)/(\d+)\}\$, rounded up to ([\d,]+)", PAGE
    ).groups()
    plain, typed = inv_freq(128, 1_000_000), int(base.replace(",", ""))
    assert (int(stretch), int(pairs)) == (WANTED // TRAINED, 64)
    assert int(first) == np.argmin(completes_turn(plain, TRAINED))
    assert typed == math.ceil(10**6 * int(stretch) ** (int(pairs) / int(first)) / 10_000) * 10_000
    assert reach(inv_freq(128, typed), TRAINED, plain) >= WANTED


def row(name: str) -> list[str]:
    """Return the cells of a table's row behind its name."""
    return re.search(rf"^\| {name} \| (.+) \|$", PAGE, re.MULTILINE)[1].replace("*", "").split(" | ")


def test_the_scores_at_128k_are_those_of_claim_20_and_the_two_largest_models_pass():
    scores = dict(zip(row("Qwen3"), map(float, row("at 128K")), strict=True))
    claimed = ast.literal_eval(re.search(r"^QWEN_3 = (\{.*?\})", CLAIMS, re.MULTILINE)[1])
    assert scores.items() >= claimed.items()
    passes = float(re.search(r"the score is at least (\d+\.\d)", PAGE)[1])
    assert [size for size, score in scores.items() if score >= passes] == ["32B", "235B"]


def test_the_memory_of_keys_and_values_is_the_product_beside_it():
    factors, product = re.search(r"that is ((?:\d+ × )+\d+) = ([\d,]+) bytes", PAGE).groups()
    per_token = math.prod(map(int, factors.split(" × ")))
    assert per_token == int(product.replace(",", ""))
    assert f"takes\n{per_token * WANTED / 1e9:.1f} GB" in PAGE


def test_what_yarn_costs_at_the_start_of_a_narrative_is_what_was_measured():
    passes = load_real("real_length")["passes"]
    bins = {(row["text"], row["name"]): row["bins"] for row in passes if row["tokens"] == 12_288}
    cost = bins["narrative", "yarn-2"][0] - bins["narrative", "plain"][0]
    tokens = 12_288 // len(bins["narrative", "plain"])
    assert f"{cost:.2f} in the first {tokens} tokens of a narrative" in " ".join(PAGE.split())
