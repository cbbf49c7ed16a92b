r"""Beyond the trained length: SmolLM2 on 12,288 tokens of three texts, stretched, capped and windowed.

    PYTHONPATH=book python -m makers.real_length --narrative genesis.txt

The model was trained on 8,192 tokens. Every text is read in one pass with each of `READINGS`; the file keeps its
mean loss, in nats per token, in sixteen bins of 768 tokens, and beyond the trained length. "late" is the yardstick:
it reads 8,192 tokens at a time, from token 4,096 on, from 8,192 on and so forth, and so predicts every token beyond
the trained length from at least 4,096 others without ever leaving that length. No text of others is kept; the three
are

- narrative: `bible -l66 'gen1:1-exo14:1'` of Debian's bible-kjv 4.38;
- technical: the topics of Python's `help()`, `pydoc_data.topics`, in their order;
- code: Python's `argparse.py`.

Stop it at any time; the same command resumes. A pass takes one to two minutes on one core.
"""

from __future__ import annotations

import argparse
import hashlib
import pydoc_data.topics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

import rope_book
from makers.runs import RunsFile, describe_machine
from rope_book.real import RealModel, load
from rope_book.real.long import Reading, read
from rope_book.results.real import FORMATS
from rope_edu.encodings import RopeSpec, completes_turn
from rope_edu.encodings.scaling import ntk_aware, ntk_by_parts, position_interpolation, yarn

DEFAULT_OUT = Path(rope_book.__file__).parent / "results" / "real_length.json"
FORMAT = FORMATS["real_length"]
KEY = ("text", "tokens", "name")
TRAINED, TOKENS, BINS, HALF, FIRST = 8192, 12288, 16, 4096, 4
LATE = "late"


def texts(narrative: Path) -> dict[str, str]:
    """Return the three texts by kind."""
    return {
        "narrative": narrative.read_text(encoding="utf-8"),
        "technical": "".join(pydoc_data.topics.topics.values()),
        "code": Path(argparse.__file__).read_text(encoding="utf-8"),
    }


def capped(window: int, pairs: str = "all", **more: int) -> Callable[[RopeSpec], Reading]:
    """Return a reading whose distances are at most `window` in "all", the "slow" or the "fast" pairs."""

    def make(spec: RopeSpec) -> Reading:
        complete = completes_turn(spec.inv_freq, TRAINED)
        held = [n for n, fast in enumerate(complete) if pairs == "all" or fast == (pairs == "fast")]
        return Reading(spec, window, held, **more)

    return make


def stretched(rule: Callable[..., RopeSpec], *arguments: int) -> Callable[[RopeSpec], Reading]:
    """Return a reading whose frequencies are those of a rule."""
    return lambda spec: Reading(rule(spec.head_dim, *arguments, base=spec.base).replace(layout=spec.layout))


READINGS: dict[str, Callable[[RopeSpec], Reading]] = {
    "plain": Reading,
    LATE: Reading,
    "slow-held": capped(HALF, "slow"),
    "slow-held-8192": capped(TRAINED, "slow"),
    "all-held": capped(HALF),
    "fast-held": capped(HALF, "fast"),
    "ntk-aware-2": stretched(ntk_aware, 2),
    "pi-2": stretched(position_interpolation, 2),
    "yarn-2": stretched(yarn, 2, TRAINED),
    "window": capped(HALF, first=0),
    "window-first": lambda spec: Reading(spec, HALF, [], first=FIRST),
    "window-first-near": capped(HALF, first=FIRST),
    "by-parts-2": stretched(ntk_by_parts, 2, TRAINED),
    "plain-logn": lambda spec: Reading(spec, trained=TRAINED),
    "all-held-logn": capped(HALF, trained=TRAINED),
    "ntk-aware-4": stretched(ntk_aware, 4),
    "by-parts-4": stretched(ntk_by_parts, 4, TRAINED),
    "yarn-4": stretched(yarn, 4, TRAINED),
}
SHORT = tuple(name for name in READINGS if not name.endswith("-4"))


def losses_of(model: RealModel, ids: list[int], name: str) -> np.ndarray:
    """Return each token's loss in nats, `(len(ids),)`; NaN for those that the reading does not predict."""
    losses, reading = np.full(len(ids), np.nan), READINGS[name](model.spec)
    starts = range(HALF, len(ids) - HALF, HALF) if name == LATE else [0]
    for start in reversed(starts):  # an earlier start knows more of the text, so it has the last word
        part = read(model, ids[start : start + TRAINED] if name == LATE else ids, reading)
        losses[start + 1 : start + 1 + len(part)] = part.double().numpy()
    return losses


def by_place(losses: np.ndarray) -> dict:
    """Return mean losses in nats by sixteenth of the text, and beyond the trained length; None for no token."""

    def mean(part: np.ndarray) -> float | None:
        return round(float(np.nanmean(part)), 4) if np.isfinite(part).any() else None

    return {"bins": [mean(part) for part in np.split(losses, BINS)], "beyond": mean(losses[TRAINED:])}


def main() -> None:
    """Run what is missing in the file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--narrative", type=Path, required=True, help="Genesis and the beginning of Exodus")
    parser.add_argument("--names", nargs="+", default=SHORT, choices=READINGS, metavar="NAME")
    parser.add_argument("--kinds", nargs="+", default=("narrative", "technical", "code"), metavar="TEXT")
    parser.add_argument("--tokens", type=int, default=TOKENS, help="a multiple of 1,024 (12288)")
    parser.add_argument("--out", type=Path, default=DEFAULT_OUT)
    options = parser.parse_args()
    torch.set_num_threads(1)
    model = load()
    ids = {kind: model.ids(text) for kind, text in texts(options.narrative).items()}
    digests = {kind: hashlib.sha256(str(row[:TOKENS]).encode()).hexdigest()[:16] for kind, row in ids.items()}
    settings = {"trained": TRAINED, "bins": BINS, "half": HALF, "first": FIRST, "texts": digests}
    file = RunsFile(options.out, FORMAT, settings, describe_machine("cpu", 1), {"passes": KEY})
    for name in options.names:
        for kind in options.kinds:
            if not file.has("passes", text=kind, tokens=options.tokens, name=name):
                started = time.monotonic()
                key = {"text": kind, "tokens": options.tokens, "name": name}
                row = key | by_place(losses_of(model, ids[kind][: options.tokens], name))
                file.add("passes", row, time.monotonic() - started)


if __name__ == "__main__":
    main()
