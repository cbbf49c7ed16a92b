"""Public bugs of decoders that are not among the replays, rebuilt: the thread, and the cause that comes first."""

import functools

import numpy as np
import pytest

from rope_doctor.probes import Kept, Specimen, check_decoder
from rope_doctor.probes.causes import read_table
from rope_edu.encodings.spec import plain_rope

LONG = {"length": 96, "chunk": 24}
SWITCH = 32  # tokens, at which the LongRoPE of these tests changes its factors


class DecodesAtZero(Specimen):
    def count(self, tokens, positions, seen):
        return super().count(tokens, positions, seen * (tokens.shape[1] > 1))


class QueryIgnoresTheCache(Specimen):
    """Keys are counted rightly, and queries from 0 in each piece."""

    calls = 0

    def rotate(self, x, positions):
        self.calls += 1
        return super().rotate(x, positions - positions[:, :1] if self.calls % 2 else positions)


class RollbackWithoutEffect(Specimen):
    def crop(self, cache, length, removed):
        return cache


class EvictionMovesTheOffset(Specimen):
    def evict(self, cache, start, count):
        kept = super().evict(cache, start, count)
        return Kept(kept.keys, kept.values, kept.count - count)


class ChunksCountedTwice(Specimen):
    """A long prompt is read in chunks inside the decoder, and each but the first starts twice as far."""

    chunk = 512

    def count(self, tokens, positions, seen):
        counted = super().count(tokens, positions, seen)
        return counted + (tokens.shape[1] >= self.chunk) * seen if positions is None else counted


class PrefixReusedFrom20(Specimen):
    def count(self, tokens, positions, seen):
        counted = super().count(tokens, positions, seen)
        return counted - (seen >= 20) if positions is None else counted


class CacheOf32(Specimen):
    """The cache forgets all but 32 tokens, of which one pass knows nothing."""

    def store(self, k, v, cache, layer, positions):
        if cache is not None:
            keys, values = (tuple(each[:, :, -31:] for each in kept) for kept in (cache.keys, cache.values))
            cache = Kept(keys, values, cache.count)
        return super().store(k, v, cache, layer, positions)

    def see(self, tokens, keys, seen, mask):
        dropped = seen + tokens.shape[1] - keys
        mask = np.ones((len(tokens), keys), int) if mask is None else mask[:, dropped:]
        return super().see(tokens, keys, seen - dropped, mask)


class LongFactorsFrom(Specimen):
    """LongRoPE as transformers has it: the length of the text so far decides which factors rotate it."""

    def first_long(self, length):
        return length > SWITCH

    def rotate(self, x, positions):
        longer = self.first_long(int(positions.max()) + 1)
        return super().rotate(x, positions / (3.0 if longer else 1.0))


class TooEarly(LongFactorsFrom):
    def first_long(self, length):
        return length >= SWITCH


class LongListOnly(LongFactorsFrom):
    def first_long(self, length):
        return True


FOUND = [
    ("Blaizzy/mlx-vlm 1983", DecodesAtZero, {}, "count ignores the cache"),
    ("RobertCsordas/moeut 6", QueryIgnoresTheCache, {}, "cached keys do not fit the new query"),
    ("ml-explore/mlx-lm 1109", RollbackWithoutEffect, {}, "cropped cache"),
    ("rajveer43/VeloxQuant-MLX 389", EvictionMovesTheOffset, {}, "evicted cache"),
    (
        "mlx-node/mlx-node 33",
        ChunksCountedTwice,
        {"length": None, "chunk": 512},
        "chunks counted or masked wrongly",
    ),
    ("prefix reuse from 20 tokens", PrefixReusedFrom20, {}, "cache wrong beyond a length"),
    ("a window of 32", CacheOf32, {}, "cache wrong beyond a length"),
    ("unslothai/unsloth 10681", TooEarly, {"trained": SWITCH, "rule": "longrope"}, "switch one token early"),
]


@pytest.mark.parametrize(
    ("kind", "options", "cause"), [row[1:] for row in FOUND], ids=[row[0] for row in FOUND]
)
def test_a_thread_is_found_with_its_cause_first(kind, options, cause):
    options = LONG | options
    facts = {name: options.pop(name) for name in ("trained", "rule") if name in options}
    report = check_decoder(kind().decoder(**facts), **options)
    assert report.verdict.status == 1, str(report)
    assert report.causes[0].name == cause, str(report)
    assert str(report).count("Fix: ") == 1


@pytest.mark.parametrize("table", ["causes.toml", "served.toml"])
@pytest.mark.parametrize("part", ["means", "fix"])
def test_a_cause_has_no_sentence_of_a_check_that_may_hold(table, part):
    patterns, meanings = read_table(table)
    for pattern in patterns:
        of_checks = {name for name, meaning in meanings.items() if meaning[part] == pattern[part]}
        assert not of_checks or of_checks & set(pattern["differ"]), pattern["name"]


def test_both_sides_of_a_documented_switch_are_right():
    report = check_decoder(LongFactorsFrom().decoder(trained=SWITCH, rule="longrope"), **LONG)
    assert report.verdict.status == 0, str(report)
    assert report.of("across the trained length").outcome == "as documented"
    assert report.of("step by step").lengths == (12, SWITCH, LONG["length"])


def test_a_switch_that_changes_nothing_is_not_judged():
    """lablup/mlxcel 1358: only the long list was kept. All ways of calling agree, and are not called right."""
    made = LongListOnly().decoder(trained=SWITCH, rule="longrope", shift=None)
    report = check_decoder(made, **LONG)
    assert report.verdict.status == 2
    assert "the config switches factors at 32 tokens, and nothing changes there" in str(report)


def test_a_window_or_switch_out_of_reach_is_not_judged():
    report = check_decoder(Specimen().decoder(windows=(100_000,)), **LONG)
    assert report.verdict.status == 2
    assert "window of 100,000 tokens lies beyond the 96 compared; `--length 100016`" in str(report)


def test_a_random_decoder_is_called_random_first():
    class Dropout(Specimen):
        draw = np.random.default_rng(0)

        def rotate(self, x, positions):
            return super().rotate(x, positions) * self.draw.integers(1, 3, x.shape)

    assert check_decoder(Dropout().decoder(), **LONG).causes[0].name == "random"


def test_only_skip_and_require_are_kept_in_the_verdict():
    skipped = check_decoder(Specimen().decoder(), skip=["moved"], **LONG).verdict
    assert (skipped.status, skipped.not_judged["moved"]) == (2, "skipped")
    aside = check_decoder(Specimen().decoder(), skip=["gaps"], **LONG).verdict
    assert (aside.status, aside.not_judged["gaps"]) == (0, "skipped")
    assert check_decoder(Specimen().decoder(), require=["generate"], **LONG).verdict.status == 2
    with pytest.raises(ValueError, match="'rows of 2' is not a check of this command"):
        check_decoder(Specimen(), only=["rows of 2"])


def rounded(kind, size):
    """Return a kind of decoder whose logits are as rough as a narrow number format makes them."""

    class Rounded(kind):
        def __call__(self, tokens, **options):
            logits, cache = super().__call__(tokens, **options)
            return logits + size * np.sin(1e4 * logits), cache

    return Rounded(plain_rope(16))


def test_bfloat16_has_a_tolerance_measured_from_its_noise():
    made = rounded(Specimen, 0.01).decoder(eps=2.0**-9, wide=lambda: Specimen(plain_rope(16)).decoder())
    report = check_decoder(made, **LONG)
    assert report.verdict.status == 0, str(report)
    assert "eight times the noise: the same call twice 0, rows in another order 0" in report.tolerance
    assert report.of("step by step").bound >= 0.0625


def test_what_rounding_hides_is_found_in_a_float32_copy():
    made = rounded(DecodesAtZero, 1.2).decoder(eps=2.0**-9)
    copied = rounded(DecodesAtZero, 1.2).decoder(eps=2.0**-9, wide=lambda: DecodesAtZero().decoder())
    report = check_decoder(copied, **LONG)
    assert report.verdict.status == 1
    assert report.causes[0].name == "count ignores the cache"
    assert report.of("step by step").words.startswith("in a float32 copy, one pass, and one token at a time")
    alone = check_decoder(
        made, **LONG
    ).verdict  # without a copy, nothing differs, and nothing is called right
    assert alone.status == 2
    assert alone.not_judged["effect of positions"].startswith("rounding hides the effect")


# live models


def live(name, **changes):
    pytest.importorskip("transformers")
    from .tiny import tiny

    return tiny(name, **changes)


NARROW = {
    "exaone4": {"sliding_window": 8, "layer_types": ["sliding_attention", "full_attention"]},
    "gemma3_text": {"sliding_window": 8},
    "gemma3n_text": {"sliding_window": 8},
    "gemma4_text": {"sliding_window": 8},
    "gpt_oss": {"sliding_window": 8},
    "llama4_text": {"attention_chunk_size": 8, "layer_types": ["chunked_attention", "full_attention"]},
    "mistral": {"sliding_window": 5},
    "olmo3": {"sliding_window": 8, "layer_types": ["sliding_attention", "full_attention"]},
}


@pytest.mark.parametrize("name", NARROW)
def test_no_false_alarm_with_a_window_under_12(name):
    report = check_decoder(live(name, **NARROW[name]), length=40, chunk=12)
    assert report.verdict.status == 0, str(report)


def test_phi3_passes_at_its_documented_switch():
    rule = {"rope_type": "longrope", "rope_theta": 1e4, "factor": 4.0}
    rule |= {"short_factor": [1.0] * 8, "long_factor": [2.0 + pair for pair in range(8)]}
    lengths = {"max_position_embeddings": 256, "original_max_position_embeddings": 64}
    model = live("phi3", rope_parameters=rule, sliding_window=None, **lengths)
    report = check_decoder(model, length=160, chunk=24)
    assert report.verdict.status == 0, str(report)
    assert report.of("across the trained length").outcome == "as documented"
    assert "160 tokens pass the switch at 64." in str(report)


def test_queries_scaled_by_position_are_moved_where_they_are_not_scaled():
    rope = {"rope_type": "default", "rope_theta": 1e4, "llama_4_scaling_beta": 0.5}
    rope["original_max_position_embeddings"] = 40
    report = check_decoder(live("ministral3", rope_parameters=rope), length=64, chunk=24)
    assert report.verdict.status == 0, str(report)
    assert report.of("moved").outcome == "same"


def test_wrong_inputs_of_generate_are_found():
    """unslothai/unsloth 3699: `prepare_inputs_for_generation` was wrong where the model was right."""
    model = live("llama")
    right = model.prepare_inputs_for_generation

    @functools.wraps(right)
    def prepared(input_ids, **options):
        inputs = right(input_ids, **options)
        if inputs["input_ids"].shape[1] == 1:
            inputs["position_ids"] = inputs["input_ids"] * 0
        return inputs

    model.prepare_inputs_for_generation = prepared
    report = check_decoder(model, length=40, chunk=12)
    assert report.causes[0].name == "generate prepares other inputs", str(report)
