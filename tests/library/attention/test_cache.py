"""The cache: decoding equals the whole, stored keys never change, growth, eviction, every refusal."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from rope_edu import KVCache, Rotary, alibi_bias, causal_mask, inv_freq, multi_head_attention, sinusoidal
from rope_edu.attention import (
    Additive,
    DynamicRotary,
    NoPosition,
    PositionEncoding,
    ScoreBias,
    XPos,
    attention,
    merge_heads,
    split_heads,
)
from rope_edu.encodings import (
    dynamic_ntk,
    longrope,
    p_rope,
    partial_rope,
    shaw_scores,
    t5_bias,
    yarn,
)

kinds = pytest.mark.parametrize("make", [np.asarray, torch.asarray], ids=["numpy", "torch"])
SEQ, D_MODEL, N_HEADS, HEAD_DIM = 21, 24, 4, 8
ONE_BY_ONE = [1] * SEQ
UNEVEN = [5, 1, 1, 7, 2, 1, 4]


def example(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def bias_of_q(make, name):
    """Give the encodings that are a bias, with tables of the kind asked for."""
    table, offsets = make(example(32, N_HEADS, seed=7)), make(example(9, HEAD_DIM, seed=8))
    zeros = make(np.zeros((SEQ, HEAD_DIM)))
    return {
        "alibi": ScoreBias(lambda q, k_len: alibi_bias(N_HEADS, q.shape[-2], k_len)),
        "t5": ScoreBias(lambda q, k_len: t5_bias(table, q.shape[-2], k_len, bidirectional=False)),
        "shaw": ScoreBias(lambda q, k_len: shaw_scores(q, zeros[:k_len], offsets) / math.sqrt(HEAD_DIM)),
    }[name]


ENCODINGS = {
    "none": lambda make: NoPosition(),
    "sinusoidal": lambda make: Additive(lambda positions: sinusoidal(positions, D_MODEL)),
    "learned": lambda make: Additive(lambda positions: make(example(SEQ, D_MODEL, seed=6))[list(positions)]),
    "alibi": lambda make: bias_of_q(make, "alibi"),
    "t5": lambda make: bias_of_q(make, "t5"),
    "shaw": lambda make: bias_of_q(make, "shaw"),
    "rotary": lambda make: Rotary(inv_freq(HEAD_DIM)),
    "half-split": lambda make: Rotary(inv_freq(HEAD_DIM), layout="half_split"),
    "partial": lambda make: Rotary(partial_rope(HEAD_DIM, HEAD_DIM // 2)),
    "yarn": lambda make: Rotary(yarn(HEAD_DIM, 4, 64)),
    "p-rope": lambda make: Rotary(p_rope(HEAD_DIM, 0.5)),
    "xpos": lambda make: XPos(inv_freq(HEAD_DIM)),
    "xpos half-split": lambda make: XPos(inv_freq(HEAD_DIM), layout="half_split"),
}
RELATIVE = [name for name in ENCODINGS if name not in ("sinusoidal", "learned")]


def model(make, n_kv_heads=N_HEADS, dtype=np.float64):
    """Give x and the four weights, scaled so that outputs are of order 1."""
    rows = (N_HEADS * HEAD_DIM, n_kv_heads * HEAD_DIM, n_kv_heads * HEAD_DIM)
    weights = [example(n, D_MODEL, seed=i) / math.sqrt(D_MODEL) for i, n in enumerate(rows, start=1)]
    weights.append(example(D_MODEL, N_HEADS * HEAD_DIM, seed=4) / math.sqrt(rows[0]))
    return [make(z.astype(dtype)) for z in (example(2, SEQ, D_MODEL), *weights)]


def forward(x, weights, encoding, *, start=0, **options):
    x = encoding.embed(x, np.arange(start, start + x.shape[-2]))
    return multi_head_attention(x, *weights, n_heads=N_HEADS, encoding=encoding, **options)[0]


def decode(x, weights, encoding, chunks, cache, positions=lambda cache, n: None, **options):
    """Feed the text in chunks through the cache and join the answers."""
    outputs = []
    for n in chunks:
        part = x[..., cache.seen : cache.seen + n, :]
        where = positions(cache, n)
        outputs.append(
            forward(part, weights, encoding, start=cache.seen, cache=cache, positions=where, **options)
        )
    return np.concatenate(outputs, axis=-2)


@kinds
@pytest.mark.parametrize("n_kv_heads", [N_HEADS, 2])
@pytest.mark.parametrize("chunks", [ONE_BY_ONE, UNEVEN], ids=["one by one", "uneven"])
@pytest.mark.parametrize("name", ENCODINGS)
def test_decoding_with_a_cache_equals_the_whole_forward_pass(make, n_kv_heads, chunks, name):
    x, *weights = model(make, n_kv_heads)
    encoding = ENCODINGS[name](make)
    whole = forward(x, weights, encoding, n_kv_heads=n_kv_heads)
    steps = decode(x, weights, encoding, chunks, KVCache(block=4), n_kv_heads=n_kv_heads)
    assert float(abs(whole).max()) > 0.5  # of order 1, so that 1e-12 means something
    np.testing.assert_allclose(steps, whole, rtol=0, atol=1e-12)


@kinds
@pytest.mark.parametrize("name", ["none", "sinusoidal", "alibi", "rotary", "half-split", "yarn", "xpos"])
def test_decoding_in_float32_stays_as_near_to_float64_as_its_sums_are_long(make, name):
    """An output of order 1 is a chain of sums of 24, 8, 21, 21 and 32 terms; each term may be off by eps."""
    encoding = ENCODINGS[name](make)
    whole = forward(*_split(model(np.asarray)), ENCODINGS[name](np.asarray))
    x, *weights = model(make, dtype=np.float32)
    steps = decode(x, weights, encoding, ONE_BY_ONE, KVCache(block=4))
    assert steps.dtype == np.float32
    eps = np.finfo(np.float32).eps
    np.testing.assert_allclose(steps, whole, rtol=0, atol=(24 + 8 + 21 + 21 + 32) * eps * abs(whole).max())


def _split(arrays):
    return arrays[0], arrays[1:]


def restarted(cache, n):
    return np.arange(n)


def single_tokens_late_by_one(cache, n):
    return cache.seen + (n == 1) + np.arange(n)


@pytest.mark.parametrize("name", ["rotary", "half-split", "partial", "p-rope", "yarn", "xpos"])
@pytest.mark.parametrize("wrong", [restarted, single_tokens_late_by_one])
def test_a_cache_that_rotates_by_wrong_positions_is_caught(name, wrong):
    x, *weights = model(np.asarray)
    encoding = ENCODINGS[name](np.asarray)
    steps = decode(x, weights, encoding, UNEVEN, KVCache(), positions=wrong)
    assert abs(steps - forward(x, weights, encoding)).max() > 1e-3


def test_an_additive_encoding_that_restarts_with_every_chunk_is_caught():
    x, *weights = model(np.asarray)
    encoding, cache = ENCODINGS["sinusoidal"](np.asarray), KVCache()
    steps = [forward(x[:, t : t + 1], weights, encoding, start=0, cache=cache) for t in range(SEQ)]
    assert abs(np.concatenate(steps, axis=-2) - forward(x, weights, encoding)).max() > 0.1


def test_dynamic_rotary_with_a_cache_is_refused_and_the_reason_is_a_fact():
    class Forced(DynamicRotary):  # the same rule, and nobody objects
        cache_problem = None

    x, *weights = model(np.asarray)

    def rule(length):
        return dynamic_ntk(HEAD_DIM, 8, length=length)

    with pytest.raises(
        ValueError, match="keys stored at one length were rotated by frequencies that the next"
    ):
        decode(x, weights, DynamicRotary(rule), ONE_BY_ONE, KVCache())
    whole = forward(x, weights, DynamicRotary(rule))
    forced = decode(x, weights, Forced(rule), ONE_BY_ONE, KVCache())
    assert abs(forced[:, -1] - whole[:, -1]).max() > 1e-3
    fixed = Rotary(rule(SEQ))  # what the message advises
    steps = decode(x, weights, fixed, ONE_BY_ONE, KVCache())
    np.testing.assert_allclose(steps[:, -1], whole[:, -1], rtol=0, atol=1e-12)


def test_longrope_across_its_step_is_refused_a_cache_and_a_new_prefill_repairs_it():
    lists = {"short_factor": [1.0, 1.1, 1.5, 2.0], "long_factor": [1.0, 2.0, 4.0, 8.0]}
    trained = SEQ - 1

    def rule(length):
        return longrope(HEAD_DIM, 4, trained, length=length, **lists)

    x, *weights = model(np.asarray)
    dynamic = DynamicRotary(rule)
    with pytest.raises(ValueError, match="DynamicRotary cannot use a cache: its frequencies change with"):
        forward(x, weights, dynamic, cache=KVCache())
    whole, stale, fresh = forward(x, weights, dynamic)[:, -1], KVCache(), KVCache()
    forward(x[:, :trained], weights, Rotary(rule(trained)), cache=stale)
    late = forward(x[:, trained:], weights, Rotary(rule(SEQ)), start=trained, cache=stale)[:, -1]
    assert abs(late - whole).max() > 1e-3  # keys of the short list, query of the long one
    again = forward(x, weights, Rotary(rule(SEQ)), cache=fresh)[:, -1]
    np.testing.assert_allclose(again, whole, rtol=0, atol=1e-12)


@kinds
@pytest.mark.parametrize("name", RELATIVE)
def test_evicting_the_oldest_token_by_token_is_attention_with_a_sliding_window(make, name):
    x, *weights = model(make)
    window, encoding = 5, ENCODINGS[name](make)
    steps = decode(x, weights, encoding, ONE_BY_ONE, KVCache(window, block=4, when_full="evict"))
    expected = sliding_window(x, weights, encoding, window)
    np.testing.assert_allclose(steps, expected, rtol=0, atol=1e-12)
    assert abs(steps - np.asarray(forward(x, weights, encoding))).max() > 1e-2


def sliding_window(x, weights, encoding, window):
    """See at most the last `window` tokens, all at once and without a cache."""
    w_q, w_k, w_v, w_o = weights
    q, k, v = (split_heads(x @ w.mT, N_HEADS) for w in (w_q, w_k, w_v))
    q, k = encoding.rotate_q(q, np.arange(SEQ)), encoding.rotate_k(k, np.arange(SEQ))
    mask = causal_mask(SEQ, SEQ) & ~np.tri(SEQ, k=-window, dtype=bool)
    mixed, _ = attention(q, k, v, bias=encoding.bias(q, SEQ), mask=mask)
    return merge_heads(mixed) @ w_o.mT


def test_positions_counted_from_what_is_held_instead_of_seen_are_caught():
    x, *weights = model(np.asarray)
    encoding = ENCODINGS["rotary"](np.asarray)

    def from_length(cache, n):
        return min(cache.length, 4) + np.arange(n)

    cache = KVCache(5, when_full="evict")
    steps = decode(x, weights, encoding, ONE_BY_ONE, cache, positions=from_length)
    assert abs(steps - sliding_window(x, weights, encoding, 5)).max() > 1e-3


def test_a_chunk_that_evicts_gives_its_last_query_the_full_window():
    x, *weights = model(np.asarray)
    encoding = ENCODINGS["rotary"](np.asarray)
    steps = decode(x, weights, encoding, [3, 3, 3], KVCache(5, when_full="evict"))
    expected = sliding_window(x, weights, encoding, 5)
    np.testing.assert_allclose(steps[:, [2, 5, 8]], expected[:, [2, 5, 8]], rtol=0, atol=1e-12)


def token(n, make=np.asarray, dtype=np.float32, new=1, heads=2, width=4, v_width=3):
    """Give keys n, n + 1 … and their negatives as values, the same number in every feature."""
    numbers = np.arange(n, n + new, dtype=dtype)[:, None]
    k, v = np.ones((heads, 1, width), dtype) * numbers, np.ones((heads, 1, v_width), dtype) * -numbers
    return make(k), make(v)


@kinds
def test_an_append_leaves_every_earlier_key_and_value_as_it_was_bit_by_bit(make):
    cache, rotary = KVCache(block=4), Rotary(inv_freq(4))
    before = None
    for n in range(20):
        k, v = make(example(2, 1, 4, seed=n)), make(example(2, 1, 3, seed=100 + n))
        keys, values = cache.append(rotary.rotate_k(k, [n]), v)
        if before is not None:
            assert np.array_equal(keys[:, :-1], before[0])
            assert np.array_equal(values[:, :-1], before[1])
        before = np.asarray(keys).copy(), np.asarray(values).copy()


@kinds
@pytest.mark.parametrize("when_full", ["error", "evict"])
def test_what_was_handed_out_never_changes_afterwards(make, when_full):
    cache, handed_out = KVCache(10 if when_full == "evict" else None, block=3, when_full=when_full), []

    def append(n):
        keys, values = cache.append(*token(n, make))
        handed_out.extend((z, np.asarray(z).copy()) for z in (keys, values))

    for n in range(40):
        append(n)
    cache.evict(5)
    append(40)
    cache.evict(cache.length)
    append(41)
    cache.clear()
    for n in range(5):
        append(-n)
    for now, then in handed_out:
        assert np.array_equal(np.asarray(now), then)


def test_what_was_put_in_may_change_without_changing_what_is_held():
    cache = KVCache()
    k, v = token(7)
    keys, values = cache.append(k, v)
    k[:], v[:] = 0, 0
    assert (keys == 7).all()
    assert (values == -7).all()


def test_numpy_refuses_to_write_into_what_was_handed_out():
    keys, values = KVCache().append(*token(0))
    for view in (keys, values):
        with pytest.raises(ValueError, match="read-only"):
            view[:] = 1


def test_memory_grows_by_whole_blocks_and_only_when_it_must():
    cache, reserved = KVCache(block=4), []
    for n in range(9):
        cache.append(*token(n))
        reserved.append(cache.reserved)
    assert reserved == [4, 4, 4, 4, 8, 8, 8, 8, 12]
    cache.append(*token(9, new=11))
    assert (cache.reserved, cache.length) == (20, 20)


@kinds
def test_within_a_block_nothing_is_copied(make):
    def address(array):
        return array.ctypes.data if isinstance(array, np.ndarray) else array.data_ptr()

    cache = KVCache(block=4)
    places = [address(cache.append(*token(n, make))[0]) for n in range(8)]
    assert len(set(places[:4])) == len(set(places[4:])) == 1
    assert places[3] != places[4]


def test_a_sliding_window_keeps_its_memory_bounded_and_moves_once_a_block():
    cache, room, moves = KVCache(16, block=8, when_full="evict"), None, 0
    for n in range(500):
        keys, _ = cache.append(*token(n))
        moves += keys.base is not room
        room = keys.base
        assert cache.reserved <= 16 + 8
    assert moves <= 500 / 8
    assert keys[0, :, 0].tolist() == list(range(484, 500))
    assert (cache.length, cache.seen, cache.capacity) == (16, 500, 16)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.one_of(st.integers(1, 7), st.integers(-6, -1), st.none()), max_size=25),
    st.sampled_from([None, 8, 13]),
    st.integers(1, 9),
)
def test_any_mix_of_appends_evictions_and_clears_behaves_as_a_list(moves, capacity, block):
    cache, model, seen = KVCache(capacity, block=block, when_full="evict"), [], 0
    for move in moves:
        if move is None:
            cache.clear()
            model, seen = [], 0
        elif move < 0:
            n = min(-move, len(model))
            cache.evict(n)
            model = model[n:]
        else:
            keys, values = cache.append(*token(seen, new=move))
            model += range(seen, seen + move)
            model, seen = model[-capacity:] if capacity else model, seen + move
            assert keys[0, :, 0].tolist() == model
            assert values[1, :, 2].tolist() == [-n for n in model]
        assert (cache.length, cache.seen) == (len(model), seen)
        assert cache.reserved % block == 0
        assert cache.reserved >= cache.length


def test_an_append_beyond_the_capacity_is_refused_and_changes_nothing():
    cache = KVCache(5)
    cache.append(*token(0, new=4))
    with pytest.raises(
        ValueError, match="the cache holds 4 of at most 5 tokens, no room for 2 more; make it larger"
    ):
        cache.append(*token(4, new=2))
    assert (cache.length, cache.seen) == (4, 4)
    keys, _ = cache.append(*token(4))
    assert keys[0, :, 0].tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("when_full", ["error", "evict"])
def test_a_chunk_that_never_fits_is_refused_whatever_happens_when_full(when_full):
    cache = KVCache(3, when_full=when_full)
    cache.append(*token(0))
    with pytest.raises(ValueError, match="4 new tokens exceed the cache's capacity of 3: append fewer"):
        cache.append(*token(1, new=4))
    assert (cache.length, cache.seen) == (1, 1)


@pytest.mark.parametrize(
    ("k", "v", "sentence"),
    [
        (*token(0, heads=3), r"k must be \(2, new, 4\) like the cache, got \(3, 1, 4\)"),
        (*token(0, width=6), r"k must be \(2, new, 4\) like the cache, got \(2, 1, 6\)"),
        (*token(0, v_width=5), r"v must be \(2, new, 3\) like the cache, got \(2, 1, 5\)"),
        (*token(0, dtype=np.float64), "k must have the cache's dtype, float32, got float64"),
        (*token(0, torch.asarray), "k must be ndarray like the cache, got Tensor"),
        (
            token(0)[0],
            token(0, new=2)[1],
            r"k and v must have the same heads and tokens, .*\(2, 1\) and \(2, 2\)",
        ),
        (token(0)[0], token(0, torch.asarray)[1], "v must be ndarray as k is, got Tensor"),
        (token(0, dtype=np.int64)[0], token(0)[1], "k must hold floats .*, got int64"),
        (token(0)[0], [[1.0]], "v must be a NumPy array or a torch tensor, got list"),
        (np.ones(4, np.float32), token(0)[1], r"k must be \(…, heads, new, width\), got shape \(4,\)"),
    ],
)
def test_arrays_unlike_what_is_held_are_refused_and_change_nothing(k, v, sentence):
    cache = KVCache()
    cache.append(*token(0))
    with pytest.raises(ValueError, match=sentence):
        cache.append(k, v)
    assert (cache.length, cache.seen) == (1, 1)


def test_keys_and_values_of_two_kinds_are_refused_from_the_start():
    with pytest.raises(ValueError, match="v must be ndarray as k is, got Tensor"):
        KVCache().append(token(0)[0], token(0, torch.asarray)[1])


@pytest.mark.parametrize("n", [-1, 4, 1.0, True, None])
def test_evicting_what_is_not_held_is_refused(n):
    cache = KVCache()
    cache.append(*token(0, new=3))
    with pytest.raises(ValueError, match="n must be a whole number from 0 to the 3 tokens held, got"):
        cache.evict(n)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"capacity": 0}, "capacity must be a whole number of at least 1, got 0"),
        ({"capacity": 2.5}, "capacity must be a whole number of at least 1, got 2.5"),
        ({"block": 0}, "block must be a whole number of at least 1, got 0"),
        ({"when_full": "drop"}, "when_full must be 'error' or 'evict', got 'drop'"),
    ],
)
def test_a_cache_that_makes_no_sense_is_refused(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        KVCache(**arguments)


def test_clearing_starts_a_new_text_that_may_have_another_shape():
    cache = KVCache(block=4)
    cache.append(*token(0, new=3))
    cache.clear()
    assert (cache.length, cache.seen, cache.reserved) == (0, 0, 0)
    keys, _ = cache.append(*token(9, torch.asarray, heads=5))
    assert keys.shape == (5, 1, 4)


def test_a_cache_says_what_it_holds():
    cache = KVCache(4, block=8, when_full="evict")
    cache.append(*token(0, new=4))
    cache.append(*token(4))
    assert repr(cache) == "<KVCache: 4 of 4 tokens held, 5 seen, 8 reserved>"
    assert repr(KVCache()) == "<KVCache: 0 tokens held, 0 seen, 0 reserved>"


def test_gradients_flow_through_the_cache():
    x, *weights = (torch.tensor(z, dtype=torch.float64) for z in model(np.asarray))
    x = x[:1, :4].requires_grad_()

    def run(x):
        cache, encoding = KVCache(), Rotary(inv_freq(HEAD_DIM))
        steps = [forward(x[:, t : t + 1], weights, encoding, cache=cache) for t in range(4)]
        return torch.cat(steps, dim=-2)

    assert torch.autograd.gradcheck(run, (x,), fast_mode=True)
    torch.testing.assert_close(run(x), forward(x, weights, Rotary(inv_freq(HEAD_DIM))), rtol=0, atol=1e-12)


def test_a_text_read_without_gradients_can_go_on_with_them():
    cache = KVCache(block=4)
    cache.append(*token(0, torch.asarray, new=3))
    k, v = (z.requires_grad_() for z in token(3, torch.asarray))
    early, _ = cache.append(k, v)
    late, _ = cache.append(*token(4, torch.asarray))
    loss = (early**2).sum() + (late**2).sum()
    cache.append(*token(5, torch.asarray))  # must not write into what the graph of the loss still needs
    loss.backward()
    assert (k.grad == 12).all()


def test_every_encoding_of_the_library_is_tried_here_or_refuses():
    tried = {type(make(np.asarray)) for make in ENCODINGS.values()} | {DynamicRotary}
    assert {
        kind for kind in PositionEncoding.__subclasses__() if kind.__module__.startswith("rope_edu.attention")
    } <= tried
