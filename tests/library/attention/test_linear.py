"""Linear attention: equal to equation 19 evaluated directly; step = parallel; chunks, gradients, refusals."""

import math

import numpy as np
import pytest
import torch

from rope_edu import inv_freq, rope_angles
from rope_edu.attention import LinearState, elu_plus_one, linear, linear_attention, linear_attention_step

kinds = pytest.mark.parametrize("make", [np.asarray, torch.asarray], ids=["numpy", "torch"])
layouts = pytest.mark.parametrize("layout", ["interleaved", "half_split"])
SEQ, WIDTH, V_WIDTH = 23, 8, 5


def example(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def qkv(*leading, seq=SEQ, dtype=np.float64):
    shapes = ((seq, WIDTH), (seq, WIDTH), (seq, V_WIDTH))
    return [example(*leading, *shape, seed=i).astype(dtype) for i, shape in enumerate(shapes)]


def angles_for(seq=SEQ, pairs=WIDTH // 2, start=0):
    return rope_angles(np.arange(start, start + seq), inv_freq(2 * pairs))


def phi(x):
    """Give elu(x) + 1 by its definition."""
    return np.where(x > 0, x, np.expm1(np.minimum(x, 0))) + 1


def equation_19(q, k, v, angles, layout="interleaved", causal=True, rotate_below=False, rotate_first=False):
    """Evaluate RoFormer's eq. 19 for one text, by n × n weights and complex numbers, in float64.

    The last two switches are wrong on purpose: rotated denominators, and φ after the rotation.
    """
    q, k, v = (np.asarray(x, dtype=np.float64) for x in (q, k, v))
    pairs = angles.shape[-1]
    first = np.arange(pairs) * (2 if layout == "interleaved" else 1)
    second = first + (1 if layout == "interleaved" else pairs)

    def turned(x):
        z = (x[:, first] + 1j * x[:, second]) * np.exp(1j * angles)
        x = x.copy()
        x[:, first], x[:, second] = z.real, z.imag
        return x

    f_q, f_k = (phi(turned(x)) for x in (q, k)) if rotate_first else (phi(q), phi(k))
    r_q, r_k = (f_q, f_k) if rotate_first else (turned(f_q), turned(f_k))
    above = np.array([[float(a @ b) for b in r_k] for a in r_q])
    below = above if rotate_below else np.array([[float(a @ b) for b in f_k] for a in f_q])
    sees = np.tri(len(q)) if causal else np.ones((len(q), len(k)))
    return (above * sees) @ v / (below * sees).sum(axis=1)[:, None]


def steps(q, k, v, angles, **options):
    state, outputs = None, []
    for n in range(q.shape[-2]):
        output, state = linear_attention_step(
            q[..., n, :],
            k[..., n, :],
            v[..., n, :],
            state,
            angles=None if angles is None else angles[..., n, :],
            **options,
        )
        outputs.append(np.asarray(output))
    return np.stack(outputs, axis=-2), state


@kinds
@layouts
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("pairs", [4, 3])
def test_it_equals_equation_19_evaluated_directly(make, layout, causal, pairs):
    arrays, angles = qkv(), angles_for(pairs=pairs)
    output = linear_attention(*map(make, arrays), angles=make(angles), layout=layout, causal=causal)
    expected = equation_19(*arrays, angles, layout, causal)
    np.testing.assert_allclose(output, expected, rtol=0, atol=1e-12)


@kinds
@layouts
def test_the_step_form_equals_equation_19(make, layout):
    arrays, angles = qkv(), angles_for()
    output, _ = steps(*map(make, arrays), angles, layout=layout)
    np.testing.assert_allclose(output, equation_19(*arrays, angles, layout), rtol=0, atol=1e-12)


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("wrong", ["rotate_below", "rotate_first"])
def test_a_rotated_denominator_and_a_rotation_before_the_features_are_told_from_equation_19(wrong, causal):
    arrays, angles = qkv(), angles_for()
    output = linear_attention(*arrays, angles=angles, causal=causal)
    assert abs(output - equation_19(*arrays, angles, causal=causal, **{wrong: True})).max() > 0.05


def test_a_rotated_denominator_could_vanish_and_the_right_one_cannot():
    q = k = np.zeros((2, 2))  # φ = (1, 1) for both tokens
    v, angles = np.array([[1.0], [2.0]]), np.array([[0.0], [math.pi]])
    with np.errstate(divide="ignore"):  # on some processors it vanishes exactly
        below = equation_19(q, k, v, angles, rotate_below=True)[1]
    assert abs(below) > 1e12  # 2 − 2 and 2 + 2cos π, but for rounding
    assert linear_attention(q, k, v, angles=angles)[1].tolist() == pytest.approx([0.5])


@kinds
@pytest.mark.parametrize("rotated", [True, False])
def test_step_form_and_parallel_form_agree(make, rotated):
    arrays = [make(x) for x in qkv(2, 3, seq=200)]
    angles = angles_for(200) if rotated else None
    output, _ = steps(*arrays, angles)
    parallel = np.asarray(linear_attention(*arrays, angles=angles))
    assert abs(parallel).max() > 0.5  # of order 1, so that the tolerance means something
    np.testing.assert_allclose(output, parallel, rtol=0, atol=1e-12)


@pytest.mark.long
def test_step_form_and_parallel_form_agree_over_a_long_text():
    arrays = qkv(seq=4096)
    output, _ = steps(*arrays, angles_for(4096))
    np.testing.assert_allclose(output, linear_attention(*arrays, angles=angles_for(4096)), rtol=0, atol=1e-12)


@pytest.mark.long
def test_a_long_text_in_float32_is_as_near_to_float64_as_its_sums_are_long():
    """A running sum of n terms of one sign is off by n · eps/2 of itself at most; one stands above, one below."""
    seq, exact = 4096, qkv(seq=4096)
    narrow = [x.astype(np.float32) for x in exact]
    whole = linear_attention(*exact, angles=angles_for(seq))
    bound = seq * np.finfo(np.float32).eps * abs(exact[2]).max()
    assert bound < 2.1e-3
    for output in (steps(*narrow, angles_for(seq))[0], linear_attention(*narrow, angles=angles_for(seq))):
        np.testing.assert_allclose(output, whole, rtol=0, atol=bound)


@kinds
@layouts
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("prompt", [1, 7, SEQ - 1])
def test_steps_follow_a_whole_from_the_state_that_it_returns(make, layout, causal, prompt):
    q, k, v = (make(x) for x in qkv(2))
    angles, expected = (
        angles_for(),
        linear_attention(*(make(x) for x in qkv(2)), angles=angles_for(), layout=layout),
    )
    first = [x[..., :prompt, :] for x in (q, k, v)]
    options = {"angles": angles[:prompt], "layout": layout, "causal": causal}
    output, state = linear_attention(*first, return_state=True, **options)
    assert (np.asarray(output) == np.asarray(linear_attention(*first, **options))).all()
    if causal:
        np.testing.assert_allclose(output, expected[..., :prompt, :], rtol=0, atol=1e-12)
    for n in range(prompt, SEQ):
        token = (x[..., n, :] for x in (q, k, v))
        output, state = linear_attention_step(*token, state, angles=angles[n], layout=layout)
        np.testing.assert_allclose(output, expected[..., n, :], rtol=0, atol=1e-12)


@pytest.mark.parametrize("causal", [True, False])
def test_the_state_of_a_whole_is_that_of_its_last_step_in_float32_for_halves(causal):
    q, k, v = qkv(2)
    _, state = linear_attention(q, k, v, angles=angles_for(), causal=causal, return_state=True)
    _, last = steps(q, k, v, angles_for())
    for whole, stepped in zip(state, last, strict=True):
        np.testing.assert_allclose(whole, stepped, rtol=0, atol=1e-12)
    halves = [x.astype(np.float16) for x in (q, k, v)]
    output, state = linear_attention(*halves, angles=angles_for(), causal=causal, return_state=True)
    assert [output.dtype, state.kv.dtype, state.norm.dtype] == [np.float16, np.float32, np.float32]


@kinds
@pytest.mark.parametrize("chunk", [1, 2, 7, 22, 23, 24, 1000])
def test_the_chunk_changes_nothing_whether_or_not_it_divides_the_text(make, chunk, monkeypatch):
    arrays, angles = [make(x) for x in qkv(2)], angles_for()
    expected = linear_attention(*arrays, angles=angles)
    monkeypatch.setattr(linear, "CHUNK", chunk)
    np.testing.assert_allclose(linear_attention(*arrays, angles=angles), expected, rtol=0, atol=1e-12)


@kinds
def test_moving_the_whole_text_changes_nothing(make):
    arrays = [make(x) for x in qkv(2)]
    here, there = (linear_attention(*arrays, angles=angles_for(start=start)) for start in (0, 1000))
    np.testing.assert_allclose(here, there, rtol=0, atol=1e-11)
    assert abs(np.asarray(here - linear_attention(*arrays))).max() > 0.05


def test_the_future_changes_nothing_when_causal_and_something_when_not():
    q, k, v = qkv()
    k2, v2 = k.copy(), v.copy()
    k2[15:], v2[15:] = 3.0, -2.0
    for causal in (True, False):
        before, after = (
            linear_attention(q, *kv, angles=angles_for(), causal=causal)[:15] for kv in ((k, v), (k2, v2))
        )
        assert np.array_equal(before, after) == causal


def test_without_angles_it_is_a_weighted_mean_of_the_values():
    q, k, v = qkv()
    ones = linear_attention(q, k, np.ones_like(v))
    np.testing.assert_allclose(ones, 1.0, rtol=1e-12)
    assert linear_attention(q, k, v, causal=False).max() < v.max()


def test_with_angles_the_weights_do_not_sum_to_one():
    q, k, v = qkv()
    ones = linear_attention(q, k, np.ones_like(v), angles=angles_for())
    assert abs(ones - 1).max() > 0.3
    assert ones[0, 0] == pytest.approx(1.0)  # only the token itself, at angle 0


def test_the_state_is_the_sums_and_of_the_same_size_after_any_number_of_tokens():
    q, k, v = qkv()
    _, state = steps(q, k, v, None)
    np.testing.assert_allclose(state.norm, phi(k).sum(axis=0), rtol=1e-12)
    np.testing.assert_allclose(state.kv, phi(k).T @ v, rtol=1e-12, atol=1e-12)
    assert (state.kv.shape, state.norm.shape) == ((WIDTH, V_WIDTH), (WIDTH,))


def test_a_step_rotates_the_sum_of_the_values_and_not_the_norm():
    q, k, v = (x[0] for x in qkv())
    _, plain = linear_attention_step(q, k, v)
    _, turned = linear_attention_step(q, k, v, angles=angles_for()[5])
    assert np.array_equal(plain.norm, turned.norm)
    assert not np.allclose(plain.kv, turned.kv)


def test_a_step_leaves_the_state_that_it_was_given_as_it_was():
    q, k, v = qkv()
    _, first = linear_attention_step(q[0], k[0], v[0])
    kept = LinearState(first.kv.copy(), first.norm.copy())
    one, two = (linear_attention_step(q[1], k[1], v[1], first)[0] for _ in range(2))
    assert np.array_equal(one, two)
    assert all(np.array_equal(a, b) for a, b in zip(first, kept, strict=True))


def test_queries_may_be_fewer_or_more_than_keys_where_no_position_is_needed():
    q, k, v = qkv()
    few = linear_attention(q[:4], k, v, causal=False)
    np.testing.assert_allclose(few, linear_attention(q, k, v, causal=False)[:4], rtol=0, atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_halves_are_calculated_in_float32_and_rounded_once(dtype):
    arrays = [torch.tensor(x).to(dtype) for x in qkv(2)]
    expected = linear_attention(*(x.float() for x in arrays), angles=angles_for())
    output = linear_attention(*arrays, angles=angles_for())
    assert torch.equal(output, expected.to(dtype))
    step, state = linear_attention_step(*(x[..., 0, :] for x in arrays))
    assert (step.dtype, state.kv.dtype, state.norm.dtype) == (dtype, torch.float32, torch.float32)


@layouts
@pytest.mark.parametrize("causal", [True, False])
def test_gradients_reach_q_k_v_and_the_frequencies(layout, causal):
    arrays = [torch.tensor(x, requires_grad=True) for x in qkv(2, seq=5)]
    frequencies = torch.tensor(inv_freq(WIDTH), requires_grad=True)

    def run(q, k, v, f):
        return linear_attention(q, k, v, angles=rope_angles(range(5), f), layout=layout, causal=causal)

    assert torch.autograd.gradcheck(run, (*arrays, frequencies))


@pytest.mark.long
def test_gradients_flow_through_the_steps():
    arrays = [torch.tensor(x, requires_grad=True) for x in qkv(seq=4)]

    def run(q, k, v):
        output, state = None, None
        for n in range(4):
            output, state = linear_attention_step(q[n], k[n], v[n], state, angles=angles_for()[n])
        return output, *state

    assert torch.autograd.gradcheck(run, arrays)


@kinds
def test_elu_plus_one_is_elu_plus_one_and_positive_far_below_zero(make):
    x = np.array([-80.0, -20.0, -1.0, 0.0, 0.5, 30.0], dtype=np.float32)
    out = elu_plus_one(make(x))
    np.testing.assert_allclose(out, torch.nn.functional.elu(torch.tensor(x)) + 1, rtol=1e-6, atol=1e-7)
    assert float(out[1]) == pytest.approx(math.exp(-20), rel=1e-6)  # elu + 1 in float32 gives 0 here
    assert float(out[0]) > 0


def test_the_slope_of_elu_plus_one_is_one_at_zero_and_finite_far_above():
    x = torch.tensor([-1.0, 0.0, 2.0, 1000.0], requires_grad=True)
    elu_plus_one(x).sum().backward()
    assert x.grad.tolist() == pytest.approx([math.exp(-1), 1.0, 1.0, 1.0])


def test_every_array_stays_on_the_device_of_q():
    arrays = [torch.tensor(x, device="meta") for x in qkv(2)]
    for causal in (True, False):
        assert linear_attention(*arrays, angles=angles_for(), causal=causal).device.type == "meta"
    step, state = linear_attention_step(*(x[..., 0, :] for x in arrays), angles=angles_for()[0])
    assert step.device.type == state.kv.device.type == "meta"


def test_another_feature_map_may_change_the_width_and_may_give_zeros():
    def relu_and_more(x):
        return np.concatenate((np.maximum(x, 0), np.maximum(-x, 0)), axis=-1)

    q, k, v = qkv()
    k[0], q[0] = 0.0, 0.0  # nothing to divide by: takes nothing
    output = linear_attention(q, k, v, feature_map=relu_and_more, angles=angles_for(pairs=8))
    assert output[0].tolist() == [0.0] * V_WIDTH
    assert np.isfinite(output).all()
    stepped, state = steps(q, k, v, angles_for(pairs=8), feature_map=relu_and_more)
    np.testing.assert_allclose(stepped, output, rtol=0, atol=1e-12)
    assert state.kv.shape == (2 * WIDTH, V_WIDTH)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"q": np.ones(8)}, r"q must be \(…, seq, width\), got shape \(8,\)"),
        ({"k": np.ones((23, 6))}, "q and k must be equally wide, got 8 and 6"),
        ({"k": np.ones((23, 8), dtype=int)}, "k must hold floats .*, got int64"),
        ({"v": np.ones((22, 5))}, "q, k and v must have equally many tokens .*, got 23, 23 and 22"),
        ({"q": np.ones((4, 8))}, "q, k and v must have equally many tokens .*, got 4, 23 and 23"),
        ({"q": np.ones((4, 8)), "causal": False, "angles": np.ones((23, 4))}, "got 4, 23 and 23"),
        ({"v": [[1.0]]}, "v must be a NumPy array or a torch tensor, got list"),
        ({"q": np.ones((2, 23, 8)), "k": np.ones((3, 23, 8))}, "the leading axes must broadcast, got"),
        ({"angles": np.ones((23, 5))}, "2 · pairs must be at most head_dim = 8, got 5 pairs"),
        ({"angles": np.ones((22, 4))}, "the leading axes of angles"),
        ({"layout": "pairs"}, "layout must be 'interleaved' or 'half_split', got 'pairs'"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(changes, sentence):
    good = dict(zip("qkv", qkv(), strict=True))
    with pytest.raises(ValueError, match=sentence):
        linear_attention(**good | changes)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"q": np.float64(1.0)}, "q must be"),
        ({"k": np.ones(6)}, "q and k must be equally wide, got 8 and 6"),
        (
            {"state": LinearState(np.ones((8, 4)), np.ones(8))},
            r"state must have kv \(8, 5\) and norm \(8,\) as this token has, got \(8, 4\) and \(8,\)",
        ),
        ({"angles": np.ones(5)}, "2 · pairs must be at most head_dim = 8, got 5 pairs"),
    ],
)
def test_steps_that_do_not_fit_are_refused(changes, sentence):
    good = {name: x[0] for name, x in zip("qkv", qkv(), strict=True)}
    with pytest.raises(ValueError, match=sentence):
        linear_attention_step(**good | changes)
