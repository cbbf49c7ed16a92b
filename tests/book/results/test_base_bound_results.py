"""What base_bound.json holds is what the search finds, as far as seconds allow; models' numbers are in range."""

import json

import numpy as np
import pytest

from rope_book.results import MODELS, PUBLISHED, load_base_bound
from rope_book.results.base_bound import FORMAT, WIDTHS
from rope_edu.encodings import first_negative_distance, inv_freq, smallest_base


def test_the_committed_first_negative_distances_are_what_the_search_finds():
    found = load_base_bound()
    assert set(found.first_negative) == set(WIDTHS)
    for width, row in found.first_negative.items():
        for i in range(0, len(found.bases), 50):
            assert first_negative_distance(inv_freq(width, found.bases[i]), int(row[i]) + 1) == row[i]


def test_the_committed_smallest_bases_hold_and_short_ones_are_found_again():
    found = load_base_bound()
    assert set(found.smallest) == set(PUBLISHED)
    for context, base in found.smallest.items():
        assert first_negative_distance(inv_freq(128, base), context) is None
        if context <= 8192:
            assert smallest_base(context) == pytest.approx(base, abs=0.01)


def test_the_smallest_bases_are_a_third_below_to_six_percent_above_the_published():
    found = load_base_bound()
    ratios = np.array([found.smallest[context] / PUBLISHED[context] for context in PUBLISHED])
    assert ((ratios > 0.64) & (ratios < 1.07)).all()


def test_a_model_has_a_base_an_even_width_and_a_source():
    assert len({model.name for model in MODELS}) == len(MODELS)
    for model in MODELS:
        assert model.base >= 1e4
        assert model.rotary_dim % 2 == 0
        assert model.source.startswith("https://huggingface.co/")


def test_another_format_is_refused(tmp_path):
    path = tmp_path / "base_bound.json"
    path.write_text(json.dumps({"format": "something else"}))
    with pytest.raises(ValueError, match=f"must have the format '{FORMAT}'"):
        load_base_bound(path)
