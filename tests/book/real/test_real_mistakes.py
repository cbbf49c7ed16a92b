"""Mistakes of a whole model are as they are described, in one pass as in decoding; this needs no weights."""

import pytest
import torch

from makers import real_mistakes
from makers.real_mistakes import encoding_of, is_right, losses_of, perplexity, read_right, shows
from rope_book.real import MISTAKES, RealModel, broken
from rope_book.real.mistakes import OWN, PerHead
from rope_book.real.model import Llama, Sizes
from rope_book.results.real import load_real
from rope_doctor.clinic import BROKEN
from rope_edu import plain_rope
from rope_edu.attention.cache import KVCache
from rope_edu.attention.encoding import Rotary

SPEC = plain_rope(16, 1e5)
PROMPT, SEQ = 5, 9
X = torch.randn(1, 3, SEQ, 16, generator=torch.Generator().manual_seed(0))


class Stub:
    """A model of which a maker reads the spec alone."""

    spec = SPEC


def rotated_in_steps(encoding, x):
    """Return q and k of a prompt, then of one token after another."""
    parts = [range(PROMPT), *(range(n, n + 1) for n in range(PROMPT, SEQ))]
    return [
        torch.cat([door(x[..., at.start : at.stop, :], at) for at in parts], dim=-2)
        for door in (encoding.rotate_q, encoding.rotate_k)
    ]


@pytest.mark.parametrize("name", MISTAKES)
def test_one_pass_rotates_as_decoding_does(name):
    whole, steps = broken(name, SPEC, PROMPT), broken(name, SPEC, PROMPT)
    one_pass = [whole.rotate_q(X, range(SEQ)), whole.rotate_k(X, range(SEQ))]
    for a, b in zip(one_pass, rotated_in_steps(steps, X), strict=True):
        assert torch.allclose(a, b, atol=1e-5, equal_nan=True)


@pytest.mark.parametrize(
    ("name", "positions"),
    [
        ("cache_off_by_one", [0, 1, 2, 3, 4, 6, 7, 8, 9]),
        ("cache_one_behind", [0, 1, 2, 3, 4, 4, 5, 6, 7]),
        ("padding_counted", [7, 8, 9, 10, 11, 12, 13, 14, 15]),
        ("padding_counted_later", [0, 1, 2, 3, 4, 12, 13, 14, 15]),
        ("restarts", [0, 1, 2, 3, 4, 0, 1, 2, 3]),
        ("decodes_at_0", [0, 1, 2, 3, 4, 0, 0, 0, 0]),
        ("decodes_in_place", [0, 1, 2, 3, 4, 5, 5, 5, 5]),
        ("counts_from_the_first", [0, 1, 2, 3, 4, 0, 0, 0, 0]),
        ("keeps_first_positions", [0, 1, 2, 3, 4, 5, 5, 5, 5]),
    ],
)
def test_a_mistake_of_counting_has_these_positions(name, positions):
    expected = Rotary(SPEC).rotate_q(X, torch.tensor(positions))
    encoding = broken(name, SPEC, PROMPT)
    assert torch.allclose(encoding.rotate_q(X, range(SEQ)), expected, atol=1e-5)
    assert torch.allclose(encoding.rotate_k(X, range(SEQ)), expected, atol=1e-5)


def test_q_and_k_differ_where_the_mistake_says_so():
    for name in MISTAKES:
        encoding = broken(name, SPEC, PROMPT)
        differ = not torch.allclose(
            encoding.rotate_q(X, range(SEQ)), encoding.rotate_k(X, range(SEQ)), equal_nan=True
        )
        assert differ == (name in ("layouts_mixed", "sign_of_k", "k_still"))


def test_every_mistake_of_a_whole_model_changes_a_rotation_and_has_a_sentence():
    right = Rotary(SPEC).rotate_k(X, range(SEQ))
    for name, mistake in OWN.items():
        assert mistake.does.endswith(".")
        assert not torch.allclose(broken(name, SPEC, PROMPT).rotate_k(X, range(SEQ)), right, atol=1e-6), name
        assert not is_right(Stub, name, PROMPT, SEQ), name
    assert set(OWN).isdisjoint(BROKEN)
    assert set(MISTAKES) == {*OWN, *BROKEN}


def test_a_rotation_that_is_right_in_a_text_is_called_so():
    assert is_right(Stub, "right", PROMPT, SEQ)
    assert is_right(Stub, "table_ends", PROMPT, 64)
    assert not is_right(Stub, "table_ends", PROMPT, 700)
    assert isinstance(encoding_of(Stub, "right", PROMPT), Rotary)


def test_unknown_mistakes_are_named():
    with pytest.raises(ValueError, match=r"mistake must be one of adds_instead_of_turning, .*got 'typo'"):
        broken("typo", SPEC, PROMPT)


def test_evidence_is_summed():
    right = torch.ones(4).numpy()
    assert shows(right + 1.3, right) == 4
    assert shows(right + 1.2, right) is None
    assert shows(right - 1, right) is None
    assert perplexity(right) == 2.718
    assert perplexity(float("nan") * right) is None


def test_no_mistake_that_a_short_text_makes_loud_is_quiet_in_a_long_one():
    """This is why two of the long texts were not read with the loud mistakes."""
    measured = load_real("real_mistakes")

    def loud(table):
        decoded = {(row["text"], row["name"]): row["decoded"] for row in measured[table]}
        return {at: loss >= 1.1 * decoded[at[0], "right"] for at, loss in decoded.items()}

    short, long = loud("losses"), loud("far")
    both = [at for at in long if short[at]]
    assert len(both) > 50
    assert all(long[at] for at in both)
    left_out = [at for at in short if at not in long]
    assert left_out
    assert all(short[at] for at in left_out)


def little():
    """Return an untrained model."""
    torch.manual_seed(0)
    return Llama(Sizes(vocab_size=11, d_model=32, d_ff=16, n_layers=2, n_heads=2, n_kv_heads=1, eps=1e-5))


@pytest.mark.parametrize("name", MISTAKES)
def test_a_shared_prompt_changes_no_loss(name, monkeypatch):
    monkeypatch.setattr(real_mistakes, "DECODED", SEQ - PROMPT)
    model, ids = RealModel(little(), SPEC, None), [3, 1, 4, 1, 5, 9, 2, 6, 10]
    shared = torch.tensor(losses_of(model, ids, name, read_right(model, ids)))
    one_pass = model.losses(ids, broken(name, SPEC, PROMPT)).double()
    assert torch.allclose(shared, one_pass, atol=1e-5, equal_nan=True)


def test_a_cache_gives_what_one_pass_gives():
    model = little()
    tokens = torch.arange(9)[None]
    for encoding in (Rotary(SPEC), PerHead(lambda x, positions: x + positions[:, None])):
        cache = [KVCache(), KVCache()]
        with torch.inference_mode():
            whole = model(tokens, encoding, range(9))
            parts = [model(tokens[:, :5], encoding, range(5), cache)]
            parts += [model(tokens[:, n : n + 1], encoding, range(n, n + 1), cache) for n in range(5, 9)]
        assert torch.allclose(torch.cat(parts, dim=1), whole, atol=1e-5)
