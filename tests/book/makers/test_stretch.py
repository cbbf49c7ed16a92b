"""The stretching experiment: the library's rules, choices on tuning texts only, runs that resume."""

import itertools
import json
import math

import numpy as np
import pytest
import torch

from makers import stretch
from makers.readings import FEW_KEYS, READINGS, gaps, make_variant, score_with_gap
from makers.stretch import (
    PLANS,
    RETUNED,
    RULE_VARIANTS,
    RULES,
    Bench,
    Fit,
    GrowingNTK,
    make_rule,
    with_encoding,
)
from rope_book.results.stretch import (
    UNSTRETCHED,
    Place,
    load_stretch,
    load_stretch_predictions,
    make_stretch,
)
from rope_book.training import TrainingConfig, make_task, train
from rope_book.training.loop import score
from rope_book.training.transformer import TinyTransformer
from rope_edu import apply_rope, rope_angles
from rope_edu.encodings import plain_rope
from rope_edu.encodings.scaling import dynamic_ntk, llama3, ntk_aware, ntk_by_parts

pytestmark = pytest.mark.makers

TINY = PLANS["tiny"]
FITTED = Fit(slow=0.25, fast=1.0, lists={2: [1.0, 1.0, 2.0, 2.0]})


def test_rules_that_the_chapter_calls_equal_are_equal():
    fitted = make_rule("by-parts-fitted", 16, 4, 33, FITTED)
    same = llama3(16, 4, 33, low_freq_factor=0.25, high_freq_factor=1.0, base=10_000.0)
    assert np.array_equal(fitted.inv_freq, same.inv_freq)
    assert np.allclose(dynamic_ntk(16, 33, length=4 * 33).inv_freq, ntk_aware(16, 4).inv_freq, rtol=1e-14)
    assert np.array_equal(make_rule("yarn-fitted", 16, 4, 33, FITTED).inv_freq, fitted.inv_freq)


def test_published_thresholds_scale_every_pair_of_our_models():
    rope, plain = ntk_by_parts(16, 16, 33), plain_rope(16)
    assert (rope.inv_freq < 0.2 * plain.inv_freq).all()  # 5.3 turns of 1 … 32: 14 % of the fastest is kept


def test_only_the_clamp_spares_the_first_pair_of_released_yarn():
    released, unclamped = (make_rule(name, 16, 4, 33, FITTED) for name in ("yarn", "yarn-unclamped"))
    plain = plain_rope(16).inv_freq
    low = 16 * math.log(33 / (32 * 2 * math.pi)) / (2 * math.log(10_000))
    assert math.floor(low) == -2
    assert released.inv_freq[0] == plain[0]
    assert unclamped.inv_freq[0] < 0.7 * plain[0]
    assert released.attention_factor == unclamped.attention_factor > 1
    llama = [make_rule(name, 128, 4, 4096, FITTED).inv_freq for name in ("yarn", "yarn-unclamped")]
    assert np.allclose(*llama, rtol=1e-14)  # the clamp is inactive if some pairs turn often
    for name in ("yarn", "longrope"):
        cool = make_rule(f"{name}-cool", 16, 2, 33, Fit())
        assert np.array_equal(cool.inv_freq, make_rule(name, 16, 2, 33, Fit()).inv_freq)
        assert cool.attention_factor == 1


@pytest.mark.parametrize("name", READINGS)
def test_variants_meet_no_other_angles_and_distances_than_intended(name):
    fitted = make_rule("by-parts-fitted", 16, 16, 33, FITTED)
    variant = make_variant(name, 16, 33, 16, fitted)
    held = range(8) if variant.held is None else variant.held
    if variant.window is not None:  # one-hot queries and keys show the cosine of each pair's own angle
        r = torch.tensor([variant.window, 33, 100, 527], dtype=torch.float64)
        farthest = variant.window + variant.fold - 1 + (r - variant.window) / variant.leak
        assert farthest.max() <= 32 + 1e-9
    assert variant.trained == (33 if name.endswith("logn") else None)
    assert (variant.rope.kind == "ntk-by-parts") == name.startswith("by-parts")
    assert set(held) == {
        "slow-held": {2, 3, 4, 5, 6, 7}, "fast-held": {0, 1}, "slow-held-logn": {2, 3, 4, 5, 6, 7},
    }.get(name, set(range(8)))  # fmt: skip


def test_scores_with_a_gap_are_finite_and_depend_on_it():
    class Counts(torch.nn.Module):
        """A model without attention: it repeats its input."""

        def forward(self, tokens):
            return torch.nn.functional.one_hot(tokens, 17).float()

    assert gaps(33, 1) == [0]
    assert (min(gaps(33, 16)), max(gaps(33, 16)), len(gaps(33, 16))) == (248, 495, 8)
    model = TinyTransformer(17, d_model=8, n_layers=1, n_heads=1, layout="half_split")
    variant = make_variant("plain", 8, 33, 4, plain_rope(8, layout="half_split"))
    near, far = (
        score_with_gap(model, variant, make_task("back"), multiple, 4, split="test") for multiple in (1, 4)
    )
    assert near != far
    for value in (near, far):
        assert value[0] > 0
        assert 0 <= value[1] <= 1


def test_longrope_leaves_short_texts_alone():
    short, long = (make_rule("longrope", 8, 2, 33, FITTED, length=n) for n in (33, 34))
    assert np.array_equal(short.inv_freq, plain_rope(8).inv_freq)
    assert np.array_equal(long.inv_freq, plain_rope(8).inv_freq / [1, 1, 2, 2])


def test_a_growing_text_rotates_every_token_by_the_base_of_its_length():
    x = torch.tensor(np.random.default_rng(0).normal(size=(1, 60, 8)))
    rotated = GrowingNTK(8, 20).rotate_k(x, range(60))
    for m in (0, 19, 20, 41, 59):
        angles = rope_angles([m], dynamic_ntk(8, 20, length=m + 1).inv_freq)
        expected = apply_rope(x[:, m : m + 1], torch.as_tensor(angles), layout="half_split")
        assert torch.allclose(rotated[:, m : m + 1], expected, atol=1e-12)


def test_other_frequencies_leave_the_model_and_its_weights_alone():
    model = TinyTransformer(9, d_model=8, n_layers=1, n_heads=1, layout="half_split")
    tokens = torch.arange(9)[None]
    before = model(tokens)
    changed = with_encoding(model, make_rule("pi", 8, 4, 33, FITTED))
    with torch.no_grad():
        changed.embedding.weight += 1
    assert torch.equal(model(tokens), before)
    assert not torch.allclose(changed(tokens), before)


def test_a_fine_tune_continues_from_the_given_model():
    config = TrainingConfig("back", steps=3, learning_rate=1e-3, points=1, rows=2, batch_size=2, device="cpu")
    given = TinyTransformer(17, d_model=8, n_layers=1, n_heads=1)
    start = given.embedding.weight.detach().clone()
    result = train(config, model=given, test_lengths=(), progress=False)
    assert result.model is given
    assert result.tests == {}
    moved = (given.embedding.weight - start).abs().max()
    assert 0 < moved < 0.01  # three steps of at most the learning rate, and a new model would be far off


def test_only_new_positions_of_longer_texts_count():
    class Knows(torch.nn.Module):
        """A model that is right at trained positions only."""

        def __init__(self, task):
            super().__init__()
            self.task, self.parameter = task, torch.nn.Parameter(torch.zeros(()))

        def forward(self, tokens):
            answers = torch.roll(tokens, self.task.k, dims=1)
            answers[:, self.task.trained_places :] = 16  # never an answer
            return torch.nn.functional.one_hot(answers, 17).float() * 20

    task = make_task("back")
    assert score(Knows(task), task, 32, rows=4)[1] == 1
    assert score(Knows(task), task, 64, rows=4)[1] == 0


def test_choices_see_the_tuning_seed_and_tuning_texts_only(monkeypatch):
    splits, seeds = set(), set()

    def recording_score(model, task, length, rows, *, split):
        splits.add(split)
        return score(model, task, length, rows, split=split)

    def recording_train(config, **options):
        seeds.add(config.seed)
        return train(config, **options)

    monkeypatch.setattr(stretch, "score", recording_score)
    monkeypatch.setattr(stretch, "train", recording_train)
    fit = stretch.choose("copy", TINY)
    assert splits == {"tune"}
    assert seeds == {stretch.TUNING_SEED}
    assert fit.slow < fit.fast
    assert set(fit.tuned_rates) == set(RULES)
    assert set(fit.lists) == {2}
    assert stretch.fit_of(json.loads(json.dumps(stretch.tuning_row("copy", fit, 1.0)))) == fit


def test_a_seed_is_scored_at_every_place_of_the_chapter():
    rows = stretch.run_seed(Bench("text", TINY, FITTED), 0)
    places = {Place(*row[:4]) for row in rows}
    assert len(places) == len(rows)
    assert all(math.isfinite(row[4]) and 0 <= row[5] <= 1 for row in rows)
    for rule, m in itertools.product(RULES, TINY.multiples):
        assert Place("tuned-2", rule, 1 if rule in UNSTRETCHED else 2, m) in places
        assert rule in UNSTRETCHED or Place("zero-shot", rule, 2, m) in places
    for rule in ("plain", "abf", "dynamic-cached"):
        assert {Place("zero-shot", rule, 1, m) for m in TINY.multiples} <= places
    assert {Place("from-start", "abf", 1, m) for m in TINY.multiples} <= places


def test_variants_and_second_fine_tunes_are_scored_at_every_place(tmp_path):
    bench = Bench("needle", TINY, FITTED, weights=tmp_path)
    rows = stretch.read_seed(bench, 0)
    places = {Place(*row[:4]) for row in rows}
    assert len(places) == len(rows)
    assert all(math.isfinite(row[4]) and 0 <= row[5] <= 1 for row in rows)
    assert {Place("zero-shot", name, 1, m) for name in READINGS for m in (1, 2)} <= places
    assert {Place("few-keys", name, 1, m) for name in FEW_KEYS for m in (1, 2)} <= places
    assert {Place("zero-shot", name, 2, m) for name in RULE_VARIANTS for m in (1, 2)} <= places
    assert [path.name for path in tmp_path.iterdir()] == ["needle-plain-0.pt"]  # trained once
    again = Bench("needle", TINY, FITTED, weights=tmp_path).base(0)
    assert all(map(torch.equal, again.parameters(), Bench("needle", TINY, FITTED).base(0).parameters()))
    rates = stretch.choose_rates(Bench("needle", TINY, FITTED, "tune"))
    assert set(rates) == {"2"}
    retuned = {Place(*row[:4]) for row in stretch.retune_seed(bench, 0, rates)}
    wanted = [(rule, 1 if rule in UNSTRETCHED else 2) for rule in RETUNED]
    assert retuned == {Place("retuned-2", rule, factor, m) for rule, factor in wanted for m in (1, 2)}


def test_an_interrupted_experiment_resumes_with_the_missing_runs(tmp_path, monkeypatch):
    done = []

    def fake(work, items, jobs):
        for item in items:
            if len(done) == 4:
                raise KeyboardInterrupt
            if work is stretch._work:
                name, task, _, seed, *_ = item
                done.append((name, task, seed))
                yield {"task": task, "seed": seed, "scores": [], "seconds": 1}
            else:
                done.append(item[:1])
                row = stretch.tuning_row(item[0], FITTED, 1.0)
                yield row if work is stretch._tune else {"task": item[0], "rates": {"2": {}}, "seconds": 1}

    monkeypatch.setattr(stretch, "run_parallel", fake)
    arguments = ["--size", "tiny", "--seeds", "2", "--out", str(tmp_path / "s.json")]
    with pytest.raises(KeyboardInterrupt):
        stretch.main(arguments)
    assert done == [("text",), ("copy",), ("needle",), ("read", "text", 0)]
    done.append("past the fourth, where it was stopped")
    stretch.main(arguments)
    keys = [(task, seed) for seed in (0, 1) for task in ("text", "copy", "needle")]
    assert done[5:] == [
        *[("read", *which) for which in keys[1:]],
        *[("run", *which) for which in keys],
        *[("text",), ("copy",), ("needle",)],
        *[("retune", *which) for which in keys],
    ]
    with pytest.raises(SystemExit):
        stretch.main([*arguments, "--size", "small"])


def results(a, b):
    """Content of a file with the scores of eight seeds at two places."""
    rows = [
        [["zero-shot", "plain", 1, 4, 1.0, x], ["zero-shot", "pi", 4, 4, 1.0, y]]
        for x, y in zip(a, b, strict=True)
    ]
    runs = [{"task": "text", "seed": n, "scores": scores} for n, scores in enumerate(rows)]
    meta = {
        "multiples": [1, 2, 4, 16],
        "rules": list(RULES),
        "readings": ["rerope-8"],
        "tasks": {"text": {}},
    }
    held = ["zero-shot", "rerope-8", 1, 4, 1.0, 0.75]
    more = [{"task": "text", "seed": n, "scores": [held]} for n in range(8)]
    return {"meta": meta, "tuning": [], "rates": [], "runs": runs, "readings": more, "retuned": []}


def test_better_needs_a_higher_median_and_significance():
    clear = make_stretch(results([0.5] * 8, [0.4, 0.3, 0.2, 0.4, 0.3, 0.2, 0.4, 0.3]))
    mixed = make_stretch(results([0.5] * 8, [0.4, 0.3, 0.2, 0.4, 0.3, 0.9, 0.9, 0.3]))
    plain, pi = clear.place("plain", 4), clear.place("pi", 4)
    assert pi == Place("zero-shot", "pi", 4, 4)
    assert clear.place("pi", 1) == Place("zero-shot", "plain", 1, 1)
    assert clear.place("rerope-8", 4) == Place("zero-shot", "rerope-8", 1, 4)
    assert clear.accuracy("text", clear.place("rerope-8", 4)).median == 0.75
    assert clear.better("text", plain, pi)
    assert not clear.better("text", pi, plain)
    assert not clear.better("text", plain, pi, by=0.3)
    assert not mixed.better("text", plain, pi)
    with pytest.raises(ValueError, match="was not scored"):
        clear.accuracy("text", clear.place("pi", 16))


def test_all_predictions_are_read():
    sentences = load_stretch_predictions()
    assert list(sentences) == list(range(1, 49))
    assert "Short texts pay" in sentences[10]
    assert sentences[10].endswith("at least 15 points.")
    assert sentences[37].endswith("90 on *copy* at 4×.")


def test_the_committed_experiment_has_eight_seeds_of_all_tasks_and_the_current_settings():
    experiment = load_stretch()
    assert experiment.tasks == ("text", "copy", "needle")
    assert [experiment.seeds(task) for task in experiment.tasks] == [list(range(8))] * 3
    for task, name, way in (("needle", "rerope-16", "zero-shot"), ("copy", "slow-held", "few-keys")):
        assert experiment.accuracy(task, experiment.place(name, 16, way=way)).n == 8
    for task, multiple in itertools.product(experiment.tasks, (4, 16)):
        for way in (f"tuned-{multiple}", f"retuned-{multiple}"):
            assert experiment.accuracy(task, experiment.place("plain", 4, way=way)).n == 8
        assert set(experiment.tuning[task]["rates"][str(multiple)]) == set(RETUNED)
    settings = stretch.describe_settings("small")
    assert {name: experiment.meta[name] for name in settings} == json.loads(json.dumps(settings))
