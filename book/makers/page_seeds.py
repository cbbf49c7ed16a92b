"""Ten seeds trained as the page trains them and as torch does: python book/makers/page_seeds.py.

Each engine starts from the same weights and reads the same texts, in float64; additions come in another order, and
training makes the last bit large. So single runs may part, and the shares of right answers must still be drawn from
one distribution. Writes ``book/data/page_seeds.json``, of which ``tests/book/makers`` recomputes a part.
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
    """Return the mean share of right answers (%) at the trained places and at the new ones."""
    edge = page.places_of("back", SETTINGS["length"])
    return [round(100 * float(np.nanmean(part)), 3) for part in (right[1:edge], right[edge:])]


def by_page(v8: Scripts, settings: dict[str, Any]) -> list[float]:
    """Train in V8."""
    (right,) = v8.answer([(IN_THE_PAGE, [settings, STEPS, TIMES])])
    return shares(np.array([np.nan if value == "NaN" else value for value in right], float))


def by_torch(settings: dict[str, Any]) -> list[float]:
    """Train in torch, by the loop's own optimizer, rates and clip."""
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
    drawn = page.draw_texts("back", "test", 0, 0, TEST_ROWS, TIMES * settings["length"])
    with torch.no_grad():
        said = model(torch.tensor(drawn.tokens.astype(np.int64))).argmax(-1).numpy()
    right = np.where(drawn.counts, said == drawn.targets, np.nan)
    counted = drawn.counts.any(axis=0)
    return shares(np.where(counted, np.nanmean(np.where(counted, right, 0.0), axis=0), np.nan))


def main() -> None:
    """Train and write."""
    found: dict[str, dict[str, list[list[float]]]] = {}
    with scripts("maths/page_run") as v8:
        for encoding in ENCODINGS:
            runs = [SETTINGS | {"encoding": encoding, "seed": seed} for seed in range(SEEDS)]
            found[encoding] = {
                "page": [by_page(v8, run) for run in runs],
                "torch": [by_torch(run) for run in runs],
            }
            print(encoding, found[encoding])
    settings = {"task": "back", "length": SETTINGS["length"], "steps": STEPS, "times": TIMES}
    RESULTS.write_text(json.dumps({"settings": settings, "shares": found}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
