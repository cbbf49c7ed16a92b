"""Measure the cost of rotating: PYTHONPATH=book python -m makers.rotation [--quick].

The results go to book/rope_book/results/rotation.json, after five minutes on a quiet machine. Everything is a
ratio to the time for copying the same numbers: implementations take turns, one call each; each round gives a
ratio, and the median ratio counts. Time is one thread's processor time, so that other work on the machine
matters less. Everything is measured twice: with the default allocator, and with one that keeps its memory,
which excludes the cost of fresh pages. Results are written part by part, so that an interrupted run resumes
where it stopped. `--quick` measures less.
"""

import argparse
import ctypes
import datetime
import functools
import importlib
import importlib.metadata
import itertools
import json
import math
import platform
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch.profiler import ProfilerActivity, profile
from tqdm import tqdm

from makers.rotation_peers import Peer, assert_same_turn, installed
from rope_book.results.rotation import FORMAT
from rope_edu import apply_rope, inv_freq, rope_angles
from rope_edu.encodings import LAYOUTS
from rope_edu.fast import RotaryTable, rotate, rotate_

RESULTS = Path(__file__).resolve().parents[2] / "book" / "rope_book" / "results" / "rotation.json"
HEAD_DIM = 128
HEADS = {512: 8, 4096: 32, 32_768: 8}  # fits the cache; a usual text; a long one, where the table matters
DTYPES = ("float32", "bfloat16")
LIBRARIES = (
    "numpy",
    "numba",
    "torch",
    "transformers",
    "rotary-embedding-torch",
    "x-transformers",
    "torchtune",
)
LIBRARIES += ("onnxruntime",)
FAR = 10**6
SECONDS, FEWEST = 8.0, 3  # no new round after so many seconds, if at least this many are done
Calls = dict[str, Callable[[], object]]


def take_turns(calls: Calls, rounds: int, repeat: int = 1) -> dict[str, np.ndarray]:
    """Time every call in up to `rounds` rounds, `repeat` times in a row each; return milliseconds per call."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        call()  # builds tables, compiles kernels, touches pages
    stop = time.monotonic() + SECONDS
    for done in range(rounds):
        if done >= FEWEST and time.monotonic() > stop:
            break
        for name, call in calls.items():
            start = time.thread_time()
            for _ in range(repeat):
                call()
            times[name].append((time.thread_time() - start) / repeat * 1e3)
    return {name: np.array(t) for name, t in times.items()}


def peak_of_tensors(call: Callable[[], object]) -> int:
    """Return the peak growth of torch's memory during a call in bytes, including the call's result."""
    call()
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as watched:
        result = call()
    del result
    with tempfile.TemporaryDirectory() as folder:
        watched.export_chrome_trace(f"{folder}/trace.json")
        events = json.loads(Path(folder, "trace.json").read_text())["traceEvents"]
    now = peak = 0
    for event in sorted((e for e in events if e.get("name") == "[memory]"), key=lambda e: e["ts"]):
        now += event["args"]["Bytes"]
        peak = max(peak, now)
    return peak


def keep_memory() -> None:
    """Keep the C library's malloc from returning memory to the system from now on."""
    libc = ctypes.CDLL(None)
    trim_threshold, mmap_max = -1, -4
    libc.mallopt(mmap_max, 0)
    libc.mallopt(trim_threshold, -1)


def pair_of_tensors(heads: int, length: int, dtype: str, seq_axis: int = -2) -> list[torch.Tensor]:
    """Make q and k, `(1, heads, length, HEAD_DIM)` or with the heads after the sequence."""
    shape = (1, heads, length, HEAD_DIM) if seq_axis == -2 else (1, length, heads, HEAD_DIM)
    return [torch.randn(shape, dtype=getattr(torch, dtype)) for _ in "qk"]


def copies(q: torch.Tensor, k: torch.Tensor, outs: list[torch.Tensor]) -> Calls:
    """Return the copying calls with which everything is compared."""
    return {
        "copy_": lambda: [out.copy_(x) for out, x in zip(outs, (q, k), strict=True)],
        "clone()": lambda: [q.clone(), k.clone()],
    }


def ours(q: torch.Tensor, k: torch.Tensor, outs: list[torch.Tensor], layout: str, start: int = 0) -> Calls:
    """Return our calls that rotate q and k."""
    table = RotaryTable(inv_freq(HEAD_DIM), layout=layout)
    turn = functools.partial(rotate, q, k, table=table, offset=start)
    return {
        f"ours, {layout}, in place": lambda: turn(out=(q, k)),
        f"ours, {layout}, out=": lambda: turn(out=outs),
        f"ours, {layout}": turn,
        f"ours, {layout}, no numba, out=": lambda: turn(out=outs, compiled=False),
        f"ours, {layout}, no numba": lambda: turn(compiled=False),
    }


def theirs(peers: list[Peer], length: int, heads: int, dtype: str, start: int = 0) -> Calls:
    """Return each peer's call that rotates its own q and k."""
    calls = {}
    for peer in peers:
        q, k = pair_of_tensors(heads, length, dtype, peer.seq_axis)
        try:
            turn = peer.prepare(length, q.dtype, HEAD_DIM, start)
        except NotImplementedError:  # it does not support this dtype
            continue
        calls[peer.name] = lambda turn=turn, q=q, k=k: turn(q, k)
    return calls


def speed(peers: list[Peer], length: int, dtype: str, allocator: str, rounds: int) -> list[dict]:
    """Time every implementation on q and k of one size."""
    heads = HEADS[length]
    q, k = pair_of_tensors(heads, length, dtype)
    outs = [torch.empty_like(q), torch.empty_like(k)]
    calls = copies(q, k, outs) | ours(q, k, outs, LAYOUTS[0]) | ours(q, k, outs, LAYOUTS[1])
    for layout in LAYOUTS:
        calls[f"apply_rope, {layout}"] = functools.partial(plain, q, k, layout)
    calls |= theirs(peers, length, heads, dtype)
    with torch.no_grad():
        measured = take_turns(calls, rounds, repeat=max(1, 2**19 // (heads * length * HEAD_DIM)))
    return rows(measured, length=length, heads=heads, dtype=dtype, allocator=allocator)


def plain(q: torch.Tensor, k: torch.Tensor, layout: str) -> list[torch.Tensor]:
    """Rotate with the library's plain form, angles included."""
    angles = rope_angles(torch.arange(q.shape[-2]), inv_freq(HEAD_DIM))
    return [apply_rope(x, angles, layout=layout) for x in (q, k)]


def backward(peers: list[Peer], length: int, dtype: str, rounds: int) -> list[dict]:
    """Rotate q and k and take the gradient back to them."""
    heads = HEADS[length]
    q, k = (x.requires_grad_() for x in pair_of_tensors(heads, length, dtype))
    grads = [torch.randn_like(q), torch.randn_like(k)]

    def both(turn: Callable, q: torch.Tensor, k: torch.Tensor, grads: list[torch.Tensor]) -> Callable:
        return lambda: torch.autograd.grad(turn(q, k), (q, k), grads)

    calls = {"copy_": lambda: [out.copy_(x.detach()) for out, x in zip(grads, (q, k), strict=True)]}
    for layout in ("interleaved", "half_split"):
        table = RotaryTable(inv_freq(HEAD_DIM), layout=layout)
        calls[f"ours, {layout}"] = both(functools.partial(rotate, table=table), q, k, grads)
    for peer in peers:
        if peer.name == "onnxruntime":  # does not support gradients
            continue
        mine = [x.requires_grad_() for x in pair_of_tensors(heads, length, dtype, peer.seq_axis)]
        upstream = [torch.randn_like(x) for x in mine]
        calls[peer.name] = both(peer.prepare(length, q.dtype, HEAD_DIM, 0), *mine, upstream)
    measured = rows(take_turns(calls, rounds), length=length, heads=heads, dtype=dtype)
    sizes = 2 * q.nbytes
    for row in measured:
        row["peak_memory"] = round(peak_of_tensors(calls[row["name"]]) / sizes, 3)
    return measured


def memory(peers: list[Peer], length: int, dtype: str) -> list[dict]:
    """Measure each implementation's peak memory while rotating q and k, in units of their size."""
    heads = HEADS[length]
    q, k = pair_of_tensors(heads, length, dtype)
    outs = [torch.empty_like(q), torch.empty_like(k)]
    calls = ours(q, k, outs, LAYOUTS[0]) | ours(q, k, outs, LAYOUTS[1])
    calls |= theirs(peers, length, heads, dtype)
    with torch.no_grad():
        peaks = {name: peak_of_tensors(call) for name, call in calls.items()}
    return [
        {"name": name, "length": length, "dtype": dtype, "peak_memory": round(peak / (2 * q.nbytes), 4)}
        for name, peak in peaks.items()
    ]


def door(length: int, dtype: str, rounds: int) -> list[dict]:
    """Rotate q and k of 32 heads into new memory, the obvious first attempt, against eager transformers.

    Its function gets precomputed cosines and sines, as our `rotate` has them in its table; its module computes
    them, as our `apply_rope` does from angles.
    """
    q, k = pair_of_tensors(32, length, dtype)
    positions = torch.arange(length)
    angles, module = rope_angles(positions, inv_freq(HEAD_DIM)), llama_module(length)
    cos, sin = module(q, positions[None])
    calls: Calls = {
        "transformers, function": lambda: llama().apply_rotary_pos_emb(q, k, cos, sin),
        "transformers, module and function": lambda: llama().apply_rotary_pos_emb(
            q, k, *module(q, positions[None])
        ),
    }
    for layout in LAYOUTS:
        turns = RotaryTable(inv_freq(HEAD_DIM), layout=layout)
        calls[f"rotate, {layout}"] = functools.partial(rotate, q, k, table=turns)
        calls[f"apply_rope, {layout}"] = lambda layout=layout: [
            apply_rope(x, angles, layout=layout) for x in (q, k)
        ]
    with torch.no_grad():
        measured = take_turns(calls, rounds, repeat=max(1, 100 // length))
    table = []
    for name, times in measured.items():
        unit = "transformers, function" if name.startswith("rotate") else "transformers, module and function"
        ratio = float(f"{np.median(times / measured[unit]):.3g}")
        row = {"name": name, "length": length, "dtype": dtype, "against": unit, "ratio": ratio}
        table.append(row | {"microseconds": float(f"{1e3 * np.median(times):.4g}")})
    return table


def llama():
    """Import transformers' Llama."""
    return importlib.import_module("transformers.models.llama.modeling_llama")


def llama_module(length: int) -> torch.nn.Module:
    """Make Llama's rotary module for heads like ours."""
    config = importlib.import_module("transformers").LlamaConfig(
        hidden_size=32 * HEAD_DIM, num_attention_heads=32, head_dim=HEAD_DIM, max_position_embeddings=length
    )
    return llama().LlamaRotaryEmbedding(config=config)


def decode(peers: list[Peer], dtype: str, rounds: int) -> list[dict]:
    """Rotate q and k of one token at position 10⁶, in microseconds, and as a ratio to one product of torch."""
    q, k = pair_of_tensors(32, 1, dtype)
    packed, other = torch.randn(2, 1, 64, 1, HEAD_DIM).to(q.dtype).unbind()
    place, places = torch.empty_like(packed), (torch.empty_like(q), torch.empty_like(k))
    calls: Calls = {"torch.mul, out=": lambda: torch.mul(packed, other, out=place)}
    for layout in LAYOUTS:
        table = RotaryTable(inv_freq(HEAD_DIM), layout=layout)
        held, count = table.cos_sin(FAR, 1, like=q), itertools.count()

        def step(*xs, table=table, count=count, **how):  # a new position at every call, as in the first layer
            rotate(*xs, table=table, offset=FAR + next(count) % 10_000, **how)

        calls |= {
            f"ours, {layout}, new": functools.partial(step, q, k),
            f"ours, {layout}, out=": functools.partial(step, q, k, out=places),
            f"ours, {layout}, in place": functools.partial(step, q, k, out=(q, k)),
            f"ours, {layout}, in place, packed": functools.partial(step, packed, out=packed),
            f"ours, {layout}, in place, packed, turns held": functools.partial(rotate_, packed, held),
        }
    calls |= theirs(peers, 1, 32, dtype, FAR)
    with torch.no_grad():
        measured = take_turns(calls, rounds, repeat=100)
    unit = measured["torch.mul, out="]
    return [
        {
            "name": name,
            "dtype": dtype,
            "microseconds": round(1e3 * float(np.median(times)), 2),
            "ratio": float(f"{np.median(times / unit):.3g}"),
        }
        for name, times in measured.items()
    ]


def numpy_arrays(length: int, rounds: int) -> list[dict]:
    """Rotate NumPy arrays, against np.copyto."""
    heads = HEADS[length]
    x = np.random.default_rng(0).normal(size=(1, heads, length, HEAD_DIM)).astype(np.float32)
    out = np.empty_like(x)
    calls = {"np.copyto": lambda: np.copyto(out, x), "np.negative, out=": lambda: np.negative(x, out=out)}
    for layout in ("interleaved", "half_split"):
        table = RotaryTable(inv_freq(HEAD_DIM), layout=layout)
        for where, place in (("in place", x), ("out=", out)):
            turn = functools.partial(rotate, x, table=table, out=place)
            calls[f"ours, {layout}, {where}"] = turn
            calls[f"ours, {layout}, no numba, {where}"] = functools.partial(turn, compiled=False)
    measured = take_turns(calls, rounds)
    return rows(measured, unit="np.copyto", length=length, heads=heads, dtype="float32")


def building(length: int, rounds: int) -> list[dict]:
    """Time building tables: ours, and the usual one in float32."""

    def usual() -> tuple[torch.Tensor, torch.Tensor]:
        angles = torch.cat([angles_of_pairs(length)] * 2, dim=-1)
        return angles.cos(), angles.sin()

    def half_as_wide() -> tuple[torch.Tensor, torch.Tensor]:
        angles = angles_of_pairs(length)
        return angles.cos(), angles.sin()

    frequencies, like = inv_freq(HEAD_DIM), torch.empty(0)
    calls = {
        "float32, as wide as a head": usual,
        "float32, half as wide": half_as_wide,
        "ours, interleaved": lambda: RotaryTable(frequencies).cos_sin(0, length, like=like),
        "ours, half_split": lambda: RotaryTable(frequencies, layout="half_split").cos_sin(
            0, length, like=like
        ),
    }
    measured = take_turns(calls, rounds)
    return rows(measured, unit="float32, as wide as a head", length=length)


def angles_of_pairs(length: int) -> torch.Tensor:
    """Compute angles in the usual way, in float32."""
    frequencies = 1.0 / (10_000.0 ** (torch.arange(0, HEAD_DIM, 2).float() / HEAD_DIM))
    return torch.outer(torch.arange(length).float(), frequencies)


def precision(peers: list[Peer]) -> list[dict]:
    """Find the largest angle error of all pairs over the 8 positions before each of several, against float64.

    The input is (1, 0) in every pair, so that the result gives the angle. Peers are modules in a model that was
    moved to the dtype; the error includes the dtype's rounding of cos and sin.
    """
    table = []
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        for position in (64, 512, 4096, 32_768, 131_072, 2**20):
            start = position - 8
            exact = rope_angles(torch.arange(start, position), inv_freq(HEAD_DIM))
            pipelines = [Peer("ours", "torch", "interleaved", -2, ours_in_a_model, ours_in_a_model)]
            pipelines += [peer for peer in peers if peer.in_a_model]
            for peer in pipelines:
                turned = turned_ones(peer, dtype, start, 8)
                angle = torch.atan2(turned[..., 1], turned[..., 0]) - exact
                error = torch.remainder(angle + math.pi, 2 * math.pi) - math.pi
                worst = error.abs().max().item()  # NaN if an angle was infinite
                row = {"name": peer.name, "dtype": str(dtype).removeprefix("torch."), "position": position}
                table.append(row | {"error": float(f"{worst:.3g}") if math.isfinite(worst) else None})
    return table


def ours_in_a_model(length: int, dtype: torch.dtype, head_dim: int, start: int) -> Callable:
    """Return our rotation, which module.to does not affect."""
    table = RotaryTable(inv_freq(head_dim))
    return lambda q, k: rotate(q, k, table=table, offset=start)


def turned_ones(peer: Peer, dtype: torch.dtype, start: int, length: int) -> torch.Tensor:
    """Rotate (1, 0) in every pair; return `(length, pairs, 2)` in float64."""
    half = HEAD_DIM // 2
    first = range(0, HEAD_DIM, 2) if peer.layout == "interleaved" else range(half)
    x = torch.zeros(1, 1, length, HEAD_DIM, dtype=dtype)
    x[..., list(first)] = 1
    x = x if peer.seq_axis == -2 else x.transpose(1, 2)
    with torch.no_grad():
        turned, _ = peer.in_a_model(length, dtype, HEAD_DIM, start)(x, x)
    turned = turned.double().reshape(length, HEAD_DIM)
    shape = (length, half, 2) if peer.layout == "interleaved" else (length, 2, half)
    return turned.reshape(shape) if peer.layout == "interleaved" else turned.reshape(shape).mT


def rows(measured: dict[str, np.ndarray], unit: str = "copy_", **what: object) -> list[dict]:
    """Turn times into rows with the median of the rounds' ratios."""
    table = []
    for name, times in measured.items():
        ratio = np.median(times / measured[unit])
        row = {"milliseconds": float(f"{np.median(times):.4g}"), "ratio": float(f"{ratio:.3g}")}
        table.append({"name": name, **what, **row})
    return table


def machine() -> dict[str, str]:
    """Return the machine and the versions used for this measurement."""
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        cpu = next(
            (ln.split(":")[1].strip() for ln in info.read_text().splitlines() if "model name" in ln), cpu
        )
    versions = {"python": platform.python_version()}
    for name in LIBRARIES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    return {
        "cpu": cpu,
        "threads": 1,
        "clock": "processor time of the thread",
        "date": today,
        "versions": versions,
    }


def show(name: str, table: list[dict]) -> None:
    """Print a section's rows."""
    tqdm.write(f"\n{name}")
    for row in table:
        figures = [f"{value:>10}" if isinstance(value, (int, float)) else value for value in row.values()][1:]
        tqdm.write(f"    {row['name']:52} " + "  ".join(map(str, figures)))


def write(content: dict, path: Path) -> None:
    """Write the results, one row per line."""
    parts = []
    for name, value in content.items():
        is_table = isinstance(value, list) and value and isinstance(value[0], dict)
        lines = ",\n  ".join(json.dumps(row, ensure_ascii=False) for row in value) if is_table else ""
        text = f"[\n  {lines}\n ]" if is_table else json.dumps(value, ensure_ascii=False)
        parts.append(f" {json.dumps(name)}: {text}")
    path.write_text("{\n" + ",\n".join(parts) + "\n}\n")
    print(f"Written: {path}")


def plan(peers: list[Peer], quick: bool) -> list[tuple[str, Callable[[], list[dict]]]]:
    """List the parts of the sections in order; the allocator is changed permanently halfway."""
    lengths, rounds = ([512, 4096], 2) if quick else (list(HEADS), 9)
    sizes = [(length, dtype) for length in lengths for dtype in DTYPES]
    doors = [(n, dtype) for n in (1, 512, 4096) for dtype in (*DTYPES, "float16")]

    def speeds(allocator: str) -> list[tuple[str, Callable[[], list[dict]]]]:
        few = {s: 4 * rounds if s < 4096 else rounds if s == 4096 else max(3, rounds // 2) for s in lengths}
        return [("speed", lambda s=s, d=d: speed(peers, s, d, allocator, few[s])) for s, d in sizes]

    return [
        *[("decode", lambda d=d: decode(peers, d, 4 * rounds)) for d in DTYPES],
        *[("door", lambda n=n, d=d: door(n, d, rounds * (6 if n < 4096 else 1))) for n, d in doors],
        *speeds("as it is"),
        *[("backward", lambda s=s: backward(peers, s, "float32", rounds)) for s in lengths[1:2]],
        *[("memory", lambda s=s, d=d: memory(peers, s, d)) for s, d in sizes if s == 4096],
        *[("numpy", lambda s=s: numpy_arrays(s, rounds)) for s in lengths],
        *[("building", lambda s=s: building(s, 2 * rounds)) for s in lengths],
        ("precision", lambda: precision(peers)),
        ("keep", lambda: keep_memory() or []),
        *speeds("keeps its memory"),
    ]


def main(quick: bool, path: Path | None) -> None:
    """Measure everything and write it down."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    peers, sentences = installed()
    print(*sentences, sep="\n")
    for peer in peers:
        assert_same_turn(peer, start=100)
    head = {"format": FORMAT, "machine": machine(), "head_dim": HEAD_DIM, "left_out": sentences}
    results: dict[str, list[dict]] = {}
    made_by = head | {"quick": quick}
    tables = measured_before(path, made_by)
    for number, (name, measure) in enumerate(tqdm(plan(peers, quick), unit="part")):
        if number >= len(tables):
            tables.append(measure())
            if path:
                partial(path).write_text(json.dumps({"made_by": made_by, "tables": tables}))
        elif name == "keep":  # only sets the allocator, in every run
            measure()
        if tables[number]:
            results.setdefault(name, []).extend(tables[number])
            show(name, tables[number])
    if path:
        write(head | results, path)
        partial(path).unlink()


def partial(path: Path) -> Path:
    """Return the file with the parts that a run has measured so far."""
    return path.with_suffix(".partial.json")


def measured_before(path: Path | None, made_by: dict) -> list[list[dict]]:
    """Return the parts left by a run of the same day, machine and versions, in the plan's order."""
    if path is None or not partial(path).exists():
        return []
    left = json.loads(partial(path).read_text())
    return left["tables"] if left["made_by"] == made_by else []


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer sizes and rounds")
    parser.add_argument(
        "--results", type=Path, help="where to write; default: the library's file, for --quick none"
    )
    options = parser.parse_args()
    main(options.quick, options.results or (None if options.quick else RESULTS))
