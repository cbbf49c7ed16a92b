"""A front door of the library gives, on drawn inputs in float64, the numbers of its plain form, and names it."""

import inspect
import math
from functools import cached_property

import numpy as np
import pytest

from rope_edu import attention, encodings, plain
from rope_edu.attention import dot_product

EPS = np.finfo(np.float64).eps
SEEDS = range(8)


class Draw:
    """Sizes and arrays, other ones for each seed."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.dim = 4 * self.whole(1, 17)
        self.base = self.number(100, 1e6)
        self.factor = self.number(1, 40)
        self.trained = self.whole(512, 100_000)
        self.k_len = self.whole(2, 30)
        self.q_len = self.whole(1, self.k_len + 1)
        self.heads = self.whole(1, 14)
        self.seq = self.whole(1, 20)

    def whole(self, low, high):
        return int(self.rng.integers(low, high))

    def number(self, low, high):
        return float(np.exp(self.rng.uniform(math.log(low), math.log(high))))

    def array(self, *shape):
        return self.rng.normal(size=shape)

    @cached_property
    def positions(self):
        return self.rng.integers(0, 5000, size=self.seq)

    @cached_property
    def inv_freq(self):
        return encodings.inv_freq(self.dim, self.base)

    @cached_property
    def angles(self):
        return self.rng.uniform(-1000, 1000, size=(self.seq, self.dim // 2))

    @property
    def lengths(self):
        return self.q_len, self.k_len

    @property
    def q_and_k(self):
        return self.array(self.q_len, self.dim), self.array(self.k_len, self.dim)


def some_network(draw):
    weights = draw.array(1, draw.heads)
    return lambda x: np.tanh(x @ weights)


SAME_CALL = {  # one list of arguments for both
    "inv_freq": lambda d: (d.dim, d.base),
    "wavelength": lambda d: (d.inv_freq,),
    "rope_angles": lambda d: (d.positions, d.inv_freq),
    "sinusoidal": lambda d: (d.positions, d.dim, d.base),
    "relative_positions": lambda d: d.lengths,
    "shaw_scores": lambda d: (*d.q_and_k, d.array(2 * d.whole(1, 9) + 1, d.dim)),
    "transformer_xl_scores": lambda d: (*d.q_and_k, d.array(d.dim, 8), *d.array(2, d.dim)),
    "alibi_slopes": lambda d: (d.heads,),
    "alibi_bias": lambda d: (d.heads, *d.lengths),
    "kerple_log_bias": lambda d: (*d.rng.uniform(0.1, 3, size=(2, d.heads)), *d.lengths),
    "fire_bias": lambda d: (some_network(d), *d.lengths),
    "rotate_pair": lambda d: (d.array(2).tolist(), d.rng.uniform(-100, 100)),
    "rotate_as_complex": lambda d: (d.array(3, d.seq, d.dim), d.angles),
    "rotation_matrix": lambda d: (d.angles[0],),
    "rotate_by_matrix": lambda d: (d.array(d.seq, d.dim), d.angles),
    "apply_rope": lambda d: (d.array(3, d.seq, d.dim), d.angles),
    "score_curve": lambda d: (*d.array(2, d.dim), d.inv_freq, d.positions),
    "mean_cosine": lambda d: (d.inv_freq, d.positions),
    "layout_permutation": lambda d: (d.dim,),
    "interleaved_to_half_split": lambda d: (d.array(d.seq, d.dim),),
    "half_split_to_interleaved": lambda d: (d.array(d.seq, d.dim),),
    "p_rope": lambda d: (d.dim, d.rng.uniform(), d.base),
    "abf": lambda d: (d.dim, d.base),
    "xpos_scale": lambda d: (d.positions, d.dim),
    "spatial_angles": lambda d: (d.array(d.seq, 3), d.array(3, d.dim)),
    "axial_frequencies": lambda d: (6 * d.dim, 3, d.base),
    "mixed_frequencies": lambda d: (d.dim, d.rng.uniform(-3, 3), d.base),
    "softmax": lambda d: (30 * d.array(3, d.seq, d.k_len),),
    "causal_mask": lambda d: d.lengths,
    "yarn_mscale": lambda d: (d.factor, d.rng.uniform(0, 2)),
    "split_heads": lambda d: (d.array(d.seq, d.heads * d.dim), d.heads),
    "merge_heads": lambda d: (d.array(d.heads, d.seq, d.dim),),
    "elu_plus_one": lambda d: (d.array(d.seq, d.dim),),
    "decoupled_scores": lambda d: (
        d.array(d.heads, d.q_len, d.dim),
        d.array(d.heads, d.k_len, d.dim),
        d.array(d.heads, d.q_len, 4),
        d.array(d.k_len, 4),
    ),
}
RULES = {  # the same call again, with the base as a keyword; the front door returns a RopeSpec
    "position_interpolation": lambda d: (d.dim, d.factor),
    "ntk_aware": lambda d: (d.dim, d.factor),
    "ntk_by_parts": lambda d: (d.dim, d.factor, d.trained),
    "llama3": lambda d: (d.dim, d.factor, d.trained),
    "yarn": lambda d: (d.dim, d.factor, d.trained),
}
OTHER_CALL = {  # front door → plain form, where the calls differ: a test of its own below
    "KVCache": "decode_with_cache",
    "PositionEncoding": "attention_head",
    "XPos": "apply_xpos",
    "attention": "attention",
    "convert_projection": "convert_projection",
    "dynamic_ntk": "dynamic_ntk",
    "lie_rotation": "lie_rotation",
    "linear_attention": "linear_attention",
    "linear_attention_step": "linear_attention_step",
    "longrope": "longrope",
    "multi_head_attention": "multi_head_attention",
    "partial_rope": "partial_rope",
    "rerope_attention": "rerope_attention",
    "section_axes": "section_axes",
    "section_frequencies": "section_frequencies",
    "t5_bias": "t5_bias",
    "t5_bucket": "t5_bucket",
}
PLAIN_FORM = {name: name for name in (*SAME_CALL, *RULES)} | OTHER_CALL
STEPS = {
    "blend",
    "first_negative_distance",
    "kept_by_index",
    "kept_by_turns",
    "linear_weights",
    "look_up",
    "quarter_turn",
    "ramp_ends",
    "rotate_half_split",
    "smallest_base",
    "unchanged",
}  # steps of other plain functions, and the search whose fast form is the book's


def front(name):
    """The library's function or class of this name."""
    rooms = (encodings, dot_product, attention)  # dot_product first: rope_edu.attention hides a function
    return next(getattr(room, name) for room in rooms if hasattr(room, name))


def assert_same(given, wanted, terms=1):
    """Equal but for rounding: a few units in the last place for each term that a number sums up or multiplies."""
    given, wanted = np.asarray(given), np.asarray(wanted)
    assert given.shape == wanted.shape
    bound = 64 * terms * EPS * max(1, np.abs(wanted).max())
    np.testing.assert_allclose(given, wanted, rtol=64 * terms * EPS, atol=bound)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", SAME_CALL)
def test_a_front_door_and_its_plain_form_give_the_same_for_the_same_call(name, seed):
    draw = Draw(seed)
    arguments = SAME_CALL[name](draw)
    found = front(name)(*arguments)
    wanted = getattr(plain, name)(*arguments)
    assert_same(getattr(found, "inv_freq", found), wanted, terms=draw.dim)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", RULES)
def test_a_rule_gives_the_frequencies_of_its_plain_form(name, seed):
    draw = Draw(seed)
    arguments = RULES[name](draw)
    spec = front(name)(*arguments, base=draw.base)
    wanted = getattr(plain, name)(*arguments, base=draw.base)
    inv_freq, attention_factor = wanted if isinstance(wanted, tuple) else (wanted, 1.0)
    # a power's exponent is rounded too, which its logarithm, below 20 here, multiplies
    np.testing.assert_allclose(spec.inv_freq, inv_freq, rtol=64 * EPS)
    assert math.isclose(spec.attention_factor, attention_factor, rel_tol=4 * EPS)


@pytest.mark.parametrize("seed", SEEDS)
def test_dynamic_ntk(seed):
    draw = Draw(seed)
    length = draw.whole(1, 300_000)
    spec = encodings.dynamic_ntk(draw.dim, draw.trained, length=length, factor=draw.factor, base=draw.base)
    wanted = plain.dynamic_ntk(draw.dim, draw.trained, length, draw.factor, draw.base)
    np.testing.assert_allclose(spec.inv_freq, wanted, rtol=64 * EPS)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_learned_encoding_is_a_row_of_its_table(seed):
    draw = Draw(seed)
    table = encodings.learned_table(5000, draw.dim, seed=seed)
    assert_same(plain.look_up(table, draw.positions), np.take(table, draw.positions, axis=0))


@pytest.mark.parametrize("seed", SEEDS)
def test_the_other_layout(seed):
    draw = Draw(seed)
    x = draw.array(3, draw.seq, draw.dim)
    assert_same(
        encodings.apply_rope(x, draw.angles, layout="half_split"), plain.rotate_half_split(x, draw.angles)
    )
    weight = draw.array(draw.heads * draw.dim, 5)
    for side in (weight, weight[:, 0]):
        found = encodings.convert_projection(side, draw.heads, to="half_split")
        assert_same(found, plain.convert_projection(side, draw.heads))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("bidirectional", [False, True])
def test_t5(bidirectional, seed):
    draw = Draw(seed)
    released = np.arange(-3000, 3001)
    assert np.array_equal(
        encodings.t5_bucket(released, bidirectional=bidirectional), plain.t5_bucket(released, bidirectional)
    )
    table = draw.array(32, draw.heads)
    found = encodings.t5_bias(table, *draw.lengths, bidirectional=bidirectional)
    assert np.array_equal(found, plain.t5_bias(table, *draw.lengths, bidirectional))
    # With other numbers a distance may lie on the edge of a bucket, where T5's code, in float32, may round down.
    buckets, reach = 2 * draw.whole(2, 30), draw.whole(64, 1000)
    found = encodings.t5_bucket(
        released, bidirectional=bidirectional, num_buckets=buckets, max_distance=reach
    )
    off = found - plain.t5_bucket(released, bidirectional, buckets, reach)
    assert np.abs(off).max() <= 1
    assert np.count_nonzero(off) <= 2 * buckets  # at most the first distance of each bucket, on either side


@pytest.mark.parametrize("seed", SEEDS)
def test_longrope(seed):
    draw = Draw(seed)
    lists = draw.rng.uniform(1, 50, size=(2, draw.dim // 2))
    for length in (draw.trained, draw.trained + 1):
        spec = encodings.longrope(
            draw.dim, draw.factor, draw.trained, length=length, short_factor=lists[0], long_factor=lists[1]
        )
        inv_freq, attention_factor = plain.longrope(draw.dim, draw.factor, draw.trained, length, *lists)
        np.testing.assert_allclose(spec.inv_freq, inv_freq, rtol=4 * EPS)
        assert math.isclose(spec.attention_factor, attention_factor, rel_tol=4 * EPS)


@pytest.mark.parametrize("seed", SEEDS)
def test_partial_rope(seed):
    draw = Draw(seed)
    x, rotary_dim = draw.array(2, draw.seq, draw.dim), 2 * draw.whole(1, draw.dim // 2 + 1)
    spec = encodings.partial_rope(draw.dim, rotary_dim, draw.base)
    found = encodings.apply_rope(x, encodings.rope_angles(draw.positions, spec.inv_freq))
    # an angle of up to 5,000 rad is rounded to that many eps; both take it from the same frequencies
    assert_same(found, plain.partial_rope(x, draw.positions, rotary_dim, draw.base))


@pytest.mark.parametrize("seed", SEEDS)
def test_sections(seed):
    draw = Draw(seed)
    least, more = draw.whole(1, 9), draw.whole(0, 9)
    inv_freq = draw.rng.uniform(size=3 * least + more)
    for sections, order in (
        ([least, least + more, least], "contiguous"),
        ([least + more, least, least], "interleaved"),
    ):
        for name, given in (("section_axes", len(inv_freq)), ("section_frequencies", inv_freq)):
            found = getattr(encodings, name)(given, sections, order)
            assert np.array_equal(found, getattr(plain, name)(given, sections, order))


@pytest.mark.parametrize("seed", SEEDS)
def test_lie_rotation(seed):
    draw = Draw(seed)
    some = draw.array(3, draw.dim, draw.dim)
    generators, places = some - np.swapaxes(some, 1, 2), draw.array(draw.seq, 3)
    found = encodings.lie_rotation(places, generators)
    assert_same(found, plain.lie_rotation(places, generators), terms=draw.dim**2)


@pytest.mark.parametrize("seed", SEEDS)
def test_attention_with_bias_and_mask(seed):
    draw = Draw(seed)
    q, k = draw.q_and_k
    v, bias, mask = draw.array(draw.k_len, 3), draw.array(*draw.lengths), plain.causal_mask(*draw.lengths)
    found = dot_product.attention(q, k, v, bias=bias, mask=mask)
    for one, other in zip(found, plain.attention(q, k, v, bias, mask), strict=True):
        assert_same(one, other, terms=draw.dim)
    for one, other in zip(dot_product.attention(q, k, v), plain.attention(q, k, v), strict=True):
        assert_same(one, other, terms=draw.dim)


def test_each_of_the_four_doors():
    draw = Draw(4)
    x, (w_q, w_k, w_v) = draw.array(20, 16), draw.array(3, 16, 16) / 4
    positions, inv_freq = np.arange(20), plain.inv_freq(16)
    angles = plain.rope_angles(positions, inv_freq)

    def rotate(y):
        return plain.apply_rope(y, angles)

    doors = {
        attention.NoPosition(): {},
        attention.Additive(lambda p: encodings.sinusoidal(p, 16)): {
            "embed": lambda y: y + plain.sinusoidal(positions, 16)
        },
        attention.Rotary(inv_freq): {"rotate_q": rotate, "rotate_k": rotate},
        attention.ScoreBias(lambda q, k_len: encodings.alibi_bias(1, q.shape[-2], k_len)): {
            "bias": plain.alibi_bias(1, 20, 20)[0]
        },
    }
    outputs = []
    for encoding, open_doors in doors.items():
        output, weights = plain.attention_head(x, w_q, w_k, w_v, **open_doors)
        found = attention.multi_head_attention(
            encoding.embed(x, positions), w_q, w_k, w_v, np.eye(16), n_heads=1, encoding=encoding
        )
        assert_same(found[0], output, terms=16 * 16)
        assert_same(found[1][0], weights, terms=16 * 16)
        outputs.append(output)
    assert all(np.abs(a - b).max() > 0.01 for i, a in enumerate(outputs) for b in outputs[:i])


@pytest.mark.parametrize("seed", SEEDS)
def test_heads_and_grouped_queries(seed):
    draw = Draw(seed)
    groups, d_model = draw.whole(1, 4), 12
    n_heads = groups * draw.heads
    x = draw.array(draw.seq, d_model)
    w_q = draw.array(n_heads * draw.dim, d_model) / 4
    w_k, w_v = draw.array(2, draw.heads * draw.dim, d_model) / 4
    w_o = draw.array(d_model, n_heads * draw.dim)
    angles = plain.rope_angles(np.arange(draw.seq), draw.inv_freq)
    found, _ = attention.multi_head_attention(
        x,
        w_q,
        w_k,
        w_v,
        w_o,
        n_heads=n_heads,
        n_kv_heads=draw.heads,
        encoding=attention.Rotary(draw.inv_freq),
    )
    wanted = plain.multi_head_attention(x, w_q, w_k, w_v, w_o, n_heads, lambda y: plain.apply_rope(y, angles))
    assert_same(found, wanted, terms=n_heads * draw.dim)


@pytest.mark.parametrize("seed", SEEDS)
def test_cache(seed):
    draw = Draw(seed)
    x, (w_q, w_k, w_v) = draw.array(draw.k_len, draw.dim), draw.array(3, draw.dim, draw.dim) / 4
    cache, held = attention.KVCache(), (np.zeros((0, draw.dim)), np.zeros((0, draw.dim)))
    encoding = attention.Rotary(draw.inv_freq)
    for part in (x[: draw.q_len], *(x[m : m + 1] for m in range(draw.q_len, draw.k_len))):
        found, _ = attention.multi_head_attention(
            part, w_q, w_k, w_v, np.eye(draw.dim), n_heads=1, encoding=encoding, cache=cache
        )
        output, held = plain.decode_with_cache(part, w_q, w_k, w_v, held, draw.inv_freq)
        assert_same(found, output, terms=draw.dim**2)


@pytest.mark.parametrize("seed", SEEDS)
def test_xpos(seed):
    draw = Draw(seed)
    q, k = draw.array(2, draw.seq, draw.dim)
    encoding = attention.XPos(encodings.inv_freq(draw.dim))
    wanted = plain.apply_xpos(q, k, draw.positions)
    assert_same(encoding.rotate_q(q, draw.positions), wanted[0])
    assert_same(encoding.rotate_k(k, draw.positions), wanted[1])


@pytest.mark.parametrize("seed", SEEDS)
def test_rerope(seed):
    draw = Draw(seed)
    (q, k), v, window = draw.q_and_k, draw.array(draw.k_len, 3), draw.whole(1, draw.k_len)
    found = attention.rerope_attention(q, k, v, draw.inv_freq, window=window)
    wanted = plain.rerope_attention(q, k, v, draw.inv_freq, window)
    for one, other in zip(found, wanted, strict=True):
        assert_same(one, other, terms=draw.dim)


@pytest.mark.parametrize("seed", SEEDS)
def test_linear_attention_whole_and_by_steps(seed):
    draw = Draw(seed)
    q, k = draw.array(2, draw.seq, draw.dim)
    v = draw.array(draw.seq, 3)
    whole = plain.linear_attention(q, k, v, draw.angles)
    assert_same(attention.linear_attention(q, k, v, angles=draw.angles), whole, terms=draw.dim * draw.seq)
    state, held = None, (np.zeros((draw.dim, 3)), np.zeros(draw.dim))
    for m in range(draw.seq):
        found, state = attention.linear_attention_step(q[m], k[m], v[m], state, angles=draw.angles[m])
        row, held = plain.linear_attention_step(q[m], k[m], v[m], held, draw.angles[m])
        assert_same(found, row, terms=draw.dim * draw.seq)
        assert_same(row, whole[m], terms=draw.dim * draw.seq)


def test_every_plain_function_is_the_form_of_a_front_door_or_a_step_of_one():
    functions = {name for name, value in vars(plain).items() if inspect.isfunction(value)}
    assert functions == set(PLAIN_FORM.values()) | STEPS


@pytest.mark.parametrize("name", PLAIN_FORM)
def test_a_front_door_links_its_plain_form(name):
    assert f"Plain form: `plain.{PLAIN_FORM[name]}`" in inspect.getdoc(front(name))
