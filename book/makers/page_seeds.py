"""Train ten seeds with the page's engine and with torch: python book/makers/page_seeds.py.

Both engines start from the same weights and read the same texts, in float64. They add in different orders, and
training amplifies the last bit, so single runs may diverge; the shares of right answers must still have the same
distribution. Writes ``book/data/page_seeds.json``, a part of which ``tests/book/makers`` recomputes.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from rope_book.training.loop import TrainingConfig, answer_loss, learning_rate, make_optimizer  # noqa: E402
from rope_book.widgets.maths import page_training as page  # noqa: E402
from tests.book.widgets.torch_training import SETTINGS, batch_of, make_model  # noqa: E402
from tests.book.widgets.v8 import Scripts, scripts  # noqa: E402

RESULTS = ROOT / "book" / "data" / "page_seeds.json"
ENCODINGS = ("rotary", "learned", "t5")
SEEDS = 10
STEPS = 150
TIMES = 2
TEST_ROWS = 32
IN_THE_PAGE = """(settings, steps, times) => {
    const run = new Run(settings);
    while (run.step < steps) run.train();
    return Array.from(run.right({ times, rule: "none" }));
}"""


def shares(right: np.ndarray) -> list[float]:
    """Return the mean shares of right answers (%) at trained and at new positions."""
    edge = page.places_of("back", SETTINGS["length"])
    return [round(100 * float(np.nanmean(part)), 3) for part in (right[1:edge], right[edge:])]


def by_page(v8: Scripts, settings: dict[str, Any]) -> list[float]:
    """Train in V8."""
    (right,) = v8.answer([(IN_THE_PAGE, [settings, STEPS, TIMES])])
    return shares(np.array([np.nan if value == "NaN" else value for value in right], float))


def by_torch(settings: dict[str, Any]) -> list[float]:
    """Train in torch, with the optimizer, rates and clipping of the loop."""
    torch.set_num_threads(1)
    model = make_model(settings)
    config = TrainingConfig("back", steps=page.PLANNED["back"], learning_rate=settings["learning_rate"])
    optimizer = make_optimizer(model, config)
    for step in range(STEPS):
        batch = batch_of(settings, step)
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(config, step + 1)
        optimizer.zero_grad()
        answer_loss(model(batch.tokens), batch).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), config.clip)
        optimizer.step()
    texts = page.draw_texts("back", "test", 0, 0, TEST_ROWS, TIMES * settings["length"])
    with torch.no_grad():
        answers = model(torch.tensor(texts.tokens.astype(np.int64))).argmax(-1).numpy()
    right = np.where(texts.counts, answers == texts.targets, np.nan)
    counted = texts.counts.any(axis=0)
    return shares(np.where(counted, np.nanmean(np.where(counted, right, 0.0), axis=0), np.nan))


def main() -> None:
    """Train and write."""
    results: dict[str, dict[str, list[list[float]]]] = {}
    with scripts("maths/page_run") as v8:
        for encoding in ENCODINGS:
            runs = [SETTINGS | {"encoding": encoding, "seed": seed} for seed in range(SEEDS)]
            results[encoding] = {
                "page": [by_page(v8, run) for run in runs],
                "torch": [by_torch(run) for run in runs],
            }
            print(encoding, results[encoding])
    settings = {"task": "back", "length": SETTINGS["length"], "steps": STEPS, "times": TIMES}
    RESULTS.write_text(
        json.dumps({"settings": settings, "shares": results}, indent=1) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
