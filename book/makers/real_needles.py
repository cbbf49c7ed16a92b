r"""Eight numbers hidden in long texts, and asked for at their ends: what SmolLM2 finds, by rule, length and depth.

    PYTHONPATH=book python -m makers.real_needles --narrative genesis.txt

A sentence such as "The secret number of Lisbon is 84721." is placed at each of eight depths of a text. The text
ends with all eight sentences again, in another order, so a model that finds the numbers predicts the digits there.
The file keeps, by depth, the mean loss in nats of the five digits, and how many of the five have a probability
over ½. A guess among ten digits costs ln 10 = 2.30 nats.

The texts are the "narrative" and the "code" of `real_length.py`, cut so that all has `tokens` tokens. Readings are
those of `real_length.py`; "late" is not among them, since it never sees the whole text.

Expected before the first run: plain, the model finds most digits at 2,048 tokens and fewer at 8,192, and PI by 2
finds fewer than plain. At 12,288 plain finds almost nothing, at any depth; NTK-aware by 2, YaRN by 2 and held slow
pairs find at least half of what plain finds at 8,192. A window with the first tokens finds only what lies in its
window. PI finds less than NTK-aware.

Observed: all of this, on the narrative. On the code, of which passes are missing, plain finds 0 of 40 digits at
12,288 tokens, PI none either, held slow pairs 22, NTK-aware and YaRN 24, a window with the first tokens 11.

Stop it at any time; the same command resumes. A pass over 12,288 tokens takes two minutes on one core.
"""

from __future__ import annotations

import argparse
import hashlib
import time
from pathlib import Path

import numpy as np
import torch

import rope_book
from makers.real_length import READINGS, texts
from makers.runs import RunsFile, describe_machine
from rope_book.real import RealModel, load
from rope_book.real.long import read
from rope_book.results.real import FORMATS

DEFAULT_OUT = Path(rope_book.__file__).parent / "results" / "real_needles.json"
FORMAT = FORMATS["real_needles"]
TABLES = {"passes": ("text", "tokens", "name")}
KINDS = ("narrative", "code")
LENGTHS = (2048, 8192, 12288, 16384)
NAMES = ("plain", "ntk-aware-2", "yarn-2", "slow-held", "all-held", "pi-2", "window-first")
CITIES = ("Lisbon", "Nairobi", "Oslo", "Lima", "Cairo", "Kyoto", "Prague", "Quito")
DIGITS, SEED = 5, 20261127


def needles() -> list[tuple[str, str]]:
    """Return (what precedes a number, the number), by depth."""
    numbers = np.random.default_rng(SEED).integers(0, 10, (len(CITIES), DIGITS))
    return [
        (f"\nThe secret number of {city} is ", "".join(map(str, digits)))
        for city, digits in zip(CITIES, numbers, strict=True)
    ]


def hide(model: RealModel, hay: list[int], tokens: int) -> tuple[list[int], list[slice]]:
    r"""Return a text of `tokens` tokens with the needles, and where the digits stand that are asked for, by depth.

    Raises:
        ValueError: the hay is too short.
    """
    split = [(model.ids(before), model.ids(number), model.ids(".\n")) for before, number in needles()]
    sentences = [[*before, *number, *end] for before, number, end in split]
    room = tokens - 2 * sum(map(len, sentences))
    if len(hay) < room:
        raise ValueError(f"a text of {tokens} tokens needs {room} of hay, got {len(hay)}")
    pieces = np.array_split(np.array(hay[:room]), 2 * len(sentences))
    ids: list[int] = []
    for turn, sentence in enumerate(sentences):
        ids += [*pieces[2 * turn].tolist(), *sentence, *pieces[2 * turn + 1].tolist()]
    asked = [slice(0, 0)] * len(sentences)
    for depth in np.random.default_rng(SEED).permutation(len(sentences)).tolist():
        start = len(ids) + len(split[depth][0])
        asked[depth] = slice(start, start + len(split[depth][1]))
        ids += sentences[depth]
    return ids, asked


def find(model: RealModel, ids: list[int], asked: list[slice], name: str) -> dict[str, list]:
    """Return the losses of the digits, and how many are found, by depth."""
    losses = np.concatenate([[np.nan], read(model, ids, READINGS[name](model.spec)).double().numpy()])
    parts = [losses[where] for where in asked]
    return {
        "losses": [round(float(part.mean()), 4) for part in parts],
        "found": [int((part < np.log(2)).sum()) for part in parts],
    }


def main() -> None:
    """Run what is missing in the file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--narrative", type=Path, required=True, help="Genesis and the beginning of Exodus")
    parser.add_argument("--names", nargs="+", default=NAMES, choices=READINGS, metavar="NAME")
    parser.add_argument("--kinds", nargs="+", default=KINDS, choices=KINDS)
    parser.add_argument("--lengths", nargs="+", type=int, default=LENGTHS, help="multiples of 512")
    parser.add_argument("--out", type=Path, default=DEFAULT_OUT)
    options = parser.parse_args()
    torch.set_num_threads(1)
    model, hay = load(), texts(options.narrative)
    ids = {kind: model.ids(hay[kind]) for kind in KINDS}
    digest = hashlib.sha256(str([row[: max(LENGTHS)] for row in ids.values()]).encode()).hexdigest()[:16]
    settings = {"needles": [f"{city} {number}" for city, (_, number) in zip(CITIES, needles(), strict=True)]}
    settings |= {"seed": SEED, "texts": digest}
    file = RunsFile(options.out, FORMAT, settings, describe_machine("cpu", 1), TABLES)
    for tokens in options.lengths:
        for kind in options.kinds:
            for name in options.names:
                if not file.has("passes", text=kind, tokens=tokens, name=name):
                    started = time.monotonic()
                    row = {"text": kind, "tokens": tokens, "name": name}
                    row |= find(model, *hide(model, ids[kind], tokens), name)
                    file.add("passes", row, time.monotonic() - started)


if __name__ == "__main__":
    main()
