"""What is half-typed stays, and a figure that fails says so and comes back."""

import pytest
from playwright.sync_api import expect

from rope_book.widgets._bundle import scopes
from rope_book.widgets._modules import constant

from .conftest import FRAMES, UNFOLD, WHERE, soon

pytestmark = pytest.mark.browser


def test_a_sentence_can_be_typed_while_its_figure_plays(visit):
    figure = visit(WHERE["SentenceAttention"], maths=False).page.locator('[data-live="SentenceAttention"]')
    figure.evaluate(UNFOLD)
    box, readout = figure.locator(".rl-sentence textarea"), figure.locator(".rl-readout")
    figure.locator(".rl-play").click()
    box.fill("")
    box.press_sequentially("pigs ch")
    before = readout.text_content()
    figure.page.wait_for_function(
        "([el, before]) => el.textContent !== before", arg=[readout.element_handle(), before]
    )
    assert box.input_value() == "pigs ch"
    box.press_sequentially("ase dogs")
    box.press("Enter")
    expect(figure.locator(".rl-python code")).to_contain_text("'pigs chase dogs'")


def test_a_number_of_a_point_can_be_typed_while_another_control_moves(visit):
    figure = visit(WHERE["RotatePair"], maths=False).page.locator('[data-live="RotatePair"]')
    figure.evaluate(UNFOLD)
    box = figure.locator('[data-trait="q"] input').first
    box.fill("0.")
    box.press_sequentially("4")
    figure.locator('[data-trait="position"] input').evaluate(
        "(el) => { el.value = 20; el.dispatchEvent(new Event('input', { bubbles: true })); }"
    )
    expect(figure.locator(".rl-python code")).to_contain_text("position=20")
    figure.page.evaluate(FRAMES)
    assert box.input_value() == "0.4"
    box.press("Enter")
    expect(figure.locator(".rl-python code")).to_contain_text("q=[0.4,")


FAILING = """
const part = (n) => { if (n === 4) throw new Error("four in a part"); };
const figure = $live({
    name: "Failing", title: "fails at three, four and five", height: () => 100,
    draw(pen, { n }) {
        pen.part(() => { pen.circle(10, 10, 5); part(n); });
        if (n === 3) throw new Error("three");
        pen.text(20, 20, `n is ${n}`);
    },
    readout: ({ n }) => `It shows ${n}.`,
    *work({ n }) { yield; if (n === 5) throw new Error("five at work"); },
});
const control = { name: "n", kind: "slider", label: "n", unit: "", default: 1, initial: 1,
    low: 1, high: 9, step: 1, log: false, whole: true };
const values = { n: 1, _controls: [control] };
const set = (key, value) => (values[key] = value);
const get = (key) => values[key];
figure.render({ el: document.body, model: { get, set, save_changes() {}, on() {}, off() {} } });
"""
MOVE = """async (n) => {
    const input = document.querySelector("input");
    input.value = n;
    input.dispatchEvent(new Event("input"));
    await new Promise((done) => setTimeout(done, 50));
    const root = document.querySelector(".rope-live");
    const [words, drawn] = [".rl-readout", "svg"].map((part) => root.querySelector(part).textContent);
    return [words, "failed" in root.dataset, drawn];
}"""


def test_a_figure_that_fails_says_so_and_comes_back(browser):
    page, errors = browser.new_page(), []
    page.on("pageerror", lambda error: errors.append(str(error)))
    names = f"const $live = {constant('lib/figure')}.live;"
    page.add_script_tag(content=f"{scopes('lib/figure')}\n{names}\n{FAILING}")
    assert page.evaluate(MOVE, 2) == ["It shows 2.", False, "n is 2"]
    for n, message in ((3, "three"), (4, "four in a part"), (5, "five at work")):
        before = len(errors)
        words, failed, _ = page.evaluate(MOVE, n)
        assert failed
        assert words.startswith("This figure failed to draw these values")
        assert message in words
        soon(page, lambda count=before: len(errors) > count)
        assert message in errors[-1]
        assert page.evaluate(MOVE, 6) == ["It shows 6.", False, "n is 6"]
    page.close()


KEEPS_NOTHING = {
    "denied": """for (const name of ["localStorage", "sessionStorage"]) {
        const get = () => { throw new DOMException("Access is denied", "SecurityError"); };
        Object.defineProperty(window, name, { configurable: true, get });
    }""",
    "absent": """for (const name of ["localStorage", "sessionStorage"])
        Object.defineProperty(window, name, { configurable: true, value: null });""",
    "full": """Storage.prototype.setItem = () => { throw new DOMException("", "QuotaExceededError"); };""",
}
KINDS = [
    *("book/index.html", "book/review.html", "search.html?q=rope"),
    *("notebooks/04_rotate_one_pair.html", "book/zh/04_rotate_one_pair.html"),
]


@pytest.mark.parametrize("storage", KEEPS_NOTHING)
def test_a_page_has_no_error_where_the_browser_keeps_nothing(tab, storage):
    for page in KINDS:
        seen = tab(page, wait=False, maths=False, script=KEEPS_NOTHING[storage])
        seen.page.wait_for_selector(".theme-switch-button")
        seen.page.locator(".theme-switch-button").first.evaluate("(button) => button.click()")
        assert seen.page.evaluate("localStorage.getItem('mode')"), "the theme that was chosen"
        seen.assert_clean()
