r"""What each mistake costs a model that people run: perplexity on three texts, and words to be read.

    PYTHONPATH=book python -m makers.real_mistakes --narrative ruth.txt --far genesis.txt --words recipe

Every mistake of `rope_book.real` is held to the first 512 tokens of three texts. The first 256 are the prompt; the
others are decoded one at a time, so that mistakes of a cache show. Then it is held to the first 4,096 of the
three texts of `real_length.py`, of which 3,840 are the prompt. Of each text and mistake the tables `losses`, of 512
tokens, and `far` keep

- `prompt`, `decoded`: the perplexity of the prompt but for its first token, and of the 256 decoded tokens;
- `shows`: the number of tokens after which the right model has given the text e⁵ ≈ 150 times the probability that
  the broken one has, summed from the first token; None if that never happens;
- `same`: the rotation equals the right one in every call of this text, so its numbers are those of the right model.

With --words, each mistake also writes 60 greedy tokens after prompts of ours; they all write at once, each in a
row of a batch. No text of others is kept; the three are:

- narrative: `bible -l66 'ru1:1-ru4:22'` of Debian's bible-kjv 4.38, the book of Ruth;
- technical: the topics of Python's `help()`, `pydoc_data.topics`, from "assignment" on;
- code: Python's `textwrap.py`.

The committed file has all mistakes in the far narrative, and 49 of 71 in the other two: those that the short text
leaves quiet, and some of the loud, none of which a long text makes quiet. Stop it at any time; the same command
resumes. A pass takes four seconds on an idle core, a far one twenty.
"""

from __future__ import annotations

import argparse
import copy
import hashlib
import pydoc_data.topics
import textwrap
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.nn import functional

import rope_book
from makers import real_length
from makers.runs import RunsFile, describe_machine
from rope_book.real import MISTAKES, RealModel, broken, load
from rope_book.real.mistakes import OWN
from rope_book.real.talk import ROWS_AT_ONCE
from rope_book.results.real import FORMATS
from rope_edu.attention.cache import KVCache
from rope_edu.attention.encoding import PositionEncoding, Rotary

DEFAULT_OUT = Path(rope_book.__file__).parent / "results" / "real_mistakes.json"
FORMAT = FORMATS["real_mistakes"]
TABLES = {"losses": ("text", "name"), "far": ("text", "name"), "words": ("prompt", "name")}
TOKENS, DECODED, WORDS = 512, 256, 60
FAR = 4096
EVIDENCE = 5.0  # nats
PROMPTS = {
    "recipe": "A good way to cook rice is to wash it first, then",
    "story": "The old man opened the door of the lighthouse, looked at the sea and",
    "code": "def add(a, b):\n    return a + b\n\n\ndef multiply(a, b):\n",
}
RIGHT = "right"


def texts(narrative: Path) -> dict[str, str]:
    """Return the three texts by kind."""
    topics = pydoc_data.topics.topics
    return {
        "narrative": narrative.read_text(encoding="utf-8"),
        "technical": topics["assignment"] + topics["attribute-access"],
        "code": Path(textwrap.__file__).read_text(encoding="utf-8"),
    }


def encoding_of(model: RealModel, name: str, prompt: int) -> PositionEncoding:
    """Return the right encoding, or a broken one."""
    return Rotary(model.spec) if name == RIGHT else broken(name, model.spec, prompt)


def is_right(model: RealModel, name: str, prompt: int, tokens: int) -> bool:
    """Return whether q and k come out rotated as they should, in a text of this length."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(1, 3, tokens, model.spec.head_dim, generator=generator)
    right = Rotary(model.spec).rotate_q(x, range(tokens))
    encoding = encoding_of(model, name, prompt)
    rotated = [door(x, range(tokens)) for door in (encoding.rotate_q, encoding.rotate_k)]
    return all(torch.allclose(result, right, atol=1e-4) for result in rotated)


def shows(losses: np.ndarray, right: np.ndarray) -> int | None:
    """Return the number of tokens after which the evidence against the broken model is enough.

    >>> shows(np.array([1.0, 4.0, 9.0]), np.array([1.0, 1.0, 1.0]))
    3
    """
    enough = np.flatnonzero(np.cumsum(losses - right) >= EVIDENCE)
    return int(enough[0]) + 1 if len(enough) else None


class Right(NamedTuple):
    """The right model's losses on a text, and its keys and values of the prompt."""

    losses: np.ndarray
    cache: list[KVCache]


def read_right(model: RealModel, ids: list[int]) -> Right:
    """Read a text as the right model does, first the prompt and then the decoded tokens."""
    length, cache = len(ids) - DECODED, [KVCache() for _ in model.model.blocks]
    prompt = read(model, ids, Rotary(model.spec), range(length), cache)
    decoded = read(model, ids, Rotary(model.spec), range(length, len(ids) - 1), copy.deepcopy(cache))
    return Right(np.concatenate((prompt, decoded)), cache)


@torch.inference_mode()
def read(
    model: RealModel, ids: list[int], encoding: PositionEncoding, at: range, cache: list[KVCache]
) -> np.ndarray:
    """Return the losses, in nats, of the tokens after those at these positions, which the cache then holds."""
    vectors = model.model(torch.tensor([ids[at.start : at.stop]]), encoding, at, cache)[0]
    following = torch.tensor(ids[at.start + 1 : at.stop + 1])
    rows = zip(vectors.split(ROWS_AT_ONCE), following.split(ROWS_AT_ONCE), strict=True)
    parts = [functional.cross_entropy(model.model.head(x), y, reduction="none") for x, y in rows]
    return torch.cat(parts).double().numpy()


def losses_of(model: RealModel, ids: list[int], name: str, right: Right) -> np.ndarray:
    """Return the losses of a broken model, which shares the right one's prompt if it reads that rightly."""
    length = len(ids) - DECODED
    encoding = encoding_of(model, name, length)
    if not is_right(model, name, length, length):
        return model.losses(ids, encoding).double().numpy()
    decoded = read(model, ids, encoding, range(length, len(ids) - 1), copy.deepcopy(right.cache))
    return np.concatenate((right.losses[:length], decoded))


def measure(model: RealModel, ids: list[int], name: str, right: Right) -> dict[str, Any]:
    """Return a row of a table of losses."""
    length = len(ids) - DECODED
    same = name != RIGHT and is_right(model, name, length, len(ids))
    losses = right.losses if same or name == RIGHT else losses_of(model, ids, name, right)
    prompt, decoded = perplexity(losses[: length - 1]), perplexity(losses[length - 1 :])
    return {"prompt": prompt, "decoded": decoded, "same": same, "shows": shows(losses, right.losses)}


class Rows(PositionEncoding):
    """One encoding for every row of a batch."""

    def __init__(self, encodings: list[PositionEncoding]) -> None:
        self.encodings = encodings

    def rotate_q(self, q: torch.Tensor, positions: Any) -> torch.Tensor:
        rows = zip(self.encodings, q.split(1), strict=True)
        return torch.cat([encoding.rotate_q(row, positions) for encoding, row in rows])

    def rotate_k(self, k: torch.Tensor, positions: Any) -> torch.Tensor:
        rows = zip(self.encodings, k.split(1), strict=True)
        return torch.cat([encoding.rotate_k(row, positions) for encoding, row in rows])


@torch.inference_mode()
def write(model: RealModel, text: str, encodings: list[PositionEncoding], count: int) -> list[str]:
    """Return the `count` greedy tokens that follow a text under every encoding, as texts."""
    tokens = torch.tensor(model.ids(text)).expand(len(encodings), -1)
    cache, new, prompt = [KVCache() for _ in model.model.blocks], tokens, tokens.shape[-1]
    for _ in range(count):
        at = range(tokens.shape[-1] - new.shape[-1], tokens.shape[-1])
        x = model.model(new, Rows(encodings), at, cache)
        new = model.model.head(x[:, -1]).argmax(-1, keepdim=True)
        tokens = torch.cat((tokens, new), dim=-1)
    return [model.text(row) for row in tokens[:, prompt:].tolist()]


def perplexity(losses: np.ndarray) -> float | None:
    """Return a perplexity with four digits; None for numbers that are none."""
    mean = float(losses.mean())
    return float(f"{np.exp(min(mean, 700.0)):.4g}") if np.isfinite(mean) else None


def add_losses(
    file: RunsFile, table: str, model: RealModel, ids: dict[str, list[int]], names: list[str]
) -> None:
    """Measure the mistakes that a table lacks on every text."""
    for kind, row in ids.items():
        missing = [name for name in names if not file.has(table, text=kind, name=name)]
        if not missing:
            continue
        started, right = time.monotonic(), read_right(model, row)
        for name in missing:
            measured = measure(model, row, name, right)
            now = time.monotonic()
            file.add(table, {"text": kind, "name": name, **measured}, now - started)
            started = now


def add_words(file: RunsFile, model: RealModel, names: list[str], prompts: list[str]) -> None:
    """Let the mistakes that the file lacks write after every prompt."""
    for prompt in prompts:
        text = PROMPTS[prompt]
        missing = [name for name in names if not file.has("words", prompt=prompt, name=name)]
        started, length = time.monotonic(), len(model.ids(text))
        encodings = [encoding_of(model, name, length) for name in missing]
        written = write(model, text, encodings, WORDS) if missing else []
        seconds = (time.monotonic() - started) / max(1, len(missing))
        for name, words in zip(missing, written, strict=True):
            file.add("words", {"prompt": prompt, "name": name, "text": words}, seconds)


def split(model: RealModel, by_kind: dict[str, str], tokens: int) -> tuple[dict[str, list[int]], dict]:
    """Return the first tokens of texts by kind, and what the settings say of them."""
    ids = {kind: model.ids(text)[:tokens] for kind, text in by_kind.items()}
    digests = {kind: hashlib.sha256(str(row).encode()).hexdigest()[:16] for kind, row in ids.items()}
    return ids, {"tokens": tokens, "prompt": tokens - DECODED, "texts": digests}


def main() -> None:
    """Run what is missing in the file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--narrative", type=Path, required=True, help="the book of Ruth")
    parser.add_argument("--far", type=Path, required=True, help="Genesis and the beginning of Exodus")
    parser.add_argument("--names", nargs="+", default=[*OWN, *(name for name in MISTAKES if name not in OWN)])
    parser.add_argument(
        "--words", nargs="*", choices=PROMPTS, default=[], help="prompts after which to write"
    )
    parser.add_argument("--out", type=Path, default=DEFAULT_OUT)
    options = parser.parse_args()
    torch.set_num_threads(1)
    model = load()
    ids, settings = split(model, texts(options.narrative), TOKENS)
    settings |= {"words": WORDS, "prompts": PROMPTS}
    far, settings["far"] = split(model, real_length.texts(options.far), FAR)
    file = RunsFile(options.out, FORMAT, settings, describe_machine("cpu", 1), TABLES)
    names = [RIGHT, *options.names]
    add_losses(file, "losses", model, ids, names)
    add_losses(file, "far", model, far, names)
    add_words(file, model, names, options.words)


if __name__ == "__main__":
    main()
