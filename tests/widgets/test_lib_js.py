"""What figures share: words are cut between characters, labels keep inside and apart, numbers read well."""

from contextlib import ExitStack

import pytest

from rope_edu.widgets import LiveFigure

from .v8 import Scripts, scripts


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
        ("a verylongword", 60, "a very…"),  # the boundary would leave too little
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


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("significant(0.0316228)", "0.0316"),
        ("significant(2.72e-6)", "2.72·10⁻⁶"),
        ("significant(0)", "0"),
        ("significant(4.1e-8, 2, 2, 4)", "4.1·10⁻⁸"),
        ("decade(-2)", "0.01"),
        ("decade(-9)", "10⁻⁹"),
        ("grouped(-54410)", "−54,410"),
        ("abbreviated(2000000)", "2 M"),
        ("fmt(-0.001)", "0.00"),
    ],
)
def test_numbers_are_written_as_a_reader_writes_them(lib, call, expected):
    assert lib("numbers", call) == expected


def test_lead_controls_are_beside_the_picture_and_the_others_under_more(lib):
    assert lib("leads", 'placed(["a", "b", "c", "d"], {})') == [["a", "b", "c"], ["d"]]
    assert lib("leads", 'placed(["a", "b", "c", "d"], { lead: ["d", "a"] })') == [["d", "a"], ["b", "c"]]
    assert lib("leads", 'placed(["a", "b"], {})') == [["a", "b"], []]


def test_a_small_form_has_the_controls_and_parts_asked_for(lib):
    assert lib("leads", 'placed(["a", "b", "c"], { lead: ["a"], only: ["rail", "c"] })') == [["c"], []]
    shown = """["rail", "score"].map(viewOf(%s, ["a", "b"]).shows)"""
    assert lib("leads", shown % "null") == [True, True]
    assert lib("leads", shown % '["a"]') == [True, True]  # no part named: all of them
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
