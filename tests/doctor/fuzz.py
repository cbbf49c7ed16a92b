"""Give broken files and odd functions to the command: `python tests/doctor/fuzz.py [COUNT] [--seed 7]`.

Each of COUNT cases (5,000) is a broken config.json, GGUF or safetensors file, or a function that returns
something odd. It passes if the command prints words and returns 0, 1 or 2: no exception, no more than five CPU
seconds, and no more than 300 MB in all. A failure is printed with the seed and the number that make it again.
"""

import argparse
import collections
import contextlib
import copy
import io
import itertools
import json
import os
import random
import re
import struct
import sys
import tempfile
import time
import traceback
import types
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from rope_doctor.__main__ import main as command
from rope_doctor.config import PRESETS

SLOWEST, LARGEST = 5.0, 300  # CPU seconds per case, which a busy machine does not change; MB in all
ODD = [
    None,
    True,
    False,
    0,
    -1,
    1,
    2,
    3,
    0.5,
    1e308,
    -1e-308,
    2**63,
    10**400,
    "",
    "yarn",
    "x" * 5000,
    [],
    {},
    [[]],
    [None],
]
ODD += [
    {"a": {"b": []}},
    [1e9] * 300,
    "\ud800",
    "NaN",
    {"rope_type": "yarn"},
    [0, 0, 0],
    {"full_attention": {}},
]
NUMBERS = [0, 1, 7, 8, 9, 12, 13, 127, 128, 255, 2**16, 2**31, 2**32 - 1, 2**62, 2**63, 2**64 - 1]


def broken_bytes(content: bytes, draw: random.Random) -> bytes:
    """Cut, flip, repeat or overwrite some bytes."""
    found = bytearray(content)
    for _ in range(draw.choice((1, 1, 2, 5, 30))):
        at = draw.randrange(len(found) or 1)
        if draw.random() < 0.5:
            at = draw.randrange(min(len(found), 2000) or 1)
        kind = draw.randrange(5)
        if kind == 0:
            del found[at:]
        elif kind == 1:
            found[at : at + 1] = bytes([draw.randrange(256)])
        elif kind == 2:
            found[at : at + 8] = struct.pack("<Q", draw.choice(NUMBERS))
        elif kind == 3:
            found[at : at + 4] = struct.pack("<I", draw.choice(NUMBERS) % 2**32)
        else:
            found[at:at] = found[at : at + draw.choice((1, 8, 100))] * draw.choice((1, 50))
    return bytes(found)


def broken_json(config: object, draw: random.Random) -> object:
    """Put something odd in the place of one or more fields, at any depth."""
    found = json.loads(json.dumps(config))
    for _ in range(draw.choice((1, 1, 2, 4))):
        place = found
        while isinstance(place, dict) and place:
            key = draw.choice(list(place))
            if isinstance(place[key], dict) and draw.random() < 0.7:
                place = place[key]
                continue
            where = draw.choice([key, key, key, "rope_scaling", "text_config", "layer_types"])
            place[where] = copy.deepcopy(draw.choice(ODD))
            break
    return draw.choice(ODD) if draw.random() < 0.02 else found


def a_config(draw: random.Random) -> bytes:
    """A broken config.json."""
    config = draw.choice(PRESETS).config
    if draw.random() < 0.7:
        return json.dumps(broken_json(config, draw)).encode(errors="surrogatepass")
    if draw.random() < 0.05:
        return b"[" * draw.choice((100, 100_000))
    return broken_bytes(json.dumps(config).encode(), draw)


def text(words: str) -> bytes:
    """A text as a GGUF has it."""
    return struct.pack("<Q", len(words.encode())) + words.encode()


def whole_gguf(draw: random.Random) -> bytes:
    """A small GGUF of a model that slides, stretches or neither, with rows of q and k."""
    arch = draw.choice(("llama", "gemma3", "deepseek2", "qwen2vl", "phi3", "cohere2", "mamba", "new"))
    keys = [text("general.architecture") + struct.pack("<I", 8) + text(arch)]
    whole = {
        "context_length": 8192,
        "attention.key_length": 8,
        "rope.dimension_count": 8,
        "attention.sliding_window": 16,
    }
    keys += [text(f"{arch}.{name}") + struct.pack("<II", 4, value) for name, value in whole.items()]
    real = {"rope.freq_base": 1e4, "rope.scaling.factor": 4.0}
    keys += [text(f"{arch}.{name}") + struct.pack("<If", 6, value) for name, value in real.items()]
    sort = draw.choice(("yarn", "linear", "none", "longrope"))
    keys.append(text(f"{arch}.rope.scaling.type") + struct.pack("<I", 8) + text(sort))
    words = b"".join(map(text, ("a", "bc", "def")))
    keys.append(text("tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, 3) + words)
    rows = {"rope_freqs.weight": (4,), "blk.0.attn_q.weight": (4, 16), "blk.0.attn_k.weight": (4, 8)}
    places, data = b"", b""
    for name, shape in rows.items():
        places += text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, 0, len(data))
        data += np.ones(int(np.prod(shape)), "<f4").tobytes()
    head = b"GGUF" + struct.pack("<IQQ", 3, len(rows), len(keys)) + b"".join(keys) + places
    return head + bytes(-len(head) % 32) + data


def whole_safetensors() -> bytes:
    """A safetensors file with rows of q and k."""
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, rows in (("q", 16), ("k", 8)):
        for kind, shape in (("weight", [rows, 4]), ("bias", [rows])):
            content = np.arange(int(np.prod(shape)), dtype="<f4").tobytes()
            place = [len(data), len(data) + len(content)]
            header[f"model.layers.0.self_attn.{name}_proj.{kind}"] = {
                "dtype": "F32",
                "shape": shape,
                "data_offsets": place,
            }
            data += content
    written = json.dumps(header).encode()
    return struct.pack("<Q", len(written)) + written + data


def a_safetensors(draw: random.Random) -> bytes:
    """A broken safetensors file: its bytes, or a field of its header."""
    content = whole_safetensors()
    if draw.random() < 0.4:
        return broken_bytes(content, draw)
    length = int.from_bytes(content[:8], "little")
    header = json.dumps(broken_json(json.loads(content[8 : 8 + length]), draw)).encode(errors="surrogatepass")
    return struct.pack("<Q", len(header)) + header + content[8 + length :]


def results(x: np.ndarray) -> list[Callable[[], object]]:
    """Results of a function that is no rotation."""
    shape = x.shape
    return [
        lambda: x,
        lambda: None,
        lambda: "rotated",
        lambda: x.astype(object),
        lambda: x.tolist(),
        lambda: [x.tolist(), 1],
        lambda: np.full(shape, np.nan),
        lambda: np.full(shape, np.inf),
        lambda: x * 1e308 * 10,
        lambda: x[..., :0],
        lambda: x[None] * np.ones((3,) + (1,) * x.ndim),
        lambda: x + 1j,
        lambda: np.array("text"),
        lambda: np.ma.masked_all(shape),
        lambda: x.astype("float16"),
        lambda: x > 0,
        lambda: np.zeros(shape, "datetime64[s]"),
        lambda: (x, x),
        lambda: {"x": x},
        lambda: (value for value in x),
        lambda: np.random.default_rng().normal(size=shape),
        lambda: 1 / 0,
        lambda: [].pop(),
        lambda: (_ for _ in ()).throw(RecursionError("deep")),
        lambda: (_ for _ in ()).throw(MemoryError("none left")),
        lambda: sys.exit(3),
        lambda: x.__setitem__(Ellipsis, 0) or x,
        lambda: np.lib.stride_tricks.as_strided(x, shape, (0,) * x.ndim),
        lambda: type("Odd", (), {"__array__": lambda self, *a, **k: 1 / 0})(),
    ]


def odd_module(draw: random.Random) -> None:
    """Make the module `odd`, whose function returns one odd thing, or another at each call."""
    always, number = draw.random() < 0.7, draw.randrange(29)
    module = types.ModuleType("odd")

    def rotate(x: np.ndarray, positions: object, **asked: object) -> object:
        made = results(np.asarray(x))
        return made[number if always else draw.randrange(len(made))]()

    module.rotate = rotate
    sys.modules["odd"] = module


def cases(seed: int) -> Iterator[tuple[int, list[str]]]:
    """Write broken files into the current folder, and yield the number of a case and its command line."""
    Path("good.json").write_text(json.dumps(PRESETS[0].config))
    Path("good.safetensors").write_bytes(whole_safetensors())
    for number in itertools.count():
        draw = random.Random(f"{seed} {number}")
        kind = draw.choice(("config", "gguf", "safetensors", "function"))
        tail = ["--json"] if draw.random() < 0.3 else []
        if kind == "function":
            odd_module(draw)
            width = ["--head-dim", str(draw.choice((2, 8, 64)))]
            against = draw.choice(([], ["--base", "10000"], ["--takes", "batch heads seq head_dim"]))
            diagnosed = ["diagnose", "odd:rotate", *width, *against]
            cased = ["vectors", "odd:rotate", "--cases", draw.choice(("rotate", "batch", "axes", "shift"))]
            yield number, draw.choice((diagnosed, diagnosed, cased)) + tail
            continue
        made = {
            "config": a_config,
            "gguf": lambda d: broken_bytes(whole_gguf(d), d),
            "safetensors": a_safetensors,
        }
        name = {"config": "bad.json", "gguf": "bad.gguf", "safetensors": "bad.safetensors"}[kind]
        Path(name).write_bytes(made[kind](draw))
        pair = draw.choice((["good.json", name], [name, "good.json"], [name, name]))
        rows = draw.choice((["good.safetensors", name], [name, "good.safetensors"]))
        lines = [
            ["read", name],
            ["compare", *pair],
            ["weights", *rows, "--head-dim", "8"],
            ["weights", *rows],
        ]
        if kind != "safetensors":
            odd_module(draw)
            lines.append(["diagnose", "odd:rotate", "--config", name])
        yield number, draw.choice(lines) + tail


def status_of(line: list[str]) -> tuple[int | None, str]:
    """Return the exit status of a command line and what it printed; status None is a traceback."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed), np.errstate(all="ignore"):
        try:
            status = command(line)
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else None
        except BaseException:
            return None, traceback.format_exc()
    return status, printed.getvalue()


def megabytes() -> float:
    """Return the most memory (MB) that this process has had; 0 where the system does not tell.

    Linux's ``ru_maxrss`` begins with what the parent had, so that there ``VmHWM`` is asked.
    """
    status = Path("/proc/self/status")
    if status.exists():
        return int(re.search(r"VmHWM:\s+(\d+)", status.read_text())[1]) / 2**10
    try:
        import resource
    except ImportError:
        return 0.0
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (2**20 if sys.platform == "darwin" else 2**10)


def main() -> int:
    """Run the cases, print what failed and a summary, and return 1 if one failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("count", nargs="?", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--only", type=int, help="the number of one case")
    chosen = parser.parse_args()
    seen: collections.Counter[str] = collections.Counter()
    slowest, failed = 0.0, 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for number, line in itertools.islice(cases(chosen.seed), chosen.count):
            if chosen.only not in (None, number):
                continue
            begun = time.process_time()
            status, printed = status_of(line)
            took = time.process_time() - begun
            slowest = max(slowest, took)
            words = printed.strip() and "Traceback" not in printed
            if status not in (0, 1, 2) or not words or took > SLOWEST:
                failed += 1
                print(f"--seed {chosen.seed} --only {number}: {line}: status {status}, {took:.1f} s")
                print(printed[-1500:])
            seen[f"{line[0]} {status}"] += 1
        os.chdir("/")
    most = megabytes()
    print(f"{sum(seen.values())} cases, {failed} failed; slowest {slowest:.2f} s, {most:.0f} MB")
    print(dict(sorted(seen.items())))
    return 1 if failed or most > LARGEST else 0


if __name__ == "__main__":
    sys.exit(main())
