"""Measure what rotating costs: python book/tools/bench_rotation.py [--quick].

The results go to rope_edu/results/rotation.json. Everything is a ratio to copying the same numbers, measured in the
same minute: the contestants take turns, one call each, and the medians are compared. Time is processor time of one
thread, so that other work on the machine counts less. Twice over: with the allocator as it is, and with one that
keeps what it has, which takes the cost of getting fresh pages out. `--quick` measures less and writes nothing.
"""

import argparse
import ctypes
import datetime
import functools
import importlib.metadata
import itertools
import json
import math
import platform
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from rotation_peers import Peer, assert_same_turn, installed
from torch.profiler import ProfilerActivity, profile
from tqdm import tqdm

from rope_edu import apply_rope, inv_freq, rope_angles
from rope_edu.fast import RotaryTable, rotate, rotate_
from rope_edu.results.rotation import FORMAT

RESULTS = Path(__file__).resolve().parents[2] / "rope_edu" / "results" / "rotation.json"
HEAD_DIM = 128
HEADS = {512: 32, 4096: 32, 32_768: 8, 131_072: 2}  # fewer where the text is long: 24 GB of memory do
DTYPES = ("float32", "bfloat16")
FAR = 10**6
Calls = dict[str, Callable[[], object]]


def take_turns(calls: Calls, rounds: int, repeat: int = 1) -> dict[str, dict[str, float]]:
    """Time every call `rounds` times, in turn, each `repeat` times in a row; return milliseconds of one."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        call()  # tables are built, kernels compiled, pages touched
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.thread_time()
            for _ in range(repeat):
                call()
            times[name].append((time.thread_time() - start) / repeat * 1e3)
    return {name: {"median": statistics.median(t), "best": min(t)} for name, t in times.items()}


def peak_of_tensors(call: Callable[[], object]) -> int:
    """Return by how many bytes torch's memory grows at most during a call; what the call returns counts."""
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
    """Tell the C library's malloc to give nothing back to the system from now on."""
    libc = ctypes.CDLL(None)
    trim_threshold, mmap_max = -1, -4
    libc.mallopt(mmap_max, 0)
    libc.mallopt(trim_threshold, -1)


def pair_of_tensors(heads: int, length: int, dtype: str, seq_axis: int = -2) -> list[torch.Tensor]:
    """Make q and k, `(1, heads, length, HEAD_DIM)` or with the heads after the sequence."""
    shape = (1, heads, length, HEAD_DIM) if seq_axis == -2 else (1, length, heads, HEAD_DIM)
    return [torch.randn(shape, dtype=getattr(torch, dtype)) for _ in "qk"]


def copies(q: torch.Tensor, k: torch.Tensor, outs: list[torch.Tensor]) -> Calls:
    """Return what everything is compared with."""
    return {
        "copy_": lambda: [out.copy_(x) for out, x in zip(outs, (q, k), strict=True)],
        "clone()": lambda: [q.clone(), k.clone()],
    }


def ours(q: torch.Tensor, k: torch.Tensor, outs: list[torch.Tensor], layout: str, start: int = 0) -> Calls:
    """Return our ways to rotate q and k."""
    table = RotaryTable(inv_freq(HEAD_DIM), layout=layout)
    calls = {
        f"ours, {layout}, in place": lambda: rotate(q, k, table=table, offset=start, out=(q, k)),
        f"ours, {layout}, out=": lambda: rotate(q, k, table=table, offset=start, out=outs),
        f"ours, {layout}": lambda: rotate(q, k, table=table, offset=start),
    }
    for name, out in (("in place", (q, k)), ("out=", outs)):
        calls[f"ours, {layout}, compiled, {name}"] = lambda out=out: rotate(
            q, k, table=table, offset=start, out=out, compiled=True
        )
    calls[f"ours, {layout}, compiled"] = lambda: rotate(q, k, table=table, offset=start, compiled=True)
    return calls


def theirs(peers: list[Peer], length: int, heads: int, dtype: str, start: int = 0) -> Calls:
    """Return each peer's way to rotate q and k of its own."""
    calls = {}
    for peer in peers:
        q, k = pair_of_tensors(heads, length, dtype, peer.seq_axis)
        turn = peer.prepare(length, q.dtype, HEAD_DIM, start)
        calls[peer.name] = lambda turn=turn, q=q, k=k: turn(q, k)
    return calls


def speed(peers: list[Peer], length: int, dtype: str, allocator: str, rounds: int) -> list[dict]:
    """Rotate q and k of one size in all ways."""
    heads = HEADS[length]
    q, k = pair_of_tensors(heads, length, dtype)
    outs = [torch.empty_like(q), torch.empty_like(k)]
    calls = copies(q, k, outs) | ours(q, k, outs, "interleaved") | ours(q, k, outs, "half_split")
    calls |= {"apply_rope, interleaved": lambda: plain(q, k, "interleaved")}
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
        for name, compiled in ((f"ours, {layout}", False), (f"ours, {layout}, compiled", True)):
            turn = functools.partial(rotate, table=table, compiled=compiled)
            calls[name] = both(turn, q, k, grads)
    for peer in peers:
        mine = [x.requires_grad_() for x in pair_of_tensors(heads, length, dtype, peer.seq_axis)]
        upstream = [torch.randn_like(x) for x in mine]
        calls[peer.name] = both(peer.prepare(length, q.dtype, HEAD_DIM, 0), *mine, upstream)
    measured = rows(take_turns(calls, rounds), length=length, heads=heads, dtype=dtype)
    sizes = 2 * q.nbytes
    for row in measured:
        row["peak_memory"] = round(peak_of_tensors(calls[row["name"]]) / sizes, 3)
    return measured


def memory(peers: list[Peer], length: int, dtype: str) -> list[dict]:
    """Weigh the peak of each way to rotate q and k, in units of q and k."""
    heads = HEADS[length]
    q, k = pair_of_tensors(heads, length, dtype)
    outs = [torch.empty_like(q), torch.empty_like(k)]
    calls = ours(q, k, outs, "interleaved") | ours(q, k, outs, "half_split")
    calls |= theirs(peers, length, heads, dtype)
    with torch.no_grad():
        peaks = {name: peak_of_tensors(call) for name, call in calls.items()}
    return [
        {"name": name, "length": length, "dtype": dtype, "peak_memory": round(peak / (2 * q.nbytes), 4)}
        for name, peak in peaks.items()
    ]


def decode(peers: list[Peer], dtype: str, rounds: int) -> list[dict]:
    """Rotate q and k of one token at position 10⁶, in microseconds."""
    q, k = pair_of_tensors(32, 1, dtype)
    outs = [torch.empty_like(q), torch.empty_like(k)]
    packed = torch.randn(1, 64, 1, HEAD_DIM, dtype=q.dtype)
    calls = copies(q, k, outs)
    for layout in ("interleaved", "half_split"):
        table = RotaryTable(inv_freq(HEAD_DIM), layout=layout)
        held, count = table.turns(FAR, 1, like=q), itertools.count()

        def step(out, table=table, count=count, **how):  # a new position at each call: the first layer
            rotate(q, k, table=table, offset=FAR + next(count) % 10_000, out=out, **how)

        def next_layer(table=table, **how):
            rotate(q, k, table=table, offset=FAR, out=(q, k), **how)

        calls |= {
            f"ours, {layout}, out=": lambda step=step: step(outs),
            f"ours, {layout}": lambda step=step: step(None),
        }
        for name, how in ((f"ours, {layout}", {}), (f"ours, {layout}, compiled", {"compiled": True})):
            view_held = functools.partial(rotate, q, k, table=held, out=(q, k), **how)
            calls |= {
                f"{name}, in place": functools.partial(step, (q, k), **how),
                f"{name}, in place, next layer": functools.partial(next_layer, **how),
                f"{name}, in place, view held": view_held,
                f"{name}, in place, view held, q and k packed": functools.partial(
                    rotate_, packed, held, **how
                ),
            }
    pairs, turn = packed.float().view(torch.complex64), held_turn(FAR)
    calls["one complex product of torch"] = lambda: pairs.mul_(turn)
    calls |= theirs(peers, 1, 32, dtype, FAR)
    with torch.no_grad():
        measured = take_turns(calls, rounds, repeat=200)
    return [
        {
            "name": name,
            "dtype": dtype,
            "microseconds": round(1e3 * t["median"], 2),
            "best": round(1e3 * t["best"], 2),
        }
        for name, t in measured.items()
    ]


def held_turn(position: int) -> torch.Tensor:
    """Return the turns of one position, complex64."""
    return RotaryTable(inv_freq(HEAD_DIM)).turns(position, 1, like=torch.empty(0)).turn


def numpy_arrays(length: int, rounds: int) -> list[dict]:
    """Rotate NumPy arrays, against np.copyto."""
    heads = HEADS[length]
    x = np.random.default_rng(0).normal(size=(1, heads, length, HEAD_DIM)).astype(np.float32)
    out = np.empty_like(x)
    calls = {"np.copyto": lambda: np.copyto(out, x), "np.negative, out=": lambda: np.negative(x, out=out)}
    for layout in ("interleaved", "half_split"):
        table = RotaryTable(inv_freq(HEAD_DIM), layout=layout)
        for how, compiled in ((f"ours, {layout}", False), (f"ours, {layout}, compiled", True)):
            for where, place in (("in place", x), ("out=", out)):
                calls[f"{how}, {where}"] = functools.partial(
                    rotate, x, table=table, out=place, compiled=compiled
                )
    measured = take_turns(calls, rounds)
    return rows(measured, unit="np.copyto", length=length, heads=heads, dtype="float32")


def building(length: int, rounds: int) -> list[dict]:
    """Build tables anew: ours, and the usual one in float32."""

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
        "ours, interleaved": lambda: RotaryTable(frequencies).turns(0, length, like=like),
        "ours, half_split": lambda: RotaryTable(frequencies, layout="half_split").turns(0, length, like=like),
    }
    measured = take_turns(calls, rounds)
    return rows(measured, unit="float32, as wide as a head", length=length)


def angles_of_pairs(length: int) -> torch.Tensor:
    """Compute angles in float32, as is usual."""
    frequencies = 1.0 / (10_000.0 ** (torch.arange(0, HEAD_DIM, 2).float() / HEAD_DIM))
    return torch.outer(torch.arange(length).float(), frequencies)


def precision(peers: list[Peer]) -> list[dict]:
    """Find the largest angle error of all pairs among the 8 positions before each of some, against float64.

    What is rotated is (1, 0) in each pair, so that the result tells the angle. Peers are modules in a model that
    was moved to the dtype; a dtype's own rounding of cos and sin is in the error.
    """
    found = []
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        for position in (64, 512, 4096, 32_768, 131_072, 2**20):
            start = position - 8
            exact = rope_angles(torch.arange(start, position), inv_freq(HEAD_DIM))
            pipelines = [Peer("ours", "torch", "interleaved", -2, ours_in_a_model, ours_in_a_model), *peers]
            for peer in pipelines:
                turned = turned_ones(peer, dtype, start, 8)
                angle = torch.atan2(turned[..., 1], turned[..., 0]) - exact
                error = torch.remainder(angle + math.pi, 2 * math.pi) - math.pi
                worst = error.abs().max().item()  # no number where an angle was infinite
                row = {"name": peer.name, "dtype": str(dtype).removeprefix("torch."), "position": position}
                found.append(row | {"error": float(f"{worst:.3g}") if math.isfinite(worst) else None})
    return found


def ours_in_a_model(length: int, dtype: torch.dtype, head_dim: int, start: int) -> Callable:
    """Return our rotation, which module.to does not reach."""
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


def rows(measured: dict[str, dict[str, float]], unit: str = "copy_", **what: object) -> list[dict]:
    """Turn times into rows with ratios."""
    return [
        {
            "name": name,
            **what,
            "milliseconds": float(f"{t['median']:.4g}"),
            "ratio": float(f"{t['median'] / measured[unit]['median']:.3g}"),
            "ratio_of_best": float(f"{t['best'] / measured[unit]['best']:.3g}"),
        }
        for name, t in measured.items()
    ]


def machine() -> dict[str, str]:
    """Say where and with what this was measured."""
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        cpu = next(
            (ln.split(":")[1].strip() for ln in info.read_text().splitlines() if "model name" in ln), cpu
        )
    versions = {"python": platform.python_version()}
    for name in ("numpy", "torch", "transformers", "rotary-embedding-torch", "x-transformers", "torchtune"):
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


def write(content: dict) -> None:
    """Write the results, a row to a line."""
    parts = []
    for name, value in content.items():
        is_table = isinstance(value, list) and value and isinstance(value[0], dict)
        lines = ",\n  ".join(json.dumps(row, ensure_ascii=False) for row in value) if is_table else ""
        text = f"[\n  {lines}\n ]" if is_table else json.dumps(value, ensure_ascii=False)
        parts.append(f" {json.dumps(name)}: {text}")
    RESULTS.write_text("{\n" + ",\n".join(parts) + "\n}\n")
    print(f"Written: {RESULTS}")


def plan(peers: list[Peer], quick: bool) -> list[tuple[str, Callable[[], list[dict]]]]:
    """List the sections' parts in the order in which they run; the allocator is changed half-way, for good."""
    lengths, rounds = ([512, 4096], 5) if quick else (list(HEADS), 7)
    sizes = [(length, dtype) for length in lengths for dtype in DTYPES]

    def speeds(allocator: str) -> list[tuple[str, Callable[[], list[dict]]]]:
        few = {s: rounds if s <= 4096 else max(3, rounds // 2) for s in lengths}
        return [("speed", lambda s=s, d=d: speed(peers, s, d, allocator, few[s])) for s, d in sizes]

    return [
        ("decode", lambda: decode(peers, "float32", 4 * rounds)),
        ("decode", lambda: decode(peers, "bfloat16", 4 * rounds)),
        *speeds("as it is"),
        *[("backward", lambda s=s: backward(peers, s, "float32", rounds)) for s in lengths[1:2]],
        *[("memory", lambda s=s, d=d: memory(peers, s, d)) for s, d in sizes if s == 4096],
        *[("numpy", lambda s=s: numpy_arrays(s, rounds)) for s in lengths],
        *[("building", lambda s=s: building(s, 2 * rounds)) for s in lengths if s < 100_000],
        ("precision", lambda: precision(peers)),
        ("keep", lambda: keep_memory() or []),
        *speeds("keeps its memory"),
    ]


def main(quick: bool) -> None:
    """Measure everything and write it down."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    peers, sentences = installed()
    print(*sentences, sep="\n")
    for peer in peers:
        assert_same_turn(peer, start=100)
    results: dict[str, list[dict]] = {}
    for name, measure in tqdm(plan(peers, quick), unit="part"):
        table = measure()
        if table:
            results.setdefault(name, []).extend(table)
            show(name, table)
    if not quick:
        write(
            {"format": FORMAT, "machine": machine(), "head_dim": HEAD_DIM, "left_out": sentences, **results}
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer sizes and rounds; writes nothing")
    main(parser.parse_args().quick)
