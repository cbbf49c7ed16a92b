"""Ten seeds of three encodings, trained by the page's engine and by torch: reproducible, and one distribution."""

import json

import numpy as np
import pytest

from makers import page_seeds
from rope_book.results import sign_flip_p
from tests.book.widgets.torch_training import SETTINGS
from tests.book.widgets.v8 import scripts

pytestmark = pytest.mark.makers

STORED = json.loads(page_seeds.RESULTS.read_text(encoding="utf-8"))["shares"]


@pytest.mark.parametrize("encoding", page_seeds.ENCODINGS)
def test_final_accuracies_have_one_distribution(encoding):
    by_page, by_torch = (np.array(STORED[encoding][engine]) for engine in ("page", "torch"))
    assert by_page.shape == by_torch.shape == (page_seeds.SEEDS, 2)
    for place in range(2):  # trained positions, new positions
        difference = by_page[:, place] - by_torch[:, place]
        assert abs(difference.mean()) < 1
        assert not difference.any() or sign_flip_p(difference) > 0.05
    assert np.ptp(by_page[:, 1]) > 0.5  # the seeds differ, so the comparison could fail


def test_a_stored_seed_is_reproduced():
    settings = SETTINGS | {"encoding": "rotary", "seed": 6}
    with scripts("maths/page_run") as v8:
        by_page = page_seeds.by_page(v8, settings)
    assert by_page == STORED["rotary"]["page"][6]
    assert page_seeds.by_torch(settings) == pytest.approx(STORED["rotary"]["torch"][6], abs=2)
