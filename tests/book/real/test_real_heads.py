"""A head's score is the sum of what its pairs add, and a job is a weight on keys; this needs no model."""

import torch

from makers.real_heads import best_heads, done, octaves, score, shares, targets, turned, weights, without
from rope_edu import plain_rope

PAIRS, SEQ = 4, 40
Q, K = torch.randn(2, SEQ, 2 * PAIRS, generator=torch.Generator().manual_seed(0))


class Stub:
    """A model of which a maker reads the spec alone."""

    spec = plain_rope(2 * PAIRS, 1e5)


def test_pairs_add_up_to_the_score():
    scores = score(Stub, Q, K, [])
    parts = [scores - without(Stub, Q, K, [pair]) for pair in range(PAIRS)]
    assert torch.allclose(sum(parts), scores, atol=1e-5)
    assert without(Stub, Q, K, list(range(PAIRS))).abs().max() == 0


def test_a_share_is_that_of_the_variance_over_the_keys_that_are_seen():
    scores, seen = score(Stub, Q, K, []), torch.ones(SEQ, SEQ, dtype=torch.bool).tril()

    def centred(x):
        return torch.stack(
            [torch.where(keys, row - row[keys].mean(), 0) for row, keys in zip(x, seen, strict=True)]
        )

    parts = [scores - without(Stub, Q, K, [pair]) for pair in range(PAIRS)]
    expected = torch.stack([(centred(part) * centred(scores)).sum() for part in parts])
    found = shares(turned(Stub, Q, []), turned(Stub, K, []))
    assert torch.allclose(found, expected / expected.sum(), atol=1e-4)
    assert abs(float(found.sum()) - 1) < 1e-5


def test_a_pair_held_still_scores_by_content_alone():
    same = score(Stub, Q[:1].expand(SEQ, -1), K[:1].expand(SEQ, -1), list(range(PAIRS)))
    assert torch.allclose(same, same[0, 0].expand_as(same), atol=1e-5)


def test_a_head_that_looks_one_back_does_the_job_of_the_previous_token():
    back = torch.full((SEQ, SEQ), -20.0).diagonal_scatter(torch.full((SEQ - 1,), 20.0), -1)
    jobs = {job: done(weights(back), keys) for job, keys in targets(list(range(SEQ))).items() if job != "far"}
    assert jobs["previous"] > 0.99
    assert jobs["first"] < 0.05


def test_octaves_of_a_score_that_falls_by_one_at_each_are_a_line():
    at = torch.arange(600)
    r = (at[:, None] - at).clamp(min=1)
    means = octaves(-r.float().log2().floor())
    assert means == [4 - n for n in range(9)]


def test_a_job_goes_to_the_head_that_does_it_best_where_it_does_it_worst():
    rows = [
        {
            "layer": 0,
            "head": n,
            "jobs": dict.fromkeys(("previous", "first", "same", "after_same", "far"), row),
        }
        for n, row in enumerate([[0.9, 0.1, 0.9], [0.5, 0.4, 0.5], [0.3, 0.3, 0.3]])
    ]
    assert best_heads(rows)["first_1"] == ("first", 0, 1)
    assert best_heads(rows)["first_2"] == ("first", 0, 2)
