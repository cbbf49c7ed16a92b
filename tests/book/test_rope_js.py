"""The figures' mathematics equals the library's, on one grid, to 1e-12 (relative where a value is above 1)."""

import itertools
import math
import re
from pathlib import Path

import numpy as np
import pytest

import rope_edu
from rope_edu.attention import Additive, NoPosition, Rotary, ScoreBias
from rope_edu.encodings import dynamic_ntk
from rope_edu.widgets import words
from rope_edu.widgets._bundle import JS, source

pytestmark = pytest.mark.browser
WIDTHS = [2, 4, 8, 16, 64, 128, 256]
BASES = [2.0, 100.0, 10_000.0, 500_000.0, 1e6]
POSITIONS = [0, 1, 2, 7, 100, 777, 2048, 4096]
GRID = list(itertools.product(WIDTHS, BASES))
RNG = np.random.default_rng(2104)
VECTORS = {width: RNG.normal(size=(2, width)) for width in WIDTHS}


@pytest.fixture(scope="module")
def rope(browser):
    """Call a function of rope.js: rope("invFreq", 8, 10000)."""
    page = browser.new_page()
    text = re.sub(r"^export ", "", source("rope"), flags=re.MULTILINE)
    page.add_script_tag(content=text)
    yield lambda name, *arguments: page.evaluate(f"(a) => {name}(...a)", list(arguments))
    page.close()


def assert_same(found, expected):
    """Compare to 1e-12, absolutely below 1 and relatively above."""
    np.testing.assert_allclose(np.asarray(found, float), np.asarray(expected, float), rtol=1e-12, atol=1e-12)


def frequencies(width, base=10_000.0):
    return rope_edu.inv_freq(width, base)


@pytest.mark.parametrize(("width", "base"), GRID)
def test_frequencies_wavelengths_and_angles(rope, width, base):
    expected = frequencies(width, base)
    assert_same(rope("invFreq", width, base), expected)
    assert_same(rope("wavelength", expected.tolist()), rope_edu.wavelength(expected))
    for position in POSITIONS:
        angles = rope_edu.rope_angles(position, expected)
        assert_same(rope("ropeAngles", position, expected.tolist()), angles)


@pytest.mark.parametrize("angle", [-7.5, -0.3, 0.0, 0.25, np.pi / 2, 3.0, 100.0])
def test_rotating_a_pair(rope, angle):
    assert_same(rope("rotatePair", [1.2, -0.3], angle), rope_edu.encodings.rotate_pair([1.2, -0.3], angle))


@pytest.mark.parametrize(
    ("width", "layout", "position"),
    list(itertools.product(WIDTHS, rope_edu.encodings.LAYOUTS, [0, 1, 777, 4096])),
)
def test_rotating_a_head_and_passing_its_tail(rope, width, layout, position):
    x, angles = VECTORS[width][0], rope_edu.rope_angles(position, frequencies(width))
    assert_same(
        rope("applyRope", x.tolist(), angles.tolist(), layout), rope_edu.apply_rope(x, angles, layout=layout)
    )
    half = angles[: max(1, len(angles) // 2)]
    assert_same(
        rope("applyRope", x.tolist(), half.tolist(), layout), rope_edu.apply_rope(x, half, layout=layout)
    )


@pytest.mark.parametrize("width", WIDTHS)
def test_layout_permutation(rope, width):
    assert rope("layoutPermutation", width) == list(rope_edu.encodings.layout_permutation(width))


@pytest.mark.parametrize(("width", "base"), GRID)
def test_sinusoidal(rope, width, base):
    for position in POSITIONS:
        assert_same(
            rope("sinusoidal", position, width, base), rope_edu.sinusoidal([position], width, base)[0]
        )


@pytest.mark.parametrize("width", WIDTHS)
def test_score_curve_and_bound(rope, width):
    q, k = VECTORS[width]
    distances = [-300, -1, *POSITIONS]
    arguments = [q.tolist(), k.tolist(), frequencies(width).tolist(), distances]
    expected = rope_edu.encodings.score_curve(q, k, frequencies(width), distances)
    assert_same(rope("scoreCurve", *arguments), expected)
    assert_same(
        rope("roformerBound", *arguments),
        rope_edu.encodings.roformer_bound(q, k, frequencies(width), distances),
    )
    assert_same(rope("trivialBound", q.tolist(), k.tolist()), rope_edu.encodings.trivial_bound(q, k))
    products = np.asarray(rope("pairProducts", q.tolist(), k.tolist()))
    assert_same(products[:, 0].sum(), q @ k)


@pytest.mark.parametrize("width", WIDTHS)
def test_kept_turns_at_every_distance(rope, width):
    call = "((f, distances) => distances.map(makeTurns(f)))"
    distances = [*range(0, 1025, 5), 1024, 1025, 4096]
    angles = rope_edu.rope_angles(distances, frequencies(width))
    expected = np.stack([np.cos(angles), np.sin(angles)], -1).reshape(len(distances), -1)
    assert_same(rope(call, frequencies(width).tolist(), distances), expected)


@pytest.mark.parametrize("bidirectional", [True, False])
@pytest.mark.parametrize(("buckets", "longest"), [(32, 128), (16, 64), (8, 32), (32, 256), (64, 512)])
def test_t5_buckets(rope, bidirectional, buckets, longest):
    relative = np.arange(-1500, 1501)
    found = rope(
        "((list, ...rest) => list.map((r) => t5Bucket(r, ...rest)))",
        relative.tolist(),
        bidirectional,
        buckets,
        longest,
    )
    expected = rope_edu.t5_bucket(
        relative, bidirectional=bidirectional, num_buckets=buckets, max_distance=longest
    )
    assert found == expected.tolist()


@pytest.mark.parametrize("clip", [1, 2, 5, 24])
def test_shaw_index(rope, clip):
    expected = rope_edu.encodings.shaw_index(48, 48, clip)
    for i, j in [(0, 0), (0, 47), (47, 0), (20, 22), (22, 20), (30, 29)]:
        assert rope("shawIndex", j - i, clip) == expected[i, j]


@pytest.mark.parametrize("heads", range(1, 41))
def test_alibi_slopes(rope, heads):
    assert_same(rope("alibiSlopes", heads), rope_edu.alibi_slopes(heads))


def test_softmax(rope):
    scores = (VECTORS[64][0] * 30).tolist()
    assert_same(rope("softmax", scores), rope_edu.softmax(np.array(scores)))


def test_normal_numbers_are_normal_and_repeat(rope):
    first, again = rope("normals", 7, 20_000), rope("normals", 7, 20_000)
    assert first == again
    assert first[:5] != rope("normals", 8, 5)
    assert abs(np.mean(first)) < 0.03
    assert abs(np.std(first) - 1) < 0.03
    assert abs(np.mean(np.power(first, 4)) - 3) < 0.25


@pytest.mark.parametrize("seed", [0, 7, 126, 2**31, 2**32 - 1])
def test_normal_numbers_are_those_of_python(rope, seed):
    assert_same(rope("normals", seed, 100), words.normals(seed, 100))


@pytest.mark.parametrize(
    "word", ["I", "love", "Love", "processing", "naïve", "Ünïcode", "日本語", "🙂", "don't"]
)
def test_word_vectors(rope, word):
    assert_same(rope("wordAsVector", word, 8), words.word_vector(word))


def test_matrix_times_column(rope):
    w, x = words.head_matrices()[0], words.word_vector("love")
    assert_same(rope("matVec", w.tolist(), x), w @ x)


HEADS = {
    "none": lambda causal: NoPosition(),
    "sinusoidal": lambda causal: Additive(lambda positions: rope_edu.sinusoidal(positions, 8)),
    "alibi": lambda causal: ScoreBias(lambda q, k_len: rope_edu.alibi_bias(8, q.shape[-2], k_len)[:1]),
    "t5": lambda causal: ScoreBias(
        lambda q, k_len: rope_edu.encodings.t5_bias(
            words.t5_table(bidirectional=not causal), q.shape[-2], k_len, bidirectional=not causal
        )
    ),
    "shaw": lambda causal: ScoreBias(
        lambda q, k_len: (
            rope_edu.encodings.shaw_scores(q, np.zeros((k_len, 8)), words.shaw_table()) / math.sqrt(8)
        )
    ),
    "rotary": lambda causal: Rotary(rope_edu.inv_freq(8)),
}


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("encoding", HEADS)
def test_head_gives_the_weights_of_the_library(rope, encoding, causal):
    sentence = "I love natural language processing I"
    w_q, w_k, _ = words.head_matrices()
    tables = {
        "wQuery": w_q,
        "wKey": w_k,
        "shaw": words.shaw_table(),
        "t5": words.t5_table(bidirectional=not causal)[:, 0],
    }
    head = {name: table.tolist() for name, table in tables.items()} | {"slope": 0.5}
    door = HEADS[encoding](causal)
    for k in (0, 1, 300, 1000):
        positions = np.arange(k, k + 6)
        x = door.embed(words.word_vectors(sentence), positions)
        eye = np.eye(8)
        _, expected = rope_edu.attention.multi_head_attention(
            x, w_q, w_k, eye, eye, n_heads=1, encoding=door, positions=positions, causal=causal
        )
        call = "((rows, head, encoding, causal, k) => makeHead(rows, head, encoding, causal)(k).map(softmax))"
        assert_same(rope(call, words.word_vectors(sentence).tolist(), head, encoding, causal, k), expected[0])


@pytest.mark.parametrize(
    ("width", "trained", "factor", "base"),
    list(itertools.product([4, 8, 64, 128], [8, 4096], [1.0, 2.0, 4.0], [100.0, 10_000.0, 500_000.0])),
)
def test_dynamic_ntk(rope, width, trained, factor, base):
    for length in (1, trained - 1, trained, trained + 1, 2 * trained, 10 * trained):
        expected = dynamic_ntk(width, length, trained, factor=factor, base=base).inv_freq
        assert_same(rope("dynamicNtkInvFreq", width, length, trained, factor, base), expected)


TIES = [
    m * (1 + odd * 2.0**-bits) for m in (1, 2049, 2**-14, 2**-24) for bits in range(6, 27) for odd in (-1, 1)
]
ENDS = [2**-25, 2**-149, 2**-150, 3.3961775292304957e38, 3.4028235e38, 3.5e38, 0.0, math.inf, math.nan]
SIZES = (RNG.uniform(1, 2, 400) * 2.0 ** RNG.integers(-150, 129, 400)).tolist()
ROUNDED = [
    sign * x for sign in (1, -1) for x in (*range(200, 600), *range(65_400, 65_540), *TIES, *ENDS, *SIZES)
]
PIPES = {
    **rope_edu.encodings.PIPELINES,
    "float64": rope_edu.encodings.Pipeline(*("float64",) * 4),
    "bfloat16": rope_edu.encodings.Pipeline(*("bfloat16",) * 4),
    "mixed": rope_edu.encodings.Pipeline("float32", "bfloat16", "float16", "float64"),
}
PLACES = [0, 1, 255, 256, 257, 777, 2049, 4100, 65_519, 65_520, 99_999, 2**20 - 1, 2**20]


def steps_of(pipeline):
    return {step: getattr(pipeline, step) for step in ("frequencies", "positions", "angles", "turns")}


@pytest.mark.parametrize("number_format", rope_edu.encodings.NUMBER_FORMATS)
def test_rounding_to_a_format_bit_for_bit(rope, number_format):
    rounded = rope("((list, f) => list.map((x) => roundTo(x, f)))", ROUNDED, number_format)
    found = np.array(rounded, float)  # a whole one comes as an int
    expected = rope_edu.encodings.round_to(ROUNDED, number_format)
    np.testing.assert_array_equal(found, expected)
    assert (np.signbit(found) == np.signbit(expected))[~np.isnan(expected)].all()


def test_named_pipelines_are_those_of_python(rope):
    found = rope("(() => Object.entries(PIPELINES))")
    assert found == [[name, steps_of(pipeline)] for name, pipeline in rope_edu.encodings.PIPELINES.items()]


@pytest.mark.parametrize("name", PIPES)
def test_turns_of_a_pipeline_and_their_errors(rope, name):
    for width, base in [(2, 100.0), (64, 1e4), (128, 5e5), (64, 1e8)]:
        rates, pipeline = frequencies(width, base), PIPES[name]
        arguments = rates.tolist(), steps_of(pipeline)
        turns = rope("((ms, ...rest) => ms.map((m) => pipelineTurns(m, ...rest)))", PLACES, *arguments)
        expected = rope_edu.encodings.pipeline_turns(PLACES, rates, pipeline)
        assert_same(turns, np.stack([expected.real, expected.imag], -1))
        for step in (0, 1, 300):
            errors = rope(
                "((ms, ...rest) => ms.map((m) => angleError(m, ...rest)))", PLACES, *arguments, step
            )
            assert_same(errors, rope_edu.encodings.angle_error(PLACES, rates, pipeline, step=step))


def test_every_function_of_rope_js_is_compared_here():
    names = set(re.findall(r"^export function (\w+)", source("rope"), flags=re.MULTILINE))
    here = Path(__file__).read_text(encoding="utf-8")
    uncompared = {name for name in names if f'"{name}"' not in here and f"{name}(" not in here}
    assert uncompared <= {"dot", "pairFeatures"}, uncompared  # parts of the functions compared above


def test_figures_take_their_mathematics_from_rope_js():
    for script in JS.glob("*.js"):
        if script.stem not in ("rope", "figure"):
            assert '"./figure.js"' in script.read_text(encoding="utf-8")
