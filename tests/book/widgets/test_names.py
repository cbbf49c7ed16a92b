"""Names and numbers in pictures are beside what they name, in a wide figure and on a phone."""

import numpy as np
import pytest

from rope_book.results import MODELS

from .marks.picture import Pictured

WIDE, PHONE = 550, 326  # pixels of a picture


@pytest.fixture
def pictured(request):
    """The figure that a test names by its parameter."""
    figure = Pictured(request.param)
    yield figure
    figure.close()


def tips_and_names(picture, names):
    """Return the tips of arrows by name, in the inks of the names, and the middles of the names."""
    middles, tips = {}, {}
    for x, y, words, style in picture.texts:
        if words in names and style["fill"].endswith("-words)"):
            middles[words] = np.array([x + 3.7 * len(words), y - 4])
            ink = style["fill"].removeprefix("var(--rl-").removesuffix("-words)")
            tips[words] = np.array(picture.shapes("arrow", stroke=ink)[-1][2:])
    assert middles.keys() == set(names)
    return tips, middles


@pytest.mark.parametrize("pictured", ["ComplexPlane"], indirect=True)
@pytest.mark.parametrize("width", [WIDE, PHONE])
def test_a_name_is_nearest_to_its_own_arrow(pictured, width):
    tips, middles = tips_and_names(pictured.picture({}, width), ("f(q, m)", "f(k, n)"))
    for name, other in (("f(q, m)", "f(k, n)"), ("f(k, n)", "f(q, m)")):
        own, far = (np.linalg.norm(middles[name] - tips[each]) for each in (name, other))
        assert own < far, name


@pytest.mark.parametrize("pictured", ["GainAndTurn"], indirect=True)
def test_names_are_outside_the_paths_of_the_tips(pictured):
    for position in range(0, 97, 3):
        picture = pictured.picture({"position": position}, WIDE)
        paths = [np.array(picture.shapes("curve", stroke=ink, width=1.8)[0]) for ink in "qk"]
        centre = paths[0].mean(axis=0)
        reach = np.ptp(paths[0], axis=0) / 2
        tips, middles = tips_and_names(picture, ("q", "k"))
        for name, middle in middles.items():
            assert np.linalg.norm((middle - centre) / reach) > 1, (position, name)
            assert np.linalg.norm(middle - tips[name]) < 35, (position, name)


@pytest.mark.parametrize("pictured", ["BlockMatrix"], indirect=True)
@pytest.mark.parametrize("width", [WIDE, PHONE])
def test_every_number_of_a_small_matrix_is_written(pictured, width):
    for size in (4, 6, 8):
        picture = pictured.picture({"head_dim": size, "row": 1}, width)
        cells = [
            n for n, call in enumerate(picture.calls) if call[0] == "rect" and call[5].get("width") == 0.5
        ]
        assert len(cells) == 4 * size  # 2 in each row of the matrix, one of x and one of the result
        assert all(picture.calls[n + 1][0] == "text" for n in cells)


@pytest.mark.parametrize("pictured", ["BaseBound"], indirect=True)
@pytest.mark.parametrize("width", [WIDE, PHONE])
def test_every_model_that_is_seen_has_its_name(pictured, width):
    state, *others = sorted(MODELS, key=lambda model: model.name != "Llama 2 7B")
    seen = [each.name for each in others if (each.base, each.context) != (state.base, state.context)]
    assert set(seen) <= set(pictured.picture({}, width).words)
