"""Where a file lists no kinds of layers, the pattern is that of the model's class in transformers."""

import pytest

from rope_doctor.config import RULES
from rope_doctor.config.each_layer import layers_of_config

NEWER = ("dory", "lara_mini")  # transformers 5.24 brings them


@pytest.mark.parametrize("family", [name for name in RULES["layer_patterns"] if name not in NEWER])
def test_a_pattern_of_layers_is_that_of_the_installed_transformers(family):
    auto = pytest.importorskip("transformers").AutoConfig
    slides = {"sliding_window": 64}
    if "by" in RULES["layer_patterns"][family]:
        slides |= {"use_sliding_window": True, "max_window_layers": 5}
    own = auto.for_model(family, num_hidden_layers=13, **slides).get_text_config()
    stated = {"model_type": family, "num_hidden_layers": 13} | slides
    assert [row.label for row in layers_of_config(stated, ()).rows(13)] == own.layer_types


@pytest.mark.parametrize(
    ("letters", "full"), [("LLG", [2, 4]), ("LG", [1, 3, 4]), ("L", [4]), ("G", [0, 1, 2, 3, 4])]
)
def test_a_pattern_in_letters_goes_on_and_the_last_layer_is_full(letters, full):
    stated = {"model_type": "exaone4", "sliding_window_pattern": letters, "sliding_window": 7}
    rows = layers_of_config(stated | {"num_hidden_layers": 5}, ()).rows(5)
    assert [n for n, row in enumerate(rows) if row.label == "full_attention"] == full


@pytest.mark.parametrize("family", RULES["one_window_for_all_layers"])
def test_a_window_of_all_layers_is_read(family):
    rows = layers_of_config({"model_type": family, "sliding_window": 64}, ()).rows(3)
    assert {(row.label, row.window) for row in rows} == {("sliding_attention", 64)}
