"""Playground: ten seeds that the page's engine trained, as the book's data record them."""

import json
from pathlib import Path

import numpy as np

RECORD = Path(__file__).resolve().parents[4] / "book" / "data" / "page_seeds.json"


def longer():
    runs = np.array(json.loads(RECORD.read_text(encoding="utf-8"))["shares"]["rotary"]["page"])
    trained, new = np.median(runs, axis=0)  # %
    return {
        "Clearly worse": trained == 100 and 40 < new < 80,
        "As good": new > 99,
        "A little worse": 80 <= new <= 99,
        "Mere guesses": new <= 40,
    }
