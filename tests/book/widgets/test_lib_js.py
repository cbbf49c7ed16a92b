"""The shared library: texts are cut between characters, labels stay inside and apart, numbers read well."""

import itertools
import json
import random
from contextlib import ExitStack, suppress
from pathlib import Path

import numpy as np
import pytest
from traitlets import TraitError

from rope_book.widgets import LiveFigure

from .drawn import moved
from .v8 import Scripts, scripts

NOTEBOOKS = Path(__file__).resolve().parents[3] / "notebooks"


@pytest.fixture(scope="module")
def lib():
    """Evaluate an expression with a file's exports in scope: lib("words", 'textWidth("a", 10)')."""
    files: dict[str, Scripts] = {}
    with ExitStack() as open_files:

        def evaluate(name, expression):
            if name not in files:
                files[name] = open_files.enter_context(scripts(f"lib/{name}"))
            return files[name].evaluate(expression)

        yield evaluate


@pytest.mark.parametrize(
    ("text", "space", "expected"),
    [
        ("short", 100, "short"),
        ("processing", 50, "proce…"),
        ("one two three", 70, "one two…"),
        ("one two three", 57, "one…"),
        ("a verylongword", 60, "a very…"),  # a cut at the boundary would leave too little
        ("👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧", 45, "👩‍👩‍👧…"),
        ("naïve café", 30, "na…"),
    ],
)
def test_a_text_is_cut_between_characters_and_words(lib, text, space, expected):
    cut = lib("words", f"shortened({text!r}, {space})")
    assert cut == expected
    assert lib("words", f"textWidth({cut!r})") <= space


@pytest.mark.parametrize("space", range(14, 120, 7))
def test_no_cut_leaves_half_a_character(lib, space):
    text = "hi 👩‍👩‍👧 e\u0301te\u0301 🇫🇷 日本語"
    whole = lib("words", f"graphemes({text!r})")
    cut = lib("words", f"graphemes(shortened({text!r}, {space}))")
    assert cut[:-1] == whole[: len(cut) - 1]
    assert cut[-1] in ("…", whole[-1])


def test_a_figure_without_python_asks_for_all_cells_since_its_own_needs_the_setup(lib):
    said = lib(
        "gone",
        """(() => {
            const [said, hears] = [[], []];
            const html = { setAttribute() {}, append: (words) => said.push(words) };
            globalThis.document = { createElement: () => html };
            const statusChanged = { connect: (hear) => hears.push(hear), disconnect() {} };
            tellWhenGone({ append() {} }, { widget_manager: { context: { sessionContext: { statusChanged } } } });
            for (const status of ["busy", "dead"]) hears[0](undefined, status);
            return said;
        })()""",
    )
    assert said == [
        "Python was stopped or restarted and no longer knows this figure: run all cells from the top."
    ]
    asleep = lib("keep", "ASLEEP")
    assert asleep in (NOTEBOOKS / "04_rotate_one_pair.ipynb").read_text(encoding="utf-8")
    assert asleep.startswith("Run all cells from the top")


def test_bold_words_are_taken_for_wider(lib):
    assert lib("words", 'textWidth("query", 13, true) > textWidth("query", 13)')


def test_labels_keep_inside_their_frame_and_apart(lib):
    placed = lib(
        "labels",
        """(() => {
            const labels = new Labels({ x: 0, y: 0, w: 300, h: 200 });
            const places = [];
            for (const at of [[150, 100], [152, 101], [150, 98], [298, 199], [1, 1]]) {
                labels.avoidDot(at, 5);
                places.push(labels.place(60, spotsAround(at, 60)));
            }
            return places.map(({ left, baseline }) => [left, baseline - 12, left + 60, baseline + 4]);
        })()""",
    )
    assert all(
        left >= 0 and right <= 300 and top >= 0 and bottom <= 200 for left, top, right, bottom in placed
    )
    for i, a in enumerate(placed):
        for b in placed[:i]:
            assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]


def test_a_legend_breaks_its_lines_within_the_width(lib):
    items = '[..."abcdef"].map((letter) => ({ words: letter.repeat(12) }))'
    placed = lib("labels", f"inLines({items}, 320)")
    assert {item["line"] for item in placed} == {0, 1, 2}
    assert all(item["x"] == 0 or item["x"] + 34 + 12 * 0.36 * 13 <= 320 for item in placed)


def test_the_memoiser_computes_once_and_forgets_the_least_used(lib):
    calls = lib(
        "memo",
        """(() => {
            const calls = [];
            const square = memo((x) => (calls.push(x), x * x), 2);
            for (const x of [1, 2, 1, 3, 1, 2]) square(x);
            return calls;
        })()""",
    )
    assert calls == [1, 2, 3, 2]


@pytest.mark.parametrize(("took", "expected"), [(200, 10), (250, 8), (160, 13), (1e4, 5), (1, 20)])
def test_the_next_portion_takes_the_time_that_is_wanted_and_changes_by_no_more_than_two(lib, took, expected):
    assert lib("work", f"paced(10, {took}, 200)") == expected


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("significant(0.0316228)", "0.0316"),
        ("significant(2.72e-6)", "2.72·10⁻⁶"),
        ("significant(0)", "0"),
        ("significant(4.1e-8, 2, 2, 4)", "4.1·10⁻⁸"),
        ("decade(-2)", "0.01"),
        ("decade(-9)", "10⁻⁹"),
        ("[2, 3].map((power) => decade(power)).join()", "100,10³"),
        ("grouped(-54410)", "−54,410"),
        ("abbreviated(2000000)", "2 M"),
        ("fmt(-0.001)", "0.00"),
        ("ticks(3, 3).join()", "3"),
    ],
)
def test_numbers_are_written_as_a_reader_writes_them(lib, call, expected):
    assert lib("numbers", call) == expected


def test_a_line_takes_as_many_words_as_fit(lib):
    text, space = "one two three four five six", 90
    lines = lib("words", f'wrapped("{text}", {space})')
    assert " ".join(line.strip() for line in lines) == text
    assert len(lines) > 1
    for line, following in itertools.pairwise(lines):
        more = f"{line} {following.split()[0]}"
        assert lib("words", f'textWidth("{line}")') <= space < lib("words", f'textWidth("{more}")')


def test_numbers_are_sorted_by_size_and_each_is_kept_once(lib):
    assert lib("numbers", "sorted([30, 4, 200, 4])") == [4, 30, 200]


def test_a_label_stands_level_with_its_point_and_inside_the_frame(lib):
    assert lib("labels", "spotsAround([100, 50], 40).slice(0, 2)") == [[111, 42], [49, 42]]
    for left, inside in ((-30, 2), (50, 50), (290, 258)):
        placed = f"new Labels({{ x: 0, y: 0, w: 300, h: 100 }}).place(40, [[{left}, 20]]).left"
        assert lib("labels", placed) == inside


@pytest.mark.parametrize("edge", [[1, 20], [259, 20], [100, 1], [100, 83]])
def test_a_spot_less_than_two_pixels_from_an_edge_gives_way_to_one_further_inside(lib, edge):
    placed = f"new Labels({{ x: 0, y: 0, w: 300, h: 100 }}).placeFree(40, [{edge}, [120, 40]])"
    assert lib("labels", placed)["left"] == 120


def test_lead_controls_are_beside_the_picture_and_the_others_under_more(lib):
    assert lib("leads", 'placed(["a", "b", "c", "d"], {})') == [["a", "b", "c"], ["d"], []]
    assert lib("leads", 'placed(["a", "b", "c", "d"], { lead: ["d", "a"] })') == [["d", "a"], ["b", "c"], []]
    assert lib("leads", 'placed(["a", "b"], {})') == [["a", "b"], [], []]
    assert lib("leads", 'placed(["a", "b", "c"], { answers: "b" })') == [["a", "c"], [], ["b"]]


def test_a_small_form_has_the_controls_and_parts_asked_for(lib):
    assert lib("leads", 'placed(["a", "b", "c"], { lead: ["a"], only: ["rail", "c"] })') == [["c"], [], []]
    shown = """["rail", "score"].map(viewOf(%s, ["a", "b"]).shows)"""
    assert lib("leads", shown % "null") == [True, True]
    assert lib("leads", shown % '["a"]') == [True, True]  # no part named means all of them
    assert lib("leads", shown % '["a", "rail"]') == [True, False]
    assert lib("leads", 'viewOf(["a"], ["a"]).small') is True
    assert lib("leads", 'viewOf(undefined, ["a"]).small') is False


def test_few_options_keep_their_order(lib):
    control = '{ options: [["a", "A"], ["b", "B"], ["c", "C"]] }'
    assert lib("leads", f'withFew({control}, ["c", "a"]).options') == [["a", "A"], ["c", "C"]]
    assert len(lib("leads", f"withFew({control}, undefined).options")) == 3


@pytest.mark.parametrize(
    ("figure", "lead"), [(name, figure.lead) for name, figure in LiveFigure.figures.items()]
)
def test_the_page_knows_the_lead_controls(lib, figure, lead):
    assert lib("leads", f'namedBy("{figure}").lead') == (list(lead) or None)


def test_a_line_of_python_names_what_a_small_form_has(lib):
    controls = "{ m: { default: 1 } }"
    line = 'pythonLine("Clocks", %s, { m: %d }, %s)'
    assert lib("state", line % (controls, 1, "undefined")) == "Clocks()"
    assert lib("state", line % (controls, 2, '["m"]')) == "Clocks(m=2, only=('m',))"
    assert lib("state", line % (controls, 1, '["m", "faces"]')) == "Clocks(only=('m', 'faces'))"


@pytest.mark.parametrize("name", ["RotatePair", "ModelInThePage", "Fern", "ScoreDistance"])
def test_in_a_notebook_the_line_sets_the_figure_that_is_there(lib, name):
    figure = LiveFigure.figures[name]()
    made, chance = repr(figure), random.Random(name)
    controls = json.dumps({control["name"]: control for control in figure._controls})
    for _ in range(5):
        wanted = type(figure)()
        for trait in chance.sample(list(figure.controls()), 3):
            with suppress(TraitError):  # another control may rule it out
                setattr(wanted, trait, moved(figure.controls()[trait], chance))
        line = lib("state", f"setLine({controls}, {json.dumps(wanted.values())})")
        exec(line, {"figure": figure})
        assert repr(figure) == repr(wanted), line
    exec(lib("state", f"setLine({controls}, {json.dumps(type(figure)().values())})"), {"figure": figure})
    assert repr(figure) == made


def reached(figure: str, share: float, smooth: str = "[]") -> str:
    """Return a script that interpolates between the figure's first state and others, at a share of the way."""
    return f"""(() => {{
        const controls = Object.fromEntries(described["{figure}"].map((each) => [each.name, each]));
        return states["{figure}"].map((to) => between(controls, initialOf(controls), to, {share}, {smooth}));
    }})()"""


@pytest.fixture(scope="module")
def gliding():
    """V8 with the interpolation, and for each figure its controls and some states that Python allows."""
    rng = np.random.default_rng(11)
    described, states = {}, {}
    for name, figure in LiveFigure.figures.items():
        first = figure()
        described[name] = first.get_state()["_controls"]
        states[name] = [somewhere(figure, rng) for _ in range(12)]
    with scripts("lib/glide", "lib/state") as started:
        told = json.dumps([described, states])
        started.engine.eval(f"const [described, states] = JSON.parse({json.dumps(told)}); 0")
        yield started, states


def somewhere(figure, rng) -> dict:
    """Return a state that a reader can reach, one control after another."""
    made = figure()
    for name, control in figure.controls().items():
        value = control.default_value
        if control.kind == "slider":
            value = control.low + rng.random() * (control.high - control.low)
            value = int(value) if control.whole else float(value)
        elif control.kind == "point":
            value = ((rng.uniform(-1, 1, 2) * control.limit).round(2) + 0.0).tolist()  # no −0
        elif control.kind == "choice":
            value = list(control.options)[rng.integers(len(control.options))]
        try:
            setattr(made, name, value)
        except TraitError:
            continue  # a rule between controls refuses it
    return {name: getattr(made, name) for name in figure.controls()}


@pytest.mark.sampled
@pytest.mark.parametrize("figure", sorted(LiveFigure.figures))
def test_a_glide_ends_where_a_jump_would_and_every_state_on_the_way_is_one(gliding, figure):
    started, states = gliding
    cls = LiveFigure.figures[figure]
    assert started.evaluate(reached(figure, 1)) == json.loads(json.dumps(states[figure]), parse_int=float)
    for share in (0.1, 0.5, 0.9):
        for now, to in zip(started.evaluate(reached(figure, share)), states[figure], strict=True):
            chosen = {name: to[name] for name, each in cls.controls().items() if each.kind != "slider"}
            moving = {name: v for name, v in now.items() if name not in chosen}
            for name, value in moving.items():
                cls.controls()[name].clean(value)
            if not any(rule.word == "preset" for each in cls.controls().values() for rule in each.rules):
                cls(**(chosen | moving | {n: now[n] for n in chosen if cls.controls()[n].kind == "point"}))


def test_whole_numbers_leave_at_once_and_logarithms_glide_evenly(lib):
    whole = '{ n: { kind: "slider", whole: true, low: 0, high: 100 } }'
    log = '{ n: { kind: "slider", log: true, low: 1, high: 10000 } }'
    assert lib("glide", f"between({whole}, {{ n: 2 }}, {{ n: 3 }}, 0.01)") == {"n": 3}
    assert lib("glide", f"between({whole}, {{ n: 9 }}, {{ n: 3 }}, 0.5)") == {"n": 6}
    assert lib("glide", f'between({whole}, {{ n: 2 }}, {{ n: 3 }}, 0.5, ["n"])') == {"n": 2.5}
    assert lib("glide", f"between({log}, {{ n: 1 }}, {{ n: 10000 }}, 0.5)")["n"] == pytest.approx(100)


@pytest.mark.parametrize("room", [120, 300, 422])
@pytest.mark.parametrize(("width", "across"), [(316, 390), (286, 360), (760, 792)])
def test_words_of_a_held_picture_stay_legible(lib, room, width, across):
    size = f"{{ width: {width}, height: 900 }}"
    box = lib("picture", f"heldBox({size}, [20, 700], {{ across: {across}, room: {room} }})")
    assert (box["x"], box["y"], box["w"]) == (0, 20, width)
    assert box["y"] + box["h"] <= 700
    assert 12 * min(across / width, room / box["h"]) >= 11 - 1e-9
    small = lib("picture", f"heldBox({size}, [20, 90], {{ across: {across}, room: {room} }})")
    assert small["h"] == 70
    shown = lib("picture", f"heldBox({size}, [0, 9000], {{ across: {2 * width}, room: {room} }})")
    assert shown["h"] == pytest.approx(
        room * 12 / 11
    )  # a picture that need not shrink shows no less than it can


def test_a_letter_is_as_wide_as_its_kind(lib):
    ems = {"i": 0.36, "m": 1, "a": 0.6, "é": 0.6, "日": 1, "🐷": 1.3, "👩‍👩‍👧": 1.3}
    assert {letter: lib("words", f'textWidth("{letter}", 1)') for letter in ems} == ems
    assert lib("words", 'graphemes("ab")') == ["a", "b"]
    assert lib("words", 'graphemes("a👩‍👩‍👧")') == ["a", "👩‍👩‍👧"]


def test_a_text_is_split_as_unicode_has_it_with_and_without_the_slow_segmenter(lib):
    """Every code point up to the Chinese characters, and the full-width ones, after itself and before a letter."""
    script = """(() => {
        const unicode = new Intl.Segmenter();
        const between = (low, high) => Array.from({ length: high - low }, (_, n) => String.fromCodePoint(low + n));
        const texts = [...between(0x20, 0x4e80), ...between(0x9f80, 0xa080), ...between(0xff00, 0x10000)]
            .map((point) => `${point}${point}e`);
        const split = (text) => Array.from(unicode.segment(text), ({ segment }) => segment);
        return texts.filter((text) => String(graphemes(text)) !== String(split(text))).slice(0, 9);
    })()"""
    assert lib("words", script) == []


@pytest.mark.parametrize(
    ("tip", "expected"),
    [
        *(([10, 0], [20, -8]), ([-10, 0], [-20 - 60, -8]), ([0, -10], [-30, -28]), ([0, 0], [-30, -18])),
        (
            [5, 12],
            [5 + 50 / 13, 4 + 120 / 13],
        ),  # more than 3 pixels to the side: the words begin or end there
        ([-5, 12], [-5 - 50 / 13 - 60, 4 + 120 / 13]),
        ([7, 24], [7 + 70 / 25 - 30, 16 + 240 / 25]),  # less: they are centred
    ],
)
def test_a_label_beyond_a_tip_is_straight_ahead_first(lib, tip, expected):
    spots = lib("labels", f"spotsBeyond({tip}, [0, 0], 60)")
    assert spots[0] == pytest.approx(expected)
    assert len({tuple(spot) for spot in spots}) == len(spots) == 45


def test_a_centred_text_stays_between_two_edges(lib):
    half = lib("words", 'textWidth("words", 13)') / 2
    places = [lib("labels", f'centred({x}, "words", 10, 200)') for x in (0, 100, 300)]
    assert places == pytest.approx([10 + half, 100, 200 - half])


CLOCK = """Object.assign(globalThis, {
    now: 0, performance: { now: () => globalThis.now }, document: { hidden: false },
    matchMedia: () => ({ matches: false }), requestAnimationFrame: () => 1, cancelAnimationFrame: () => {},
})"""


def test_a_glide_starts_fast_and_ends_slowly(lib):
    lib("glide", f"({CLOCK}, 0)")
    controls = '{ v: { kind: "slider", low: 0, high: 1 } }'
    at = lib(
        "glide",
        f"""(() => {{
            const glide = makeGlide({controls}, {{ time: 100 }}, {{ draw() {{}}, arrived() {{}} }});
            glide.start({{ v: 0 }}, {{ v: 1 }});
            return [0, 25, 50, 75, 100].map((time) => (now = time, glide.shown({{ v: 1 }}).v));
        }})()""",
    )
    assert at == pytest.approx([1 - (1 - share) ** 3 for share in (0, 0.25, 0.5, 0.75, 1)])


def test_a_glide_that_is_asked_to_land_has_arrived_once(lib):
    lib("glide", f"({CLOCK}, 0)")
    controls = '{ v: { kind: "slider", low: 0, high: 1 } }'
    seen = lib(
        "glide",
        f"""(() => {{
            let arrivals = 0;
            const glide = makeGlide({controls}, {{ time: 100 }}, {{ draw() {{}}, arrived: () => (arrivals += 1) }});
            glide.start({{ v: 0 }}, {{ v: 1 }});
            const before = [glide.busy(), glide.shown({{ v: 1 }}).v];
            glide.land();
            glide.land();
            return [...before, glide.busy(), glide.shown({{ v: 1 }}).v, arrivals];
        }})()""",
    )
    assert seen == [True, 0, False, 1, 1]


PLAYED = """(() => {
    const element = { setAttribute() {}, append() {}, classList: { add() {}, remove() {} }, isConnected: true };
    let [frame, now, press, value] = [undefined, 0, undefined, 0];
    globalThis.matchMedia = () => ({ matches: %s });
    globalThis.performance = { now: () => now };
    globalThis.document = { createElement: () => element };
    globalThis.requestAnimationFrame = (call) => { frame = call; return 1; };
    element.addEventListener = (_, call) => { press = call; };
    const controls = { n: { low: 0, high: 3, step: 1, whole: true } };
    globalThis.cancelAnimationFrame = () => { frame = undefined; };
    const [live, moved] = [{ controls, read: () => ({ n: value }) }, ({ n }) => { value = n; }];
    const { playing } = makePlay({ trait: "n", perSecond: 1 }, live, moved, () => { value = "rests"; });
    press();
    const seen = Array.from({ length: 6 }, () => { frame((now += 1000)); return value; });
    const before = playing();
    press();
    return [seen, before, playing(), value, frame === undefined];
})()"""


@pytest.mark.parametrize("calm", ["false", "true"])
def test_play_shows_the_last_value_before_it_begins_again(lib, calm):
    assert lib("play", PLAYED % calm) == [[1, 2, 3, 0, 1, 2], True, False, "rests", True]
