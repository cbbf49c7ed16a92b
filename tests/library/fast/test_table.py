"""The table of cosines and sines: 50 digits of truth, growth, keys, threads, independence of what was asked."""

import copy
import pickle
import threading

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from rope_edu import RopeSpec, inv_freq
from rope_edu.encodings import LAYOUTS, plain_rope
from rope_edu.fast import RotaryTable, rotate
from rope_edu.fast.table import BLOCK

layouts = pytest.mark.parametrize("layout", LAYOUTS)
EDGES = [0, 1, 255, 256, 257, 4095, 2**17, 2**19 + 1, 10**6, 2**20 - 1, 2**20]
SAMPLE = EDGES + np.random.default_rng(0).integers(0, 2**20, size=60).tolist()


def exact(position, head_dim=128, base=10_000):
    """cos and sin of every pair with 50 digits, the frequency included."""
    with mpmath.workdps(50):
        angles = [
            position * mpmath.mpf(base) ** (-mpmath.mpf(2 * i) / head_dim) for i in range(head_dim // 2)
        ]
        return [mpmath.cos(a) for a in angles], [mpmath.sin(a) for a in angles]


def error(values, truth):
    return max(abs(mpmath.mpf(float(v)) - t) for v, t in zip(values, truth, strict=True))


def bits(cos_sin):
    return np.asarray(cos_sin.rows).tobytes()


# Precision


@layouts
def test_every_row_is_within_half_a_step_of_float32_of_fifty_digits(layout):
    table = RotaryTable(inv_freq(128), layout=layout)
    for position in SAMPLE:
        cos_sin = table.cos_sin(position, 1)
        cos, sin = exact(position)
        assert error(cos_sin.cos[0], cos) < 3.0e-8  # half a step below 1 is 2.98e-8
        assert error(cos_sin.sin[0], sin) < 3.0e-8


def test_float64_rows_are_as_exact_as_a_float64_angle_can_be():
    table, like = RotaryTable(inv_freq(128)), np.ones(1)
    for position in SAMPLE:
        cos, sin = exact(position)
        cos_sin = table.cos_sin(position, 1, like=like)
        assert max(error(cos_sin.cos[0], cos), error(cos_sin.sin[0], sin)) < 4e-16 + 2.3e-16 * position


@layouts
@pytest.mark.parametrize("make", [np.asarray, torch.asarray])
def test_unit_pairs_are_rotated_to_one_ten_millionth_at_every_position(make, layout):
    table, rng = RotaryTable(inv_freq(128), layout=layout), np.random.default_rng(1)
    for position in SAMPLE:
        direction = rng.uniform(0, 2 * np.pi, size=64)
        pair = np.cos(direction).astype(np.float32), np.sin(direction).astype(np.float32)
        order = np.stack(pair, axis=-1) if layout == "interleaved" else np.stack(pair)
        turned = np.asarray(rotate(make(order.reshape(1, 128)), table=table, offset=position)).reshape(
            order.shape
        )
        first, second = np.moveaxis(turned, -1 if layout == "interleaved" else 0, 0)
        cos, sin = exact(position)
        x, y = ([mpmath.mpf(float(v)) for v in p] for p in pair)
        assert error(first, [a * c - b * s for a, b, c, s in zip(x, y, cos, sin, strict=True)]) <= 1e-7
        assert error(second, [a * s + b * c for a, b, c, s in zip(x, y, cos, sin, strict=True)]) <= 1e-7


@layouts
def test_scores_of_unit_vectors_do_not_feel_an_offset_of_a_million(layout):
    rng, table = np.random.default_rng(2), RotaryTable(inv_freq(128), layout=layout)
    q, k = (v / np.linalg.norm(v, axis=-1, keepdims=True) for v in rng.normal(size=(2, 200, 128)))
    q, k = q.astype(np.float32)[:, None], k.astype(np.float32)[:, None]

    def scores(m, n):
        turned_q, turned_k = rotate(q, table=table, offset=m), rotate(k, table=table, offset=n)
        return (turned_q.astype(np.float64) * turned_k).sum(-1)

    assert np.abs(scores(10**6 + 9, 10**6) - scores(9, 0)).max() < 3e-8


# What is kept


@layouts
@settings(max_examples=40, deadline=None)
@given(
    asked=st.lists(st.tuples(st.integers(0, 5000), st.integers(0, 700)), max_size=6),
    start=st.integers(0, 5000),
    length=st.integers(0, 700),
)
def test_the_answer_is_the_same_bits_whatever_was_asked_before(layout, asked, start, length):
    used = RotaryTable(inv_freq(8), layout=layout)
    for s, n in asked:
        used.cos_sin(s, n)
    assert bits(used.cos_sin(start, length)) == bits(
        RotaryTable(inv_freq(8), layout=layout).cos_sin(start, length)
    )


@layouts
def test_numpy_and_torch_get_the_same_bits_and_float32_is_float64_rounded_once(layout):
    table = RotaryTable(inv_freq(32), layout=layout, attention_factor=1.2)
    single, double = table.cos_sin(700, 600), table.cos_sin(700, 600, like=np.ones(1))
    assert bits(single) == bits(table.cos_sin(700, 600, like=torch.ones(1)))
    assert bits(double) == bits(table.cos_sin(700, 600, like=torch.ones(1, dtype=torch.float64)))
    np.testing.assert_array_equal(single.rows, double.rows.astype(np.float32))


def test_a_bfloat16_call_leaves_float32_rows_as_they_are():
    table = RotaryTable(inv_freq(8))
    before = bits(table.cos_sin(0, 9, like=torch.ones(1)))
    rotate(torch.ones(9, 8, dtype=torch.bfloat16), table=table)
    assert bits(table.cos_sin(0, 9, like=torch.ones(1))) == before
    assert table.cos_sin(0, 9, like=torch.ones(1)).cos.dtype == torch.float32
    half = torch.ones(1, dtype=torch.bfloat16)
    assert bits(table.cos_sin(0, 9, like=half)) == before  # 16 bits are turned in float32


def test_rows_are_kept_and_handed_out_as_views():
    table = RotaryTable(inv_freq(8))
    assert np.shares_memory(table.cos_sin(0, 100).rows, table.cos_sin(50, 100).rows)
    assert not table.cos_sin(0, 5).cos.flags.writeable


def test_it_grows_by_whole_blocks_and_by_half_of_what_it_has():
    table, sizes = RotaryTable(inv_freq(8)), []
    for position in range(0, 20_000, 50):
        table.cos_sin(position, 1)
        start, stop, _ = table._windows[np.dtype("float32"), "cpu"]
        assert start == 0
        sizes.append(stop)
    assert all(size % BLOCK == 0 for size in sizes)
    assert len(set(sizes)) <= 14
    assert sizes[-1] <= 1.5 * 20_000 + BLOCK


def test_half_of_three_blocks_is_one_whole_block():
    table = RotaryTable(inv_freq(8))
    table.cos_sin(0, 3 * BLOCK)
    table.cos_sin(3 * BLOCK, 1)
    assert f"keeps 0 … {4 * BLOCK - 1} " in repr(table)


def test_it_grows_towards_earlier_positions_too():
    table = RotaryTable(inv_freq(8))
    table.cos_sin(BLOCK, 1)
    table.cos_sin(BLOCK - 1, 1)  # the block just before
    assert f"keeps 0 … {2 * BLOCK - 1} " in repr(table)


def test_a_far_position_costs_one_block():
    table = RotaryTable(inv_freq(8))
    table.cos_sin(0, 5)
    assert len(table.cos_sin(10**6, 1).rows.base) == BLOCK


def test_views_stay_valid_when_the_table_grows():
    table = RotaryTable(inv_freq(8))
    early = table.cos_sin(3, 2)
    before = bits(early)
    table.cos_sin(0, 10_000)
    assert bits(early) == before


def test_changing_the_frequencies_afterwards_changes_nothing():
    frequencies = inv_freq(8)
    table = RotaryTable(frequencies)
    before = bits(table.cos_sin(0, 9))
    frequencies *= 2
    assert bits(table.cos_sin(0, 9)) == before
    with pytest.raises(ValueError, match="read-only"):
        table.spec.inv_freq[0] = 2


def test_everything_it_depends_on_makes_another_table():
    results = [
        RotaryTable(inv_freq(8, base), layout=layout, attention_factor=a).cos_sin(7, 1)
        for base in (1e4, 5e5)
        for layout in LAYOUTS
        for a in (1.0, 1.2)
    ]
    assert len({bits(cos_sin) + cos_sin.layout.encode() for cos_sin in results}) == len(results)


def test_a_spec_says_layout_and_attention_factor():
    spec = RopeSpec(inv_freq(8), layout="half_split", attention_factor=1.2, kind="yarn")
    table = RotaryTable(spec)
    assert table.spec is spec
    assert (table.spec.layout, table.spec.attention_factor) == ("half_split", 1.2)
    bare = RotaryTable(inv_freq(8), layout="half_split", attention_factor=1.2)
    assert bits(table.cos_sin(5, 300)) == bits(bare.cos_sin(5, 300))


def test_casting_a_module_does_not_reach_its_table():
    class Attention(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear, self.table = torch.nn.Linear(8, 8), RotaryTable(inv_freq(8))

    module = Attention()
    before = bits(module.table.cos_sin(4096, 9, like=torch.ones(1)))
    module.to(torch.bfloat16)
    assert bits(module.table.cos_sin(4096, 9, like=torch.ones(1))) == before
    assert list(module.state_dict()) == ["linear.weight", "linear.bias"]


def test_rows_made_in_inference_mode_can_be_kept_for_a_gradient_later():
    table = RotaryTable(inv_freq(8))
    with torch.inference_mode():
        rotate(torch.ones(5, 8), table=table)
    x = torch.ones(5, 8, requires_grad=True)
    rotate(x, table=table).sum().backward()
    assert x.grad is not None


@layouts
@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))])
def test_a_copy_gives_the_same_bits(copied, layout):
    table = RotaryTable(inv_freq(8), layout=layout, attention_factor=1.2)
    table.cos_sin(0, 600)
    assert bits(copied(table).cos_sin(100, 700)) == bits(table.cos_sin(100, 700))


@layouts
def test_threads_that_make_it_grow_at_once_all_get_the_right_rows(layout):
    table, truth, wrong = (
        RotaryTable(inv_freq(16), layout=layout),
        RotaryTable(inv_freq(16), layout=layout),
        [],
    )
    truth.cos_sin(0, 40_000)
    start = threading.Barrier(8)

    def work(seed):
        rng = np.random.default_rng(seed)
        start.wait()
        for _ in range(150):
            position, length = int(rng.integers(0, 39_000)), int(rng.integers(0, 1000))
            if bits(table.cos_sin(position, length)) != bits(truth.cos_sin(position, length)):
                wrong.append((seed, position, length))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_positions_on_the_meta_device_have_shapes_only():
    x = torch.ones(2, 5, 8, device="meta")
    assert rotate(x, table=RotaryTable(inv_freq(8))).shape == (2, 5, 8)


def test_it_says_what_it_keeps():
    table = RotaryTable(inv_freq(8))
    assert repr(table) == "<RotaryTable: 4 pairs, interleaved, keeps nothing yet>"
    table.cos_sin(10**6, 1)
    assert repr(table) == "<RotaryTable: 4 pairs, interleaved, keeps 999936 … 1000191 (float32, cpu)>"
    assert repr(table.cos_sin(0, 3)) == "<CosSinRows: interleaved, (3, 4), float32 on cpu>"


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: RotaryTable([[1.0]]), "inv_freq must have one axis"),
        (lambda: RotaryTable([np.inf]), "inv_freq must be finite"),
        (lambda: RotaryTable(plain_rope(4), layout="half_split"), "layout is 'interleaved' in the spec"),
        (lambda: RotaryTable(torch.ones(2, requires_grad=True)), "inv_freq must not require a gradient"),
        (
            lambda: RotaryTable([1.0], layout="neox"),
            "layout must be 'interleaved' or 'half_split', got 'neox'",
        ),
        (lambda: RotaryTable([1.0], attention_factor=0), "attention_factor must be a finite number above 0"),
        (lambda: RotaryTable([1.0]).cos_sin(-1, 2), r"start must be a whole number from 0 to 2.*, got -1"),
        (lambda: RotaryTable([1.0]).cos_sin(0, 2.0), "length must be a whole number of at least 0, got 2.0"),
        (
            lambda: RotaryTable([1.0]).cos_sin(True, 2),
            r"start must be a whole number from 0 to 2.*, got True",
        ),
        (
            lambda: RotaryTable([1.0]).cos_sin(0, 2, like=[1.0]),
            "like must be a NumPy array or a torch tensor",
        ),
        (lambda: RotaryTable([1.0]).cos_sin(0, 2, like=np.ones(1, int)), "like must hold floats"),
    ],
)
def test_what_no_table_can_be_is_refused(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()
