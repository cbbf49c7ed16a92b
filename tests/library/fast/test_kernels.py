"""The kernel of numba: what only it can get wrong. That it rotates right is tested beside array operations."""

import copy
import os
import pickle
import platform
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import torch
from torch.utils._pytree import tree_map_only

from rope_edu import apply_rope, inv_freq, rope_angles
from rope_edu.encodings import LAYOUTS
from rope_edu.fast import RotaryTable, cos_sin_from_angles, kernels, plan, rotate, rotate_

layouts = pytest.mark.parametrize("layout", LAYOUTS)
kinds = pytest.mark.parametrize("make", [np.asarray, torch.asarray], ids=["numpy", "torch"])
TABLE = RotaryTable(inv_freq(8))


def forget_plans():
    plan._plans.clear()
    plan._last_plans.clear()


def example(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def run(code, **environment):
    """Run a program in a process of its own, without the numbers that torch would need."""
    made = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=os.environ | environment
    )
    assert made.returncode == 0, made.stderr
    return made.stdout.strip()


@kinds
@layouts
def test_views_are_rotated_where_they_lie_and_nothing_beside_them(make, layout):
    table, angles = RotaryTable(inv_freq(8), layout=layout), rope_angles(range(6), inv_freq(8))
    wide = make(example(3, 6, 19).astype(np.float32))
    before = wide + 0
    view = wide[::2, :, 1:10]  # eight features and a tail
    expected = apply_rope(view, angles, layout=layout)
    out = make(np.zeros((3, 6, 19), np.float32))
    rotate(view, table=table, out=out[::2, :, 10:], compiled=True)
    np.testing.assert_allclose(out[::2, :, 10:], expected, rtol=0, atol=1e-6)
    assert np.count_nonzero(np.asarray(out)) == np.count_nonzero(np.asarray(expected))
    rotate(view, table=table, out=view, compiled=True)
    np.testing.assert_allclose(view, expected, rtol=0, atol=1e-6)
    before[::2, :, 1:10] = expected
    np.testing.assert_allclose(wide, before, rtol=0, atol=1e-6)


def test_rows_that_run_backwards_are_rotated_too():
    x = example(3, 6, 8)[:, ::-1]
    expected = apply_rope(x, rope_angles(range(6), inv_freq(8)))
    np.testing.assert_allclose(rotate(x, table=TABLE, compiled=True), expected, rtol=0, atol=1e-12)


@layouts
@pytest.mark.parametrize("shift", [0, 1, 4, 16])
@pytest.mark.parametrize("head_dim", [64, 66, 71])
def test_results_are_written_where_they_belong_at_any_address(layout, shift, head_dim):
    table = RotaryTable(inv_freq(64), layout=layout)
    x = example(3, 50, head_dim).astype(np.float32)
    place = np.zeros(x.size + 60, np.float32)
    shift += -(place.__array_interface__["data"][0] // 4) % 16  # 0 is the address of a line
    out = place[shift : shift + x.size].reshape(x.shape)
    rotate(x, table=table, offset=5, out=out, compiled=True)
    assert not place[:shift].any()
    assert not place[shift + x.size :].any()
    expected = apply_rope(x, rope_angles(range(5, 55), inv_freq(64)), layout=layout)
    np.testing.assert_allclose(out, expected, rtol=0, atol=1e-6)


@layouts
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_number_of_threads_changes_no_bit(dtype, layout, monkeypatch):
    monkeypatch.setattr(plan, "SEVERAL_THREADS", 2**18)
    forget_plans()
    x, table = torch.tensor(example(5, 700, 192)).to(dtype), RotaryTable(inv_freq(192), layout=layout)
    threads, turned = torch.get_num_threads(), []
    try:
        for n in (1, 2, 3):
            torch.set_num_threads(n)
            turned.append(rotate(x, table=table, compiled=True))
    finally:
        torch.set_num_threads(threads)
        forget_plans()
    assert torch.equal(turned[0], turned[1])
    assert torch.equal(turned[0], turned[2])


MADE = []


class Pool(kernels.ThreadPoolExecutor):
    """Threads that are counted."""

    def __init__(self, count):
        MADE.append(count)
        super().__init__(count)


@pytest.mark.parametrize(
    ("shape", "most", "threads"),
    [
        ((64, 128, 128), 4, [4]),  # 4 MiB of float32
        ((64, 128, 127), 4, []),
        ((64, 128, 128), 1, []),
        ((64 * 128, 128), 4, []),  # one run of rows
    ],
)
def test_threads_are_made_for_a_long_tensor_of_several_runs_alone(shape, most, threads, monkeypatch):
    monkeypatch.setattr(kernels, "ThreadPoolExecutor", Pool)
    MADE.clear()
    monkeypatch.setattr(torch, "get_num_threads", lambda: most)
    forget_plans()
    x = torch.tensor(example(*shape), dtype=torch.float32)
    rotate(x, table=TABLE, compiled=True)
    forget_plans()
    assert threads == MADE


def test_several_threads_of_the_caller_may_rotate_at_once(monkeypatch):
    monkeypatch.setattr(plan, "SEVERAL_THREADS", 0)
    forget_plans()
    x = torch.tensor(example(64, 700, 8), dtype=torch.float32)
    expected, wrong = rotate(x, table=TABLE, compiled=False), []

    def work():
        for _ in range(20):
            if not torch.allclose(rotate(x, table=TABLE, compiled=True), expected, atol=1e-6):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    forget_plans()
    assert wrong == []


def test_other_threads_of_python_run_while_the_kernel_works():
    numbers, times, interval = np.ones(8), [], sys.getswitchinterval()
    x = np.lib.stride_tricks.as_strided(numbers, (5 * 10**7, 1, 8), (0, 0, 8))  # much work, little memory
    cos_sin, at = TABLE.cos_sin(0, 1, like=x), numbers.ctypes.data
    kernel = plan.make_plan(x, x, cos_sin).kernel

    def work():
        times.append(time.perf_counter())
        kernel(at, at, cos_sin.address, 1)
        times.append(time.perf_counter())

    sys.setswitchinterval(60)  # no thread is asked to let another one run
    try:
        thread = threading.Thread(target=work)
        thread.start()
        while not times:
            time.sleep(0)
        here = time.perf_counter()
        thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert here < times[1]


def every_number(dtype):
    return torch.arange(-(2**15), 2**15, dtype=torch.int16).view(dtype)


@layouts
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("factor", [1.0, 1 / 3, 3.0e-6, 7e4])
def test_every_16_bit_number_is_widened_and_rounded_as_torch_does(dtype, layout, factor):
    """cos 0 = 1 and sin 0 = 0 leave a product in float32, rounded once; infinity times 0 is no number."""
    x = every_number(dtype).reshape(-1, 64)
    cos_sin = cos_sin_from_angles(np.zeros((len(x), 32)), like=x, layout=layout, attention_factor=factor)
    turned = rotate(x, table=cos_sin, compiled=True)
    expected = (x.float() * torch.tensor(factor, dtype=torch.float32)).to(dtype)
    other = x.reshape(-1, 32, 2).flip(-1).reshape(x.shape) if layout == "interleaved" else x.roll(32, -1)
    finite = other.isfinite()  # else 0 · ∞ comes in
    assert torch.equal(turned.isnan(), expected.isnan() | ~finite)
    assert torch.equal(turned[~turned.isnan()], expected[~turned.isnan()])


def test_autograd_notices_that_a_tensor_was_written():
    x = torch.tensor(example(5, 8), requires_grad=True)
    y = x * 1
    square = y**2
    with torch.no_grad():
        rotate(y, table=TABLE, out=y, compiled=True)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        square.sum().backward()


def test_inference_tensors_are_rotated_in_place():
    with torch.inference_mode():
        x = torch.tensor(example(5, 8))
        expected = rotate(x, table=TABLE)
        torch.testing.assert_close(rotate(x, table=TABLE, out=x, compiled=True), expected)


@pytest.mark.parametrize(("length", "blocks"), [(10, 1), (11, 2)])
def test_a_block_is_as_many_rows_as_the_cache_holds_turns_of(length, blocks, monkeypatch):
    monkeypatch.setattr(plan, "SHARED", 10 * 2 * 4 * 8)  # bytes of ten cosines and sines of four pairs
    x = example(3, length, 8)
    made = plan.make_plan(x, None, TABLE.cos_sin(0, length, like=x))
    assert made.kernel.args[-1] == 3 * blocks  # runs: each head takes a block before any goes on to the next


def test_a_thousand_plans_are_kept_before_all_are_made_anew():
    for kept, left in ((1023, 1024), (1024, 1)):
        forget_plans()
        plan._plans.update(dict.fromkeys(range(kept)))
        rotate(np.ones((1, 8)), table=TABLE)
        assert len(plan._plans) == left
    forget_plans()


@kinds
def test_features_that_do_not_lie_side_by_side_are_left_to_array_operations(make):
    x, out = make(example(5, 16))[:, ::2], make(example(8, 5)).T
    expected = apply_rope(x, rope_angles(range(5), inv_freq(8)))
    np.testing.assert_allclose(rotate(x, table=TABLE, out=out), expected, rtol=0, atol=1e-12)
    for way in (None, out):
        with pytest.raises(ValueError, match="compiled=True needs contiguous features in x and out"):
            rotate(x, table=TABLE, out=way, compiled=True)


def test_a_view_that_negates_is_left_to_array_operations():
    view = torch._neg_view(torch.tensor(example(5, 8)))
    expected = rotate(view.resolve_neg(), table=TABLE)
    torch.testing.assert_close(rotate(view, table=TABLE), expected, rtol=0, atol=1e-12)
    with pytest.raises(ValueError, match="compiled=True needs ordinary tensors in main memory"):
        rotate(view, table=TABLE, out=view, compiled=True)


class Wrapped(torch.Tensor):
    """A tensor that has another inside, and no memory of its own."""

    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

    def __init__(self, inner):
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        args, kwargs = tree_map_only(cls, lambda x: x.inner, (args, kwargs or {}))
        return function(*args, **kwargs)


def test_a_tensor_without_memory_is_left_to_array_operations():
    table = RotaryTable(inv_freq(8), layout="half_split")
    for length in (5, 6):
        x = torch.tensor(example(length, 8))
        assert torch.equal(rotate(Wrapped(x), table=table), rotate(x, table=table, compiled=False))
    with pytest.raises(ValueError, match="compiled=True needs ordinary tensors in main memory"):
        rotate(Wrapped(x), table=table, compiled=True)
    with pytest.raises(ValueError, match="q has 6 tokens on axis -2, the cosines and sines 5"):
        rotate(Wrapped(x), table=table.cos_sin(0, 5, like=x))


def test_an_out_that_cannot_hold_the_result_is_refused():
    with pytest.raises(ValueError, match="out must have separate memory for each number"):
        rotate(torch.ones(3, 5, 8), table=TABLE, out=torch.ones(5, 8).expand(3, 5, 8))
    closed = np.ones((5, 8))
    closed.flags.writeable = False
    with pytest.raises(ValueError, match="out must be writeable"):
        rotate(np.ones((5, 8)), table=TABLE, out=closed)


def test_many_axes_are_rotated():
    x = example(1, 2, 1, 2, 1, 2, 2, 5, 8)
    np.testing.assert_allclose(
        rotate(x, table=TABLE, compiled=True), rotate(x, table=TABLE, compiled=False), atol=1e-12
    )


@kinds
@pytest.mark.parametrize("shape", [(0, 8), (3, 0, 8), (0, 5, 8)])
def test_where_there_is_no_number_nothing_is_written(make, shape):
    buffer = make(example(8))
    before, none = buffer + 0, buffer[:0].reshape(shape)  # no number, at the place of the first
    assert rotate(none, table=TABLE, offset=3, out=none, compiled=True) is none
    assert (buffer == before).all()


@layouts
def test_held_rows_rotate_many_tokens_alike(layout):
    table = RotaryTable(inv_freq(8), layout=layout)
    for dtype in (torch.float32, torch.bfloat16):
        cos_sin = table.cos_sin(10**6, 1, like=torch.empty(0, dtype=dtype))
        for seed in range(3):
            x = torch.tensor(example(2, 6, 1, 9, seed=seed)).to(dtype)
            expected = rotate(x, table=table, offset=10**6)
            assert rotate_(x, cos_sin, compiled=True) is x
            assert torch.equal(x, expected)


def test_rows_can_be_copied():
    cos_sin = TABLE.cos_sin(7, 2, like=torch.empty(0))
    x = torch.tensor(example(6, 2, 8), dtype=torch.float32)
    for made in (copy.deepcopy(cos_sin), pickle.loads(pickle.dumps(cos_sin))):
        assert torch.equal(rotate(x, table=made), rotate(x, table=cos_sin))


WITHOUT_NUMBA = """
import sys
sys.modules["numba"] = None
import numpy as np
from rope_edu import apply_rope, inv_freq, rope_angles
from rope_edu.fast import RotaryTable, rotate
x, table = np.ones((2, 5, 8)), RotaryTable(inv_freq(8))
assert np.allclose(rotate(x, table=table), apply_rope(x, rope_angles(range(5), inv_freq(8))))
try:
    rotate(x, table=table, compiled=True)
except ValueError as error:
    print(error)
"""


def test_without_numba_array_operations_rotate_and_a_sentence_says_what_to_install():
    assert "needs numba, pip install numba" in run(WITHOUT_NUMBA)


NO_PLACE = """
import numpy as np, numba.core.caching as caching
from rope_edu.fast import RotaryTable, rotate
def refuse(self):
    raise OSError("read-only")
for locator in caching.CacheImpl._locator_classes:
    locator.ensure_cache_path = refuse
"""
DISK_IS_FULL = """
import numpy as np, numba.core.caching as caching
from rope_edu.fast import RotaryTable, rotate
def refuse(self, *_):
    raise OSError("No space left on device")
caching.IndexDataCacheFile.save = refuse
"""
ROTATE = (
    "print(rotate(np.array([[3.0, 4.0]]), table=RotaryTable([np.pi / 2]), offset=1, compiled=True).round(3))"
)


@pytest.mark.sampled
@pytest.mark.parametrize("trouble", [NO_PLACE, DISK_IS_FULL], ids=["no folder", "full disk"])
def test_where_nothing_can_be_kept_on_disk_the_kernel_is_compiled_anew(trouble, tmp_path):
    assert run(trouble + ROTATE, NUMBA_CACHE_DIR=str(tmp_path)) == "[[-4.  3.]]"


def test_the_kernel_is_kept_on_disk(tmp_path):
    code = "import numpy as np; from rope_edu.fast import RotaryTable, rotate;" + ROTATE
    run(code, NUMBA_CACHE_DIR=str(tmp_path))
    kept = {path.name for path in tmp_path.rglob("*.nbc")}
    assert kept
    code += "; from rope_edu.fast.kernels import rotate_rows; print(len(rotate_rows.stats.cache_hits))"
    assert run(code, NUMBA_CACHE_DIR=str(tmp_path)).endswith("\n1")
    assert {path.name for path in tmp_path.rglob("*.nbc")} == kept


def test_importing_the_room_imports_neither_torch_nor_numba():
    code = "import sys, rope_edu.fast; print({'torch', 'numba'} & set(sys.modules))"
    assert run(code) == "set()"


WITHOUT_F16C = """
import numpy as np
from rope_edu import apply_rope, inv_freq, rope_angles
from rope_edu.fast import RotaryTable, rotate
x, table = np.ones((2, 5, 8), np.float16), RotaryTable(inv_freq(8))
assert np.array_equal(rotate(x, table=table), rotate(x, table=table, compiled=False))
try:
    rotate(x, table=table, compiled=True)
except ValueError as error:
    print(error)
"""


@pytest.mark.skipif(platform.machine().lower() not in ("x86_64", "amd64"), reason="F16C belongs to x86-64")
def test_a_processor_without_f16c_rotates_float16_with_array_operations(tmp_path):
    plainest = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": "", "NUMBA_CACHE_DIR": str(tmp_path)}
    assert run(WITHOUT_F16C, **plainest) == "compiled=True needs a processor with F16C to rotate float16"
