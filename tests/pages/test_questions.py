"""Questions in their chapters: asked before they are explained, by keyboard and pointer; the figure shows why."""

import json
import re

import pytest
from playwright.sync_api import expect

from rope_book.check.in_page import in_page
from rope_book.widgets._questions import chapters, questions
from rope_book.widgets.question import answer_of

from .conftest import SITE, reads, soon
from .test_engines import points, until
from .test_pages import violations

pytestmark = pytest.mark.browser
REVIEW = "book/review.html"
STORE = 'localStorage.getItem("rope-turn-by-turn.review")'
STATE = """(el) => {
    let state;
    el.dispatchEvent(new CustomEvent("rl-ask", { detail: { take: (found) => (state = found) } }));
    return state;
}"""

SHOW = """(el, detail) => el.dispatchEvent(new CustomEvent("rl-show", { detail }))"""
EVERY_KIND = (
    "01",
    "04",
    "06",
    "09",
    "13",
    "18",
    "21",
    "A1",
)  # of question, and figures that compute for long


def bare(text: str) -> str:
    """Return words as a screen reader hears them."""
    return re.sub(r"[*`]", "", text)


def answers(asked: dict) -> tuple[list, object]:
    """Return the wrong answers of a question, each with its sentence, and the right one."""
    if asked["kind"] == "choices":
        wrong = [(words, why) for words, why in asked["choices"] if why]
        return wrong, asked["choices"][asked["answer"]][0]
    return asked["slips"], asked.get("order", asked.get("place", asked.get("number")))


def give(ask, asked: dict, answer: object, figure=None) -> None:
    """Answer as a hand does: by the keyboard."""
    if asked["kind"] in ("choices", "place"):
        ask.get_by_role("button", name=bare(answer), exact=True).press("Enter")
    elif asked["kind"] == "number" or (asked["kind"] == "setting" and figure is None):  # in the review
        box = ask.get_by_role("textbox", name=re.compile("^Your answer"))
        box.fill(f"{answer:,}")
        box.press("Enter")
    elif asked["kind"] == "order":
        for item in answer:
            ask.get_by_role("button", name=item, exact=True).press("Enter")
    else:
        figure.evaluate(SHOW, {asked["control"]: answer})
        ask.get_by_role("button", name="I left it there").press("Enter")


@pytest.mark.sampled
@pytest.mark.parametrize("chapter", EVERY_KIND)
def test_a_wrong_answer_gets_its_sentence_a_right_one_the_reason_and_both_set_the_figure(visit, chapter):
    file = chapters()[chapter]
    seen = visit(f"notebooks/{file['page']}.html", maths=False, fresh=True)
    asks = seen.page.locator(f'.rl-ask[data-question^="{chapter}-"]')  # exercises are asked in the same way
    assert asks.count() == len(file["question"])
    assert asks.locator("visible=true").count() > 0
    opened = seen.page.locator(f'[data-live="{file["figure"]}"]').first.evaluate(STATE)
    for number, entry in enumerate(file["question"]):
        asked, ask = questions()[entry["id"]], asks.nth(number)
        figure = seen.page.locator(f'[data-live="{asked["figure"]}"]').first
        assert ask.get_by_role("status").text_content() == ""
        assert asked["because"][:20] not in ask.text_content()
        wrong, right = answers(asked)
        if asked["kind"] == "setting":  # wherever the question before has left its figure
            assert figure.evaluate(STATE) == opened
        give(ask, asked, wrong[0][0], figure)
        reads(ask.get_by_role("status"), f"Not so. {bare(wrong[0][1])}")
        if asked["kind"] == "setting":  # the figure does not give the answer away
            assert figure.evaluate(STATE)[asked["control"]] == wrong[0][0]
            ask.get_by_role("button", name="Show the answer").press("Enter")
        if asked["figure"]:
            shown = figure.evaluate(STATE)
            assert {name: shown[name] for name in asked["show"]} == asked["show"]
        give(ask, asked, right, figure)
        reads(ask.get_by_role("status"), f"Right. {bare(asked['because'])}")
        if number + 1 < len(file["question"]):
            ask.locator("xpath=..").get_by_role("button", name="Next question").click()
            expect(asks.nth(number + 1)).to_be_focused()
            expect(ask).not_to_be_visible()
    seen.assert_clean()


CENTRE = """(el) => {
    el.scrollIntoView({ block: "center", behavior: "instant" });
    const { x, y, width, height } = el.getBoundingClientRect();
    return [x + width / 2, y + height / 2];
}"""


def framed(figure, wanted: list[str]) -> None:
    """Wait until exactly these places of a figure are framed."""
    seen = """([el, wanted]) => JSON.stringify([...el.querySelectorAll("[data-place]")].map(
        (frame) => frame.dataset.place)) === wanted"""
    handle = figure.element_handle()
    figure.page.wait_for_function(
        seen, arg=[handle, json.dumps(wanted, separators=(",", ":"))], timeout=20_000
    )


PLACES = [(name, 1200) for name, asked in questions().items() if asked["kind"] == "place"]


@pytest.mark.parametrize(("name", "width"), [*PLACES, ("06-whole", 390)])
def test_a_place_is_clicked_in_the_figure_and_only_while_its_question_asks(visit, name, width):
    asked = questions()[name]
    seen = visit(f"notebooks/{asked['page']}.html", maths=False, fresh=True, width=width)
    page, ask = seen.page, seen.page.locator(f'[data-question="{name}"]')
    figure = page.locator(f'[data-live="{asked["figure"]}"]').first
    framed(figure, [])
    while not ask.is_visible():
        page.locator('[data-live="Question"]').first.get_by_role("button", name="Next question").click()
    ask.evaluate('(el) => el.scrollIntoView({ block: "center", behavior: "instant" })')
    framed(figure, asked["places"])
    place, why = asked["slips"][0]
    for clicked, said in (
        (place, f"Not so. {bare(why)}"),
        (asked["place"], f"Right. {bare(asked['because'])}"),
    ):
        framed(figure, asked["places"])
        page.mouse.click(*figure.locator(f'[data-place="{clicked}"]').evaluate(CENTRE))
        expect(ask.get_by_role("status")).to_have_text(said, timeout=20_000)
        expect(ask.get_by_role("status")).to_be_in_viewport(timeout=20_000)
    framed(figure, [])
    shown = figure.evaluate(STATE)
    assert {name: shown[name] for name in asked["show"]} == asked["show"]
    seen.assert_clean()


def test_a_place_is_no_longer_asked_for_when_another_question_is_shown_and_a_drag_is_no_click(visit):
    seen = visit("notebooks/01_see_attention_miss_order.html", maths=False, fresh=True)
    page, asked = seen.page, questions()["01-mask"]
    turns = page.locator('[data-live="Question"]').first
    figure = page.locator('[data-live="OrderBlindness"]').first
    for _ in range(2):
        turns.get_by_role("button", name="Next question").click()
    turns.evaluate('(el) => el.scrollIntoView({ block: "center", behavior: "instant" })')
    framed(figure, asked["places"])
    figure.evaluate('(el) => el.scrollIntoView({ block: "start", behavior: "instant" })')
    first, last = (figure.locator(f'[data-place="word {n}"]').bounding_box() for n in (1, 5))
    page.mouse.move(first["x"] + first["width"] / 2, first["y"] + first["height"] / 2)
    page.mouse.down()
    page.mouse.move(last["x"] + last["width"] / 2, last["y"] + last["height"] / 2, steps=4)
    page.mouse.up()
    moved = '(el) => el.querySelector("[data-trait=rearranged] textarea").value === "pig chases the dog the"'
    page.wait_for_function(f"(el) => ({moved})(el)", arg=figure.element_handle(), timeout=20_000)
    assert page.locator('[data-question="01-mask"]').get_by_role("status").text_content() == ""
    turns.get_by_role("button", name="Next question").click()
    framed(figure, [])
    turns.get_by_role("button", name="Back").click()
    framed(figure, asked["places"])
    seen.assert_clean()


def test_a_reader_who_gives_up_is_told_and_finds_the_figure(visit):
    seen = visit("notebooks/04_rotate_one_pair.html", maths=False, fresh=True)
    page, asked = seen.page, questions()["04-move"]
    ask = page.locator('[data-question="04-move"]')
    assert not ask.get_by_role("button", name="Show the answer").is_visible()
    ask.get_by_role("button", name=bare(answers(asked)[0][0][0])).click()
    ask.get_by_role("button", name="Show the answer").click()
    told = f"The answer. {bare(answer_of(asked))} {bare(asked['because'])}"
    reads(ask.get_by_role("status"), told)
    ask.get_by_role("button", name="See it in the figure").click()
    figure = page.locator('[data-live="RotatePair"]').first
    soon(page, lambda: -10 < figure.evaluate("(el) => el.getBoundingClientRect().top") < 200)
    page.wait_for_url(re.compile("#live=RotatePair&position=16"))
    assert violations(page) == []


def test_without_a_script_the_questions_are_a_list_with_folds():
    text = (SITE / "notebooks/04_rotate_one_pair.html").read_text(encoding="utf-8")
    slots = text.split('<div class="live-slot"')
    (held,) = (slot for slot in slots if "<summary>The answer</summary>" in slot)
    assert "live/Question.js" in held
    assert held.count("<details><summary>The answer</summary>") == len(chapters()["04"]["question"])
    assert held.index("does the score change?") < held.index("because the distance changes")


def test_the_review_asks_what_was_read_brings_back_what_was_missed_and_forgets(visit):
    seen = visit(REVIEW, fresh=True)
    page, review = seen.page, seen.page.locator('[data-live="Review"]')
    assert "No chapter is marked as read" in review.get_by_role("status").first.text_content()
    expect(review.locator(".rl-card .rl-ask")).to_be_visible()  # a sample, with the figure that it is about
    assert review.locator(".rl-card img").evaluate(
        "async (img) => (await img.decode(), img.naturalWidth > 300)"
    )
    read = '{"read": ["notebooks/04_rotate_one_pair"], "path": ""}'
    page.evaluate(f"localStorage.setItem('rope-turn-by-turn', '{read}')")
    page.reload()
    asked = []
    for missed in (True, False, False, False, False):
        ask = review.locator(".rl-ask")
        name = ask.get_attribute("data-question")
        asked.append(name)
        wrong, right = answers(questions()[name])
        give(ask, questions()[name], wrong[0][0] if missed else right)
        if missed:
            link = ask.get_by_role("link").get_attribute("href")
            assert link.startswith("../notebooks/04_rotate_one_pair.html#live=RotatePair")
        review.get_by_role("button", name="Next question").press("Enter")
        expect(review.get_by_role("button", name="Next question")).not_to_be_visible()
    assert set(asked[:4]) == {"04-move", "04-lock", "04-key", "04-again"}
    assert asked[4] == asked[0], "what was missed comes back in the same sitting"
    expect(review).to_contain_text("The next questions come in 1 day.")
    assert violations(page) == []
    with page.expect_download() as download:
        review.get_by_role("button", name="Save the questions for Anki").click()
    lines = download.value.path().read_text(encoding="utf-8").splitlines()
    assert [line.partition("\t")[0] for line in lines if line.startswith("rope-turn")] == [
        "rope-turn-04-move",
        "rope-turn-04-lock",
        "rope-turn-04-key",
        "rope-turn-04-again",
    ]
    review.get_by_role("button", name="Forget my answers").press("Enter")
    expect(review).to_contain_text("4 questions to go")
    assert page.evaluate(STORE) is None
    seen.assert_clean()


ALL = """(answers) => {
    const review = document.querySelector('[data-live="Review"]');
    const press = (words) => [...review.querySelectorAll("button")].find((el) => el.textContent === words).click();
    const met = [];
    while (met.length < Object.keys(answers).length) {
        if (!review.querySelector(".rl-ask")) press("More questions");
        const name = review.querySelector(".rl-ask").dataset.question;
        const box = review.querySelector(".rl-ask input");
        if (box) {
            box.value = answers[name];
            press("Answer");
        } else for (const words of answers[name]) press(words);
        met.push([name, review.querySelector(".rl-reply").textContent]);
        press("Next question");
    }
    return met;
}"""


def test_every_question_can_be_answered_in_the_review(visit):
    def pressed(asked: dict) -> object:
        right = answers(asked)[1]
        if asked["kind"] in ("number", "setting"):  # in the review no figure can be left anywhere
            return f"{right:,}"
        return [bare(each) for each in (right if isinstance(right, list) else [right])]

    seen = visit(REVIEW, fresh=True)
    review = seen.page.locator('[data-live="Review"]')
    review.get_by_label("Also chapters that I have not read").check()
    met = seen.page.evaluate(ALL, {name: pressed(asked) for name, asked in questions().items()})
    assert dict(met) == {name: f"Right. {bare(asked['because'])}" for name, asked in questions().items()}
    assert len(met) == len(questions())
    expect(review).to_contain_text("The next questions come in 4 days.")
    seen.assert_clean()


def in_sight(ask):
    """Return an exercise, which no closed fold may hold: its field could not be filled, and the test would wait."""
    fold = ask.evaluate("(el) => el.closest('details:not([open])')?.firstElementChild.textContent ?? ''")
    assert not fold, f"the exercise is folded under {fold!r}"
    return ask


def test_an_exercise_is_answered_in_the_page_with_the_words_of_check(visit):
    seen = visit("notebooks/16_blend_by_wavelength.html", maths=False, fresh=True)
    asked, hints = in_page()["16.4"], in_page()["16.4"]["hints"]
    ask = in_sight(seen.page.locator('[data-question="16.4"]'))
    box = ask.get_by_role("textbox", name="Your answer, 3 numbers with spaces between")
    said = ask.get_by_role("status")
    box.fill("15")
    box.press("Enter")
    reads(said, "The answer is 3 numbers; spaces between them keep them apart.")
    kept_first = "Kept come first: short wavelengths are the ones that stay."
    slips = {"14 3 15": kept_first, "29 6 29": "A head of 64 has 32 pairs."}
    for number, (slip, why) in enumerate(slips.items()):
        box.fill(slip)
        box.press("Enter")
        reads(said, f"Not yet. {why} Hint {number + 1} of {len(hints)}: {bare(hints[number])}")
    box.fill("15, 3, 14")
    ask.get_by_role("button", name="Check").click()
    reads(said, f"Correct. {bare(asked['because'])}")
    assert seen.page.evaluate(STORE) is None, "exercises are not reviewed"
    seen.assert_clean()


def test_an_exercise_with_many_right_answers_is_judged_in_the_page_by_the_rules_of_check(visit):
    seen = visit("notebooks/04_rotate_one_pair.html", maths=False, fresh=True)
    ask = in_sight(seen.page.locator('[data-question="4.3"]'))
    box = ask.get_by_role("textbox", name="Your answer, 2 numbers with spaces between")
    typed = {"10, 6": "Not yet. There m − n is 4, and 9 − 4 = 5.", "1e999 5": "The answer is 2 numbers"}
    for words, said in (typed | {"20 3": "Correct. The score sees"}).items():
        box.fill(words)
        box.press("Enter")
        expect(ask.get_by_role("status")).to_have_text(re.compile(re.escape(said)))
    seen.assert_clean()


def test_a_challenge_is_judged_in_the_page_from_the_figure_at_the_top(visit):
    seen = visit("notebooks/04_rotate_one_pair.html", maths=False, fresh=True)
    figure = seen.page.locator('[data-live="RotatePair"]').first
    ask = in_sight(seen.page.locator('[data-question="4.c"]'))
    check, said = ask.get_by_role("button", name="Check the figure"), ask.get_by_role("status")
    check.click()
    reads(said, "Not yet. The score is 1.254. Which angle between the arrows makes it negative?")
    figure.evaluate("(el) => el.take({ position: 15, key_position: 0 })")
    check.click()
    expect(said).to_have_text(re.compile("^Correct. At distance 15 the arrows point apart"))
    assert figure.evaluate(STATE)["position"] == 15, "the figure stays as the reader has set it"
    seen.assert_clean()


def test_an_exercise_is_answered_in_the_page_by_names_and_by_an_order(visit):
    seen = visit("notebooks/24_find_it.html", maths=False, fresh=True)
    asked, ask = in_page()["24.3"], in_sight(seen.page.locator('[data-question="24.3"]'))
    for name in "AB":
        ask.get_by_role("checkbox", name=name, exact=True).press("Space")
    ask.get_by_role("button", name="Check").press("Enter")
    hint = f"Hint 1 of {len(asked['hints'])}: {bare(asked['hints'][0])}"
    expect(ask.get_by_role("status")).to_have_text(f"Not yet. {asked['verdicts']['A B']} {hint}")
    for name in "BCE":
        ask.get_by_role("checkbox", name=name, exact=True).press("Space")
    ask.get_by_role("button", name="Check").press("Enter")
    expect(ask.get_by_role("status")).to_have_text(f"Correct. {bare(asked['because'])}")
    seen.assert_clean()
    seen = visit("notebooks/01_see_attention_miss_order.html", maths=False, fresh=True)
    seen.page.evaluate("document.querySelectorAll('details').forEach((fold) => (fold.open = true))")
    asked, ask = in_page()["1.4"], seen.page.locator('[data-question="1.4"]')
    (answer, *_) = (order for order, why in asked["verdicts"].items() if not why)
    for word in answer.split():
        ask.get_by_role("button", name=word, exact=True).press("Enter")
    expect(ask.get_by_role("status")).to_have_text(f"Correct. {bare(asked['because'])}")
    seen.assert_clean()


STEP = """const ask = document.querySelector('[data-live="Review"] .rl-ask');
const first = ask.querySelector(".rl-choices button, input");
first.focus();
return [ask.dataset.question, ask.querySelector("input") ? "number" : "buttons"];"""
SAID = "return document.querySelector('[data-live=\"Review\"] .rl-reply').textContent"


def test_questions_are_answered_in_every_engine_by_their_names(engine, watched):
    engine.open(f"{watched}{REVIEW}")
    until(engine, "return document.querySelector('[data-live=\"Review\"]')?.dataset.ready === 'true'")
    engine.js("document.querySelector('[data-live=\"Review\"] [type=checkbox]').click()")
    met = set()
    for _ in range(6):
        name, kind = engine.js(STEP)
        asked = questions()[name]
        if kind == "number":
            assert "Your answer" in engine.label('[data-live="Review"] .rl-ask input')
            engine.press("1")
        elif asked["kind"] == "place":
            assert engine.label('[data-live="Review"] .rl-choices button') == asked["places"][0]
        elif asked["kind"] == "choices":
            said = engine.label('[data-live="Review"] .rl-choices button')
            assert said == bare(asked["choices"][0][0])
        if asked["kind"] == "order":
            for _ in asked["items"]:
                engine.press("Enter", "Tab")
        else:
            engine.press("Enter")
        until(engine, f"{SAID} !== ''")
        assert engine.js(SAID).startswith(("Right. ", "Not so. "))
        met.add(name)
        engine.js(
            "[...document.querySelectorAll('[data-live=\"Review\"] button')]"
            ".find((el) => el.textContent === 'Next question').click()"
        )
    assert len(met) == 6
    assert engine.js("return book.errors") == []


FRAMES = "return document.querySelectorAll('[data-live=\"Clocks\"] [data-place]').length"


def test_a_place_is_clicked_in_every_engine(engine, watched):
    asked, page = questions()["06-whole"], chapters()["06"]["page"]
    engine.open(f"{watched}notebooks/{page}.html")
    until(engine, "return book.alive('Question')")
    for _ in range([entry["id"] for entry in chapters()["06"]["question"]].index("06-whole")):
        engine.js(
            "[...document.querySelectorAll('[data-live=\"Question\"] button')]"
            ".find((el) => el.textContent === 'Next question').click()"
        )
    engine.js("document.querySelector('[data-question=\"06-whole\"]').scrollIntoView({ block: 'center' })")
    until(engine, f"{FRAMES} === {len(asked['places'])}")
    where = f'[data-live="Clocks"] [data-place="{asked["place"]}"]'
    engine.js(f"document.querySelector('{where}').scrollIntoView({{ block: 'center', behavior: 'instant' }})")
    engine.drag(*points(engine, where, 0.5))
    said = "document.querySelector('[data-question=\"06-whole\"] .rl-reply').textContent"
    until(engine, f"return {said}.startsWith('Right. It needs 4,712 tokens')")
    until(engine, f"{FRAMES} === 0")
    assert engine.js("return book.errors") == []
