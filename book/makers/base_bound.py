"""Find many bases' first negative distance and the smallest base for each context: base_bound.json.

    PYTHONPATH=book python -m makers.base_bound

Takes some minutes on one core, most of them for a million tokens.
"""

import json
from pathlib import Path

from rope_book.results.base_bound import BASES, CONTEXTS, FORMAT, WIDTHS
from rope_book.results.base_search import first_negative_distance, smallest_base
from rope_edu.encodings import inv_freq

FARTHEST = 4_194_304  # tokens; farther than any first negative distance of these bases
RESULT = Path(__file__).resolve().parents[2] / "book" / "rope_book" / "results" / "base_bound.json"


def search() -> dict:
    """Run the search; return the content of base_bound.json."""
    return {
        "format": FORMAT,
        "bases": BASES.tolist(),
        "first_negative": {
            width: [first_negative_distance(inv_freq(width, base), FARTHEST) for base in BASES]
            for width in WIDTHS
        },
        "smallest": {context: round(smallest_base(context), 2) for context in CONTEXTS},
    }


if __name__ == "__main__":
    RESULT.write_text(json.dumps(search(), separators=(",", ":")) + "\n", encoding="utf-8")
