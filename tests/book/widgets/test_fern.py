"""The height of a fern's tip is the score of the library, in Python and in the page."""

import numpy as np
import pytest

from rope_book.widgets import Fern
from rope_book.widgets.maths import fern
from rope_book.widgets.maths.stretch import stretched
from rope_doctor.config import preset, rope_from_config
from rope_edu.encodings import mean_cosine, score_curve

from .v8 import scripts

RNG = np.random.default_rng(40)
RULES = Fern.controls()["rule"].options
STATES = [
    {
        "rule": str(RNG.choice(list(RULES))),
        "head_dim": int(RNG.choice(fern.WIDTHS)),
        "base": float(10 ** RNG.uniform(2, 8)),
        "distance": float(np.floor(10 ** RNG.uniform(0, 6) - 1)),
        "trained": int(2 ** RNG.uniform(6, 17)),
        "factor": float(2 ** RNG.uniform(0, 7)),
    }
    for _ in range(200)
]


def spec_of(figure):
    return stretched(
        figure.rule, figure.head_dim, figure.base, figure.trained, figure.trained * figure.factor
    )


def near(figure) -> float:
    """Return how far two ways of computing may be apart, as a share of the stem.

    An angle of r radians is rounded to eps·r, once where the product is taken and once where φ is added.
    """
    return 2e-12 + 2 * np.finfo(float).eps * figure.distance


@pytest.fixture(scope="module")
def page():
    """The page's mathematics, in V8."""
    with scripts("maths/fern", "maths/stretch") as v8:
        yield v8


HEIGHT = """({ rule, head_dim, base, trained, factor, distance }, content) =>
    heightOf(fern(stretched(rule, head_dim, base, trained, trained * factor), distance, content))"""


def test_reach_of_equal_vectors_is_their_score(page):
    heights = page.answer([(HEIGHT, [state, {}]) for state in STATES])
    for state, height in zip(STATES, heights, strict=True):
        figure = Fern(**state)
        spec = spec_of(figure)
        expected = spec.attention_factor**2 * mean_cosine(spec.inv_freq, [figure.distance])[0]
        np.testing.assert_allclose([figure.reach, height], expected, rtol=0, atol=near(figure))


def test_score_of_a_query_and_a_key_is_the_librarys(page):
    vectors = [RNG.normal(size=(2, state["head_dim"])) for state in STATES]
    figures = [Fern.of(q, k, **state) for (q, k), state in zip(vectors, STATES, strict=True)]
    contents = [{"lengths": figure.lengths, "angles": figure.angles} for figure in figures]
    heights = page.answer([(HEIGHT, [*both]) for both in zip(STATES, contents, strict=True)])
    for (q, k), figure, height in zip(vectors, figures, heights, strict=True):
        spec = spec_of(figure)
        rotated = [spec.attention_factor * vector for vector in (q, k)]
        expected = score_curve(*rotated, spec.inv_freq, [figure.distance])[0]
        whole = sum(figure.lengths)
        np.testing.assert_allclose(
            [figure.score, height * whole], expected, rtol=0, atol=whole * near(figure)
        )


def test_what_moves_both_words_moves_no_hand():
    for start in (0, 7, 1000, 100_000):
        assert Fern(distance=300, start=start).reach == Fern(distance=300).reach


def test_reach_is_told_to_whoever_watches_it():
    figure, heard = Fern(distance=0), []
    figure.observe(lambda change: heard.append(change.new), "reach")
    figure.distance = 100
    figure.stage = "bend"
    assert heard[0] == Fern(distance=100).reach
    assert heard[-1] == Fern(distance=8000, base=500_000).reach
    with pytest.raises(Exception, match="read-only"):
        figure.reach = 1.0


@pytest.mark.parametrize("name", fern.models())
def test_a_models_fern_turns_as_its_config_says(name):
    figure = Fern(model=name)
    spec = rope_from_config(preset(name).config)
    np.testing.assert_allclose(spec_of(figure).inv_freq, spec.inv_freq, rtol=1e-6)
    assert spec_of(figure).attention_factor == pytest.approx(spec.attention_factor, rel=1e-6)


def test_stages_say_what_the_first_page_says():
    heights = {stage: Fern(stage=stage).reach for stage in ("stem", "curl", "push", "far", "bend")}
    assert heights["stem"] == 1
    assert heights["push"] == heights["curl"]
    assert abs(heights["far"]) < 0.05
    assert round(heights["bend"], 2) == 0.39
