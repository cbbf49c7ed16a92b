"""The page on which SmolLM2 runs: what it says without the model, and with it the damage that Python computes."""

import builtins
import time
from pathlib import Path

import pytest
from playwright.sync_api import expect
from serve import Isolated

from rope_book.real.file import find_weights

from .conftest import SITE, Book, served

pytestmark = [pytest.mark.browser, pytest.mark.timeout(1800)]  # a busy machine writes a token per second
PAGE = "book/live.html"
WEIGHTS = "_static/model/SmolLM2-135M-Instruct.Q4_1.gguf"
ENGINE = ("wllama.js", "wllama.wasm")
PROMPT = "A good way to cook rice is to wash it first, then"
EDITS = ("fastest", "slowest", "layout", "lost", "hands")
CHOICES = ("base", "pi", "yarn", "fastest", "slowest", "layout", "lost", "hands")


def controls(page):
    """Return the page's controls by the words that name them."""
    named = {
        "text": "The text to continue",
        "choice": "The mistake, or the rule",
        "tokens": "Tokens to write",
    }
    return {name: page.get_by_label(words) for name, words in named.items()}


def lines(page):
    """Return the two lines of code."""
    return page.locator(".real-model pre").all_text_contents()


def test_without_the_model_the_page_says_what_it_needs_and_fetches_nothing(visit):
    seen = visit(PAGE, bypass_csp=False)
    expect(seen.page.locator(".real-status")).to_contain_text("98 MB")
    for name in ("Write", "Measure", "Stop"):
        expect(seen.page.get_by_role("button", name=name, exact=True)).to_be_disabled()
    assert not [url for url in seen.asked if url.endswith((*ENGINE, ".gguf"))]
    seen.assert_clean()


def test_no_control_of_the_unloaded_page_is_dead(visit):
    page = visit(PAGE).page
    expect(page.locator("details.real-see")).not_to_have_attribute("open", "")
    found = controls(page)
    means = page.locator(".real-means")
    for name in CHOICES:
        before = lines(page)
        found["choice"].select_option(name)
        assert (lines(page) == before) == (name == CHOICES[0])
        expect(page.get_by_role("button", name="Save the changed file")).to_be_visible(visible=name in EDITS)
        assert ("Save the changed file" in means.text_content()) == (name in EDITS)
    for name, value in (("text", "Once"), ("tokens", "7")):
        before = lines(page)
        found[name].fill(value)
        assert all(one != other for one, other in zip(lines(page), before, strict=True))
    hands = page.get_by_role("slider")
    assert hands.count() == 32
    python = lines(page)[0]
    for pair in range(32):
        hands.nth(pair).press("ArrowDown")
        python, before = lines(page)[0], python
        assert python != before
    page.get_by_role("button", name="Reset the hands").click()
    assert lines(page)[0].count("1, ") == 31


def test_from_a_folder_a_sentence_says_what_to_do(visit):
    seen = visit(PAGE, root=SITE.as_uri() + "/")
    expect(seen.page.locator(".real-status")).to_contain_text("python -m http.server")
    expect(seen.page.get_by_role("button", name="Fetch the model")).to_be_hidden()
    seen.assert_clean()


def test_where_no_script_runs_a_sentence_says_so(visit):
    page = visit(PAGE, wait=False, java_script_enabled=False).page
    expect(page.locator(".real-model .live-note")).to_contain_text("needs JavaScript")


@pytest.mark.parametrize(
    ("content", "sentence"), [(b"GGUF", "it is cut"), (b"no model" * 9, "does not begin")]
)
def test_a_file_that_is_not_the_model_gets_a_sentence(visit, tmp_path, content, sentence):
    path = tmp_path / "other.gguf"
    path.write_bytes(content)
    seen = visit(PAGE)
    seen.page.get_by_label("The model's file").set_input_files(path)
    expect(seen.page.locator(".real-status")).to_contain_text(sentence)
    seen.assert_clean()


def test_this_page_alone_may_run_webassembly():
    allowed = [
        page for page in SITE.rglob("*.html") if "wasm-unsafe-eval" in page.read_text(encoding="utf-8")
    ]
    assert allowed == [SITE / PAGE]


def test_licences_are_beside_the_engine():
    folder = SITE / "_static/model"
    if not (folder / "wllama.wasm").exists():
        pytest.skip("the site was built without the engine")
    assert "Permission is hereby granted" in (folder / "wllama-LICENCE.txt").read_text(encoding="utf-8")


class WithModel(Book):
    """Serve the book as a site that has the weights."""

    def page(self, path: Path) -> bytes:
        """Say so in the page."""
        text = super().page(path)
        return (
            text
            if b"data-weights" in text
            else text.replace(
                b'data-runs="wasm"', f'data-runs="wasm" data-weights="../{WEIGHTS}"'.encode(), 1
            )
        )

    def translate_path(self, path: str) -> str:
        """Take the weights from their package."""
        return str(find_weights()) if path.endswith(WEIGHTS) else super().translate_path(path)


@pytest.fixture(scope="module")
def loaded(reader):
    """Return the page with the model, fetched by a click and its own policy in force; one page for all."""
    if not (SITE / "_static/model/wllama.wasm").exists():
        pytest.skip("the site was built without the engine")
    with served(WithModel) as root:
        seen = reader.open(PAGE, root=root, fresh=True, bypass_csp=False)
        seen.page.set_default_timeout(600_000)
        seen.page.get_by_role("button", name="Fetch the model").click()
        expect(seen.page.locator(".real-status")).to_contain_text("kept in this browser", timeout=600_000)
        yield seen
        seen.page.close()


@pytest.fixture(scope="module")
def model():
    """Return the model in torch."""
    from rope_book.real import load

    return load()


def run(page, name):
    """Press a button and wait until it can be pressed again."""
    button = page.get_by_role("button", name=name, exact=True)
    button.click()
    expect(button).to_be_enabled(timeout=600_000)
    assert "failed" not in page.locator(".real-note").text_content()


def in_python(code, model, monkeypatch):
    """Return the encoding of the lines that the page shows, and what they print."""
    printed = []
    monkeypatch.setattr("rope_book.real.load", lambda: model)
    monkeypatch.setattr(builtins, "print", lambda *words: printed.append(words[0]))
    scope = {}
    exec(code, scope)
    monkeypatch.undo()
    return scope["spec"], printed


def regret(model, spec, prompt, words):
    """Return by how many nats, at most, a word of these is less probable in torch than the most probable one."""
    start, ids = len(model.ids(prompt)), model.ids(prompt + words)
    logs = model.logits(ids, spec)[start - 1 : -1].log_softmax(-1)
    return max(float(each.max() - each[token]) for each, token in zip(logs, ids[start:], strict=True))


SPEEDS = [1.05, 0.95] * 8 + [0.5, 0.0, 1.5, 2.0] * 4  # of all 32 pairs, none as trained


def set_hands(page):
    """Set every hand to its speed, once the choice shows them."""
    for hand, speed in zip(page.get_by_role("slider").all(), SPEEDS, strict=True):
        hand.fill(str(speed))


@pytest.mark.nightly
@pytest.mark.parametrize("name", CHOICES)
def test_the_page_writes_and_measures_as_the_lines_of_python_do(loaded, model, monkeypatch, name):
    # llama.cpp rounds activations to eight bits: it may take another word where two are nearly as probable
    page = loaded.page
    found = controls(page)
    found["choice"].select_option(name)
    if name == "hands":
        set_hands(page)
    expect(page.locator(".real-text").last).to_have_text("")  # it would answer another question
    found["tokens"].fill("5")
    run(page, "Write")
    expect(page.locator("details.real-see")).to_have_attribute("open", "")
    prompt = found["text"].input_value()
    spec, (words, _) = in_python(lines(page)[0], model, monkeypatch)
    right, wrong = page.locator(".real-text b").all_text_contents()
    assert right == model.greedy(prompt, 5)
    assert wrong == words or regret(model, spec, prompt, wrong) < 0.25
    run(page, "Measure")
    text = page.get_by_label("A text whose perplexity").input_value()
    cells = page.locator(".real-model tbody tr").last.locator("td").all_text_contents()
    wanted = [model.perplexity(model.ids(text), each) for each in (None, spec)]
    assert [float(cell) for cell in cells] == pytest.approx(wanted, rel=0.03)
    loaded.assert_clean()


@pytest.mark.nightly
def test_the_model_is_kept_and_removed_on_request(loaded):
    page = loaded.page
    loaded.go(PAGE)
    expect(page.locator(".real-status")).to_contain_text("kept in this browser", timeout=60_000)
    assert not [url for url in loaded.asked if url.endswith(".gguf")]
    page.get_by_role("button", name="Remove the model").click()
    expect(page.locator(".real-status")).to_contain_text("has to be fetched")
    expect(page.get_by_label("instead of fetching it")).to_be_visible()
    loaded.go(PAGE)
    expect(page.locator(".real-status")).to_contain_text("has to be fetched")
    expect(page.get_by_role("button", name="Write", exact=True)).to_be_disabled()


class Threads(Isolated, WithModel):
    """The same site, isolated from all others."""


@pytest.fixture(scope="module")
def isolated():
    """Serve the site with the model so that the engine may use several threads."""
    if not (SITE / "_static/model/wllama.wasm").exists():
        pytest.skip("the site was built without the engine")
    with served(Threads) as root:
        yield root


STATUS = "return document.querySelector('.real-status').textContent"
PRESS = """[...document.querySelectorAll('.real-model button')]
    .find((button) => button.textContent.startsWith(arguments[0])).click()"""
CORES = "Object.defineProperty(navigator, 'hardwareConcurrency', { value: 4, configurable: true })"
FEW = """const box = document.querySelector('.real-model input[type=number]');
box.value = 8;
box.dispatchEvent(new Event('input', { bubbles: true }));"""
TOLD = """window.told = [];
const status = document.querySelector('.real-status');
const all = { childList: true, characterData: true, subtree: true };
new MutationObserver(() => told.push(status.textContent)).observe(status, all);"""
BOTH = "return [...document.querySelectorAll('.real-text b, .real-speed')].map((each) => each.textContent)"


def waited(engine, body, fits, seconds=900):
    """Return what a function of that body returns, once it fits."""
    end = time.monotonic() + seconds
    while not fits(found := engine.js(body)):
        assert time.monotonic() < end, found
        time.sleep(0.2)
    return found


@pytest.mark.nightly
def test_in_every_engine_it_is_fetched_under_ones_eyes_and_writes_on_two_threads(engine, isolated, model):
    engine.open(isolated + PAGE)
    if engine.name == "webkit":  # WebKitGTK has no memory with 64-bit addresses
        assert "WebAssembly lacks memory with 64-bit addresses" in engine.js(STATUS)
        return
    engine.js(CORES)
    engine.js(FEW)
    engine.js(TOLD)
    engine.js(PRESS, "Fetch")
    waited(engine, STATUS, lambda words: "kept in this browser" in words)
    assert any("of 98 MB have come" in words for words in engine.js("return told"))
    engine.js(PRESS, "Write")
    done = "return document.querySelector('.real-note').textContent"
    assert waited(engine, done, bool) == "Done."
    right, speed, *_ = engine.js(BOTH)
    print(f"{engine.name} {engine.version}: {speed}")
    assert right.startswith(model.greedy(PROMPT, 5))
    assert "on 2 threads" in speed
    engine.js(PRESS, "Remove")
    assert "has to be fetched" in waited(engine, STATUS, lambda words: "kept" not in words)
