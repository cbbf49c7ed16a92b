"""The search, as far as seconds allow, reproduces base_bound.json; models' numbers are in range."""

import numpy as np
import pytest

from rope_book.results import MODELS, PUBLISHED, first_negative_distance, load_base_bound, smallest_base
from rope_book.results.base_bound import WIDTHS
from rope_doctor import rope_from_config
from rope_doctor.config import PRESETS
from rope_edu.encodings import inv_freq


def test_the_search_reproduces_the_committed_first_negative_distances():
    search = load_base_bound()
    assert set(search.first_negative) == set(WIDTHS)
    for width, row in search.first_negative.items():
        for i in range(0, len(search.bases), 50):
            assert first_negative_distance(inv_freq(width, search.bases[i]), int(row[i]) + 1) == row[i]


def test_the_committed_smallest_bases_hold_and_the_search_reproduces_short_ones():
    search = load_base_bound()
    assert set(search.smallest) == set(PUBLISHED)
    for context, base in search.smallest.items():
        assert first_negative_distance(inv_freq(128, base), context) is None
        if context <= 8192:
            assert smallest_base(context) == pytest.approx(base, abs=0.01)


def test_the_smallest_bases_are_a_third_below_to_six_percent_above_the_published():
    search = load_base_bound()
    ratios = np.array([search.smallest[context] / PUBLISHED[context] for context in PUBLISHED])
    assert ((ratios > 0.64) & (ratios < 1.07)).all()


def test_a_model_has_a_base_an_even_width_and_a_source():
    assert len({model.name for model in MODELS}) == len(MODELS)
    for model in MODELS:
        assert model.base >= 1e4
        assert model.rotary_dim % 2 == 0
        assert model.source.startswith("https://huggingface.co/")


def test_a_model_is_the_preset_that_reads_the_same_file():
    for model in MODELS:
        (preset,) = (preset for preset in PRESETS if model.source in preset.source)
        spec = rope_from_config(preset.config)
        stated = spec.base, spec.rotary_dim, preset.config["max_position_embeddings"]
        assert (model.base, model.rotary_dim, model.context) == stated, model.name
