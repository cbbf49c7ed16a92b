"""Figures in two languages: every template and label is translated, and no text bypasses the translation."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from rope_book.results import MODELS
from rope_book.results.page_heads import read_page_heads
from rope_book.widgets import LiveFigure
from rope_book.widgets._bundle import JS, modules
from rope_book.widgets.maths import damage, fern_of_config, patients, rail, stretch
from rope_doctor.config import PRESETS, RULES

from .drawn import MARKED, Drawn, states

BOOK = Path(__file__).resolve().parents[3] / "book"
WORDS = json.loads((BOOK / "zh" / "words.json").read_text(encoding="utf-8"))
DONE = sorted(LiveFigure.figures)
SCRIPTS = [*(LiveFigure.figures[name].module_name() for name in DONE), "question", "review"]
FORMS = [
    name
    for name in modules(*(f"figures/{script}" for script in SCRIPTS))
    if not name.startswith("data/") and name != "lib/phrase"
]
HOLE = re.compile(r"\{\w+\}")

# words that are the same in both languages: names, symbols, units, Python code
SAME = re.compile(
    r"""q|k|v|conj|cos|sin|PE|b?float(16|32|64)?|p-RoPE|NoPE|Shaw|xPos|RoPE|ReRoPE|YaRN|PI|ABF|NTK(-aware)?|LongRoPE|ALiBi|RoFormer|Llama|gpt-oss|rad|nats|token|Python|JSON|GGUF
    |config\.json|[a-z]+(_[a-z0-9]+)+|transformers""".replace("\n", "").replace(" ", "")
)


NAMES = {model.name for model in (*PRESETS, *MODELS)} | {*fern_of_config.models()}


def holes(text: str) -> list[str]:
    """Return the placeholders of a template."""
    return sorted(set(HOLE.findall(text)))


def closing(text: str, start: int) -> int:
    """Return where the brace that opens before ``start`` closes, skipping templates inside."""
    depth = 1
    while depth:
        if text[start] == "`":
            start = template(text, start + 1)[1]
            continue
        if text[start] in "\"'":
            start = text.index(text[start], start + 1)
        depth += {"{": 1, "}": -1}.get(text[start], 0)
        start += 1
    return start


def template(text: str, start: int) -> tuple[str, int]:
    """Return the key of the template whose words begin at ``start``, and where it ends."""
    key, count = "", 0
    while text[start] != "`":
        if text.startswith("${", start):
            key, count, start = f"{key}{{{count}}}", count + 1, closing(text, start + 2)
        else:
            key, start = key + text[start], start + 1
    return re.sub(r"\s*\n\s*", " ", key), start + 1


def keys_of(text: str) -> Iterator[str]:
    """Yield the keys of a script's templates, and both forms, singular and plural, of its counts."""
    for found in re.finditer(r"\bphrase`", text):
        yield template(text, found.end())[0]
    for noun in re.findall(r'\bcounted\([^"]*"([^"]+)"\)', text):
        yield from (f"{{0}} {noun}", f"{{0}} {noun}s")


def needs_words(text: str) -> bool:
    """Return whether a text has words besides names and symbols."""
    return any(
        not SAME.fullmatch(word) for word in re.findall(r"[A-Za-z][\w.-]*[A-Za-z]", HOLE.sub("", text))
    )


def from_python() -> Iterator[str]:
    """Yield the texts that figures take from Python: labels, units, options, and sentences about models."""
    for name in DONE:
        for control in LiveFigure.figures[name].controls().values():
            yield from (control.label, control.unit)
            yield from (words for words in getattr(control, "options", {}).values() if words not in NAMES)
            yield from getattr(control, "groups", {})
    yield from stretch.RULES.values()
    yield from (mistake["called"] for mistake in DAMAGE["mistakes"])
    for person in patients.patients()["people"]:
        yield from (person["called"], person["does"], person["fix"])
    for table in ("refusals", "remarks", "why_missing", "refused_rules", "how_lost"):
        yield from RULES[table].values()
    yield from {field["allowed"] for field in RULES["fields"].values()}


def asked() -> set[str]:
    """Return every English text that a page in Chinese looks up."""
    written = {key for name in FORMS for key in keys_of((JS / f"{name}.js").read_text(encoding="utf-8"))}
    return written | {text for text in from_python() if needs_words(text)}


def test_every_text_has_its_chinese_and_no_entry_is_left_over():
    wanted = asked()
    assert sorted(wanted - WORDS.keys()) == []
    assert sorted(WORDS.keys() - wanted - {t for t in from_python() if t}) == []


def test_a_translation_has_the_places_of_its_text():
    assert {key: text for key, text in WORDS.items() if holes(key) != holes(text)} == {}


WORD = re.compile(r"[^\W\d_][\w.-]*[^\W\d_]")
OUTSIDE = re.compile(r"⟦[^⟧]*(⟧|$)|^[^⟦⟧]*⟧")  # a line may begin or end inside a template


def not_said(text: str, known: set[str]) -> list[str]:
    """Return the words of a marked text that come from no template, name or reader's input."""
    rest = OUTSIDE.sub(" ", text)
    return [
        word
        for word in WORD.findall(rest)
        if word.isascii() and not SAME.fullmatch(word) and not any(each.startswith(word) for each in known)
    ]


def is_middle(text: str) -> bool:
    """Return whether a text of several words is a line from the middle of a template that was wrapped."""
    return len(text.split()) >= 4 and any(text in key for key in WORDS)


TYPED = {"now", *rail.ARROWS} | {
    word
    for figure in LiveFigure.figures.values()
    for control in figure.controls().values()
    if control.kind == "sentence"
    for word in control.default_value.split()
}
OF_MODELS = {word for name in NAMES for word in WORD.findall(name)}
DAMAGE = damage.damage()
UNTRANSLATED = {  # names of models, contents of their files, what SmolLM2 reads and writes
    "BaseBound": OF_MODELS,
    "RealHead": {
        word for tokens in read_page_heads()["sentences"] for word in WORD.findall(" ".join(tokens))
    },
    "ReadTheDamage": {
        word
        for shown in (DAMAGE["right"], *DAMAGE["mistakes"])
        for text in (*(each["text"] for each in shown["written"].values()), *DAMAGE["prompts"].values())
        for word in WORD.findall(f"{text} {shown.get('run', '')}")
    },
    "ConfigInspector": {
        *OF_MODELS,
        *(word for each in PRESETS for word in WORD.findall(str(each.config))),
        *RULES["rules"],
        "half-split",
        "interleaved",
        "nope",
        "main",
        "compress",
    },
}

BRIEF = {"TrainInThePage": {"steps": 2}, "ModelInThePage": {"times": 2}}  # the same words, sooner


def briefly(name: str, count: int) -> list[dict]:
    """Return states of a figure that take little time; for a slow figure every third."""
    short = BRIEF.get(name, {})
    return [
        values | {trait: min(values.get(trait, most), most) for trait, most in short.items()}
        for values in list(states(name, count))[:: 3 if short else 1]
    ]


COMPARED = {"second", "other"}  # the figure shows the output of `rope-doctor compare` unchanged
SMALL = {
    "OrderBlindness": ["rearranged", "sentences", "outputs"],
    "RotatePair": ["position", "arrows", "rail"],
    "Clocks": ["position", "faces"],
    "ScoreDistance": ["guess", "waves", "curve"],
    "TrainedTurns": ["times", "turns"],
}  # the forms of the ten minutes


def drawn_with(words):
    """Return a fixture: each figure in turn, in this language."""

    @pytest.fixture(scope="module", params=DONE)
    def figure(request):
        drawing = Drawn(request.param, words)
        drawing.name = request.param
        yield drawing
        drawing.close()

    return figure


marked = drawn_with(MARKED)
chinese = drawn_with(f"globalThis.RopeWords = {json.dumps(WORDS)};\n")


@pytest.mark.sampled
def test_nothing_is_drawn_or_told_in_english_alone(marked):
    known = TYPED | UNTRANSLATED.get(marked.name, set())
    faults = {}
    for values in briefly(marked.name, 6):
        values = {name: value for name, value in values.items() if name not in COMPARED}
        for width in (640, 300):
            for only in (None, *([SMALL[marked.name]] if marked.name in SMALL else [])):
                said = marked.said(values, width, only)
                texts = [
                    said["title"],
                    said["readout"],
                    *said["buttons"],
                    *(text["text"] for text in said["texts"]),
                ]
                for text in texts:
                    if (words := not_said(text, known)) and not is_middle(text):
                        faults[text] = words
    assert faults == {}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("width", [760, 328])
def test_chinese_labels_lie_in_the_picture(chinese, width):
    assert chinese.said({}, width)["title"] in WORDS.values()
    faults = {}
    for values in briefly(chinese.name, 15):
        for each in chinese.said(values, width)["texts"]:
            if each["text"].isascii():
                continue  # a number
            if each["left"] < -2 or each["right"] > width + 2:
                faults[each["text"]] = (round(each["left"]), round(each["right"]))
    assert faults == {}
