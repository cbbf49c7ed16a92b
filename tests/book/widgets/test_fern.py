"""The height of a fern's tip is the score of the library, in Python and in the page."""

import json

import numpy as np
import pytest

from rope_book.results.page_heads import load_page_heads
from rope_book.widgets import Fern, RealHead
from rope_book.widgets.maths import fern_of_config
from rope_book.widgets.maths.real_head import pair_shares
from rope_doctor.config import PRESETS, ConfigError, read_config, rope_from_config
from rope_edu.encodings import RopeSpec, mean_cosine, score_curve

from .v8 import scripts

RNG = np.random.default_rng(40)
RULES = [rule for rule in Fern.controls()["rule"].options if rule != "file"]
STATES = [
    {
        "rule": str(RNG.choice(RULES)),
        "head_dim": int(RNG.choice(fern_of_config.WIDTHS)),
        "base": float(10 ** RNG.uniform(2, 8)),
        "distance": float(np.floor(10 ** RNG.uniform(0, 6) - 1)),
        "trained": int(2 ** RNG.uniform(6, 17)),
        "factor": float(2 ** RNG.uniform(0, 7)),
    }
    for _ in range(200)
]


def near(figure) -> float:
    """Return the tolerance between two ways of computing a height, as a share of the stem.

    An angle of r radians has a rounding error of eps·r from its product, and another from adding φ.
    """
    return 2e-12 + 2 * np.finfo(float).eps * figure.distance


@pytest.fixture(scope="module")
def page():
    """The page's mathematics, in V8."""
    with scripts("maths/fern", "maths/stretch", "maths/fern_of_config", "maths/real_head") as v8:
        yield v8


HEIGHT = """({ rule, head_dim, base, trained, factor, distance }, content) =>
    heightOf(fern(stretched(rule, head_dim, base, trained, trained * factor), distance, content))"""


def test_reach_of_equal_vectors_is_their_score(page):
    heights = page.answer([(HEIGHT, [state, {}]) for state in STATES])
    for state, height in zip(STATES, heights, strict=True):
        figure = Fern(**state)
        spec = figure.spec
        expected = spec.attention_factor**2 * mean_cosine(spec.inv_freq, [figure.distance])[0]
        np.testing.assert_allclose([figure.reach, height], expected, rtol=0, atol=near(figure))


def test_score_of_a_query_and_a_key_is_the_librarys(page):
    vectors = [RNG.normal(size=(2, state["head_dim"])) for state in STATES]
    figures = [Fern.of(q, k, **state) for (q, k), state in zip(vectors, STATES, strict=True)]
    contents = [{"lengths": figure.lengths, "angles": figure.angles} for figure in figures]
    heights = page.answer([(HEIGHT, [*both]) for both in zip(STATES, contents, strict=True)])
    for (q, k), figure, height in zip(vectors, figures, heights, strict=True):
        spec = figure.spec
        rotated = [spec.attention_factor * vector for vector in (q, k)]
        expected = score_curve(*rotated, spec.inv_freq, [figure.distance])[0]
        whole = sum(figure.lengths)
        np.testing.assert_allclose(
            [figure.score, height * whole], expected, rtol=0, atol=whole * near(figure)
        )


def test_text_in_front_of_both_words_moves_no_hand():
    for start in (0, 7, 1000, 100_000):
        assert Fern(distance=300, start=start).reach == Fern(distance=300).reach


def test_observers_are_told_of_a_new_reach():
    figure, heard = Fern(distance=0), []
    figure.observe(lambda change: heard.append(change.new), "reach")
    figure.distance = 100
    figure.stage = "bend"
    assert heard[0] == Fern(distance=100).reach
    assert heard[-1] == Fern(distance=8000, base=500_000).reach
    with pytest.raises(Exception, match="reach is a result: set the controls"):
        figure.reach = 1.0


JOBS = list(RealHead.controls()["job"].options)
SHARES = """(q, k, m, n, rotation) => pairShares(q, k, m, n, rotation, "interleaved")"""


@pytest.mark.parametrize("job", JOBS)
def test_a_real_heads_fern_is_as_high_as_its_sum_over_pairs(page, job):
    head, spec = load_page_heads()[job], RealHead(job=job).spec
    rotation = {"invFreq": spec.inv_freq.tolist(), "attentionFactor": spec.attention_factor}
    words = [(n, m, k) for n in range(3) for m, k in ((15, 14), (19, 3), (7, 7), (1, 0))]
    shares = page.answer([(SHARES, [head.q[n, m], head.k[n, k], m, k, rotation]) for n, m, k in words])
    for (n, m, k), terms in zip(words, shares, strict=True):
        q, key = head.q[n, m], head.k[n, k]
        figure = Fern.of(q, key, base=1e5, distance=float(m - k))
        score, apart = figure.score / np.sqrt(64), sum(figure.lengths) * near(figure)
        assert score == pytest.approx(sum(pair_shares(q, key, m, k, spec)), abs=apart)
        assert score == pytest.approx(sum(terms), abs=apart)
        scores = score_curve(q, key, spec.inv_freq, [float(m - k)])
        assert score == pytest.approx(scores[0] / np.sqrt(64), abs=apart)


def test_the_head_that_reads_the_word_before_stands_highest_at_one_token():
    head = load_page_heads()["previous"]
    heights = [Fern.of(head.q[0, 15], head.k[0, 14], base=1e5, distance=float(r)).reach for r in range(20)]
    assert np.argmax(heights) == 1


@pytest.mark.parametrize("preset", PRESETS, ids=lambda each: each.name)
def test_a_configs_fern_turns_as_the_config_says(preset):
    config = preset.config
    for layers, settings in fern_of_config.ferns(config).items():
        longest = read_config(config, layer_type=layers.replace(" ", "_") or None).longest
        spec = rope_from_config(config, layer_type=layers.replace(" ", "_") or None, seq_len=longest)
        figure = Fern(**settings)
        np.testing.assert_allclose(figure.spec.inv_freq, spec.inv_freq, rtol=2e-6)
        assert figure.spec.attention_factor == pytest.approx(spec.attention_factor, rel=2e-6)
        model = f"{preset.name}, {layers}" if layers else preset.name
        assert Fern(model=model).reach == figure.reach


def test_a_longrope_file_grows_the_fern_of_the_length_that_it_claims():
    config = {
        "model_type": "phi3",
        "head_dim": 16,
        "rope_theta": 1e4,
        "max_position_embeddings": 131_072,
        "original_max_position_embeddings": 4096,
        "rope_scaling": {
            "type": "longrope",
            "short_factor": [1.0] * 8,
            "long_factor": [1.0, 1.1, 1.5, 4.0, 9.0, 20.0, 40.0, 60.0],
        },
    }
    figure = Fern.of_config(config)
    assert figure.rule == "file"
    long = rope_from_config(config, seq_len=131_072)
    np.testing.assert_allclose(figure.spec.inv_freq, long.inv_freq, rtol=1e-6)
    assert not np.allclose(long.inv_freq, rope_from_config(config).inv_freq)


BEYOND = {
    "trained": ("max_position_embeddings", 16, 2**24),
    "base": ("rope_theta", 10.0, 1e12),
}


@pytest.mark.parametrize("control", BEYOND)
def test_a_number_beyond_the_ends_of_a_control_takes_the_end(page, control):
    key, *values = BEYOND[control]
    slider = Fern.controls()[control]
    for value, end in zip(values, (slider.low, slider.high), strict=True):
        config = {"model_type": "llama", "head_dim": 64, "rope_theta": 1e4, "max_position_embeddings": 512}
        ferns = fern_of_config.ferns(config | {key: value})
        assert ferns[""][control] == end
        (fern,) = page.evaluate(f"fernsOf({json.dumps(config | {key: value})})")
        assert fern[1][control] == end


BAD = ["", "{", "[]", "3", "{}", '{"model_type": "llama", "head_dim": 64, "rope_theta": -1}']


@pytest.mark.parametrize("text", BAD)
def test_a_text_that_is_no_config_gets_a_sentence(page, text):
    refused = page.evaluate(f"readFerns({json.dumps(text)})")["refused"]
    assert len(refused.split()) >= 4
    if text.startswith("{") and text.endswith("}"):
        with pytest.raises(ConfigError) as error:
            fern_of_config.ferns(json.loads(text))
        assert str(error.value) == refused


def test_a_model_without_rotation_has_no_fern(page):
    still = {"model_type": "llama", "head_dim": 64, "rope_theta": 1e4, "position_embedding_type": "nope"}
    assert fern_of_config.ferns(still) == {}
    assert page.evaluate(f"readFerns({json.dumps(json.dumps(still))})") == {"ferns": []}


def test_frequencies_of_a_file_turn_the_hands():
    rates = [1.0, 0.25, 0.0]
    figure = Fern(rule="file", frequencies=rates, attention_factor=1.5, distance=2.0)
    assert figure.reach == pytest.approx(1.5**2 * np.mean(np.cos(2 * np.array(rates))))
    assert figure.spec == RopeSpec(rates, 1.5, kind="file")
    assert Fern(rule="file", distance=7.0).reach == Fern(distance=7.0).reach


def test_stages_say_what_the_first_page_says():
    heights = {stage: Fern(stage=stage).reach for stage in ("stem", "curl", "push", "far", "bend")}
    assert heights["stem"] == 1
    assert heights["push"] == heights["curl"]
    assert abs(heights["far"]) < 0.05
    assert round(heights["bend"], 2) == 0.39
