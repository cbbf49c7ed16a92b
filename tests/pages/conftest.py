"""The built book, a server for it, and a browser that reaches nothing else."""

import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial, wraps
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Error, Locator, Page, Request, expect
from playwright.sync_api import TimeoutError as TooLong
from xdist.scheduler import LoadScopeScheduling

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "book" / "tools"))

from browser import find_chromium, launched  # noqa: E402
from serve import Quiet, Server, Slow  # noqa: E402

from .engines import ENGINES, PATIENCE, Chromium, installed  # noqa: E402

expect.set_options(timeout=1000 * PATIENCE)

SITE = ROOT / "_build" / "html"
WATCH = Path(__file__).with_name("watch.js")
PAGES = sorted(
    str(page.relative_to(SITE))
    for page in SITE.rglob("*.html")
    if page.relative_to(SITE).parts[0] not in ("_static", "slides")
)
EVERY_PAGE = bool(os.environ.get("EVERY_PAGE"))  # `make walk`: where some pages stand for all, look at all
CHINESE = "book/zh/"
CHAPTERS = [page for page in PAGES if page.startswith("notebooks/")]
WHERE = {
    name: page
    for page in [*CHAPTERS[:1], *reversed(CHAPTERS[1:])]  # the ten-minute page has small forms
    for name in re.findall(r'"_anywidget_id": "[\w.]+\.(\w+)"', (SITE / page).read_text(encoding="utf-8"))
    if name not in ("Question", "Review")  # no figures
}  # the first chapter of each figure
SHARED = {*ENGINES, *WHERE, *PAGES}  # parameters of fixtures that keep a page open


def english(page: str) -> str:
    """Return the English twin of a Chinese page, any other page as it is."""
    name = page.removeprefix(CHINESE)
    if name == page or name == "search.html":
        return name
    return f"notebooks/{name}" if name[:2].isdigit() else f"book/{name}"


def pytest_configure(config: pytest.Config) -> None:
    """Say clearly what is missing before any test runs."""
    if not SITE.is_dir():
        pytest.exit("the book is not built: run `make book` first", returncode=2)
    if find_chromium() is None:
        message = "no Chromium was found: install one or name it in $CHROMIUM; the browser tests need it"
        if os.environ.get("CI"):
            pytest.exit(message, returncode=2)
        print(f"\n{message}\n", file=sys.stderr)


def pytest_report_header() -> str:
    """Say which engines the figures meet on this machine, and what would bring the others."""
    return (
        f"engines: {', '.join(installed())}{''.join(f'; {lacks(name)}' for name in ENGINES if lacks(name))}"
    )


class Together(LoadScopeScheduling):
    """Give what shares an open page, or an engine, to one worker.

    xdist's own groups are lost under pytest 9.2: they are written into an attribute that is no longer read.
    """

    def _split_scope(self, nodeid: str) -> str:
        path, _, parameters = nodeid.partition("[")
        shared = next((part for part in parameters.rstrip("]").split("-") if part in SHARED), None)
        return f"{path.partition('::')[0]}-{shared}" if shared else nodeid


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log) -> Together | None:
    """Take that scheduler where groups are asked for (``--dist loadgroup``)."""
    return Together(config, log) if config.getvalue("dist") == "loadgroup" else None


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Leave a blank page in an engine that the next test does not ask for: a figure at play slows all others."""
    engine = item.funcargs.get("engine")
    if engine and "engine" not in getattr(nextitem, "fixturenames", ()):
        engine.open("about:blank")


@dataclass
class Visit:
    """An open page, what it asked for, and what went wrong while it was open."""

    page: Page
    root: str
    asked: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    under_way: set[Request] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.page.on("request", self.has_begun)
        self.page.on("requestfinished", self.has_ended)
        self.page.on("requestfailed", self.has_ended)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda m: m.type == "error" and self.errors.append(m.text))

    def has_begun(self, request: Request) -> None:
        """Remember a request until it has its answer."""
        self.asked.append(request.url)
        self.under_way.add(request)

    def has_ended(self, request: Request) -> None:
        """Forget it: it has its answer, or will have none."""
        self.under_way.discard(request)

    def go(self, path: str, until: str = "load") -> None:
        """Ask for another page in the same tab, and begin to note anew."""
        if self.page.url.partition("#")[0] == (self.root + path).partition("#")[0]:
            self.page.goto("about:blank")  # else nothing would be loaded
        for noted in (self.asked, self.errors, self.under_way):
            noted.clear()
        self.page.goto(self.root + path, wait_until=until)

    def assert_clean(self) -> None:
        """Fail if a request left the book (the browser finds no name but localhost), or a script failed."""
        refused = [url for url in self.asked if not url.startswith((self.root, "data:", "blob:"))]
        assert not refused, f"requests that left localhost: {refused}"
        assert not self.errors, f"errors in the page: {self.errors}"


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Start one Chromium for all tests."""
    if find_chromium() is None:
        pytest.skip("no Chromium on this machine (in CI this is an error)")
    with launched() as started:
        for name in ("new_context", "new_page"):
            setattr(started, name, patient(getattr(started, name)))
        yield started


def paper(browser: Browser) -> Page:
    """Return an empty page with the figures' style and shared scripts; a figure's script sets `window.figure`."""
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    style = (SITE / "_static" / "live" / "figure.css").read_text(encoding="utf-8")
    page.set_content(f"<style>{style}</style><div id=place></div>")
    page.evaluate("window.RopeLive = { define: (name, figure) => (window.figure = figure) }")
    page.add_script_tag(path=SITE / "_static" / "live" / "shared.js")
    return page


def patient(make: Callable) -> Callable:
    """Return what makes a page or a context, so that whatever is asked of these may take its time."""

    @wraps(make)
    def made(**options):
        opened = make(**options)
        opened.set_default_timeout(1000 * PATIENCE)
        return opened

    return made


class Book(Quiet):
    """Serve the book; a subclass may serve other pages."""

    def page(self, path: Path) -> bytes:
        """Return a page as it is sent."""
        return path.read_bytes()

    def do_GET(self) -> None:  # noqa: N802 (the name that http.server calls)
        """Answer with a page; other files as they are."""
        path = Path(self.translate_path(self.path))
        if path.suffix == ".html" and path.is_file():
            self.answer("text/html; charset=utf-8", self.page(path))
        else:
            super().do_GET()

    def answer(self, kind: str, body: bytes) -> None:
        """Send a whole answer."""
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


INSIDES = re.compile(rb'(<mjx-container|<div class="rope-plot")[^>]*>.*?(</mjx-container>|</div>)', re.DOTALL)


class FiguresAlone(Book):
    """Serve pages without formulas and plots, most of what a browser has to lay out."""

    def page(self, path: Path) -> bytes:
        """Leave their insides out."""
        return INSIDES.sub(rb"\1>\2", super().page(path))


class Watched(Book):
    """Serve pages with a script before all others that keeps what goes wrong (``watch.js``); parts are kept."""

    protocol_version = "HTTP/1.1"  # a connection lasts for more than one answer

    def send_header(self, keyword: str, value: str) -> None:
        """Let an engine keep what is no page: nothing is built anew while tests run."""
        kept = keyword == "Cache-Control" and not urlsplit(self.path).path.endswith(".html")
        super().send_header(keyword, "max-age=3600" if kept else value)

    def page(self, path: Path) -> bytes:
        """Put the script in."""
        return super().page(path).replace(b"<head>", b'<head><script src="/watch.js"></script>', 1)

    def do_GET(self) -> None:  # noqa: N802
        """Answer with the script too."""
        if self.path == "/watch.js":
            self.answer("text/javascript", WATCH.read_bytes())
        else:
            super().do_GET()


class WatchedFigures(Watched, FiguresAlone):
    """Both."""


@contextmanager
def served(handler: type[Quiet]) -> Iterator[str]:
    """Serve the built book on localhost; the address."""
    with Server(("127.0.0.1", 0), partial(handler, directory=str(SITE))) as http:
        threading.Thread(target=http.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{http.server_port}/"
        http.shutdown()


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    """Serve the built book on localhost."""
    with served(Book) as root:
        yield root


@pytest.fixture(scope="session")
def far() -> Iterator[str]:
    """Serve the built book as from far away: all answers share 10 Mbit/s, and each begins 40 ms late."""
    with served(Slow) as root:
        yield root


@pytest.fixture(scope="session")
def watched() -> Iterator[str]:
    """Serve the built book on localhost, each page with ``window.book``."""
    with served(Watched) as root:
        yield root


@pytest.fixture(scope="session")
def watched_figures() -> Iterator[str]:
    """The same, without formulas and plots."""
    with served(WatchedFigures) as root:
        yield root


def lacks(name: str) -> str:
    """Return what an engine lacks on this machine, in words; nothing where it is whole."""
    packages = " ".join(ENGINES[name].missing())
    return packages and f"no {name} on this machine (Debian: {packages})"


@pytest.fixture(
    scope="session",
    params=[
        Chromium.name,
        *(
            pytest.param(
                name, marks=[pytest.mark.nightly, pytest.mark.skipif(bool(lacks(name)), reason=lacks(name))]
            )
            for name in ENGINES
            if name != Chromium.name
        ),
    ],
)
def engine(request) -> Iterator:
    """Give each browser engine in turn."""
    if request.param == Chromium.name:
        started = Chromium(request.getfixturevalue("browser"))
    else:
        started = ENGINES[request.param]()
    yield started
    started.close()


@pytest.fixture(scope="module", params=sorted(WHERE))
def name(request) -> str:
    """The class name of each figure in turn."""
    return request.param


@dataclass
class Reader:
    """Open pages of the book; readers of one kind share a context, and with it what the browser keeps."""

    browser: Browser
    root: str
    bare: str  # the same without formulas and plots
    contexts: dict[str, BrowserContext] = field(default_factory=dict)

    def context(self, *, fresh: bool, **options) -> BrowserContext:
        """Return the context of that kind, or one of its own."""
        key = f"fresh {len(self.contexts)}" if fresh else repr(sorted(options.items()))
        if key not in self.contexts:
            self.contexts[key] = self.browser.new_context(**options)
        return self.contexts[key]

    def blank(
        self, *, theme="light", width=1200, height=900, root=None, maths=True, fresh=False, **options
    ) -> Visit:
        """Return a visit before its page is asked for."""
        options = {"bypass_csp": True} | options  # waiting for a condition evaluates strings in the page
        size = {"width": width, "height": height}
        context = self.context(fresh=fresh, viewport=size, color_scheme=theme, **options)
        return Visit(context.new_page(), root or (self.root if maths else self.bare))

    def open(self, path: str, *, wait=True, maths=True, script="", **options) -> Visit:
        """Return a visit whose figures are drawn and (where asked) whose mathematics is set."""
        seen = self.blank(maths=maths, **options)
        if script:
            seen.page.add_init_script(script)
        seen.page.goto(seen.root + path)
        if wait:
            settle(seen.page, maths)
        return seen


@pytest.fixture(scope="session")
def reader(browser, address) -> Iterator[Reader]:
    """Open pages that several tests share: reader.open("notebooks/x.html", theme="dark", width=360, …)."""
    with served(FiguresAlone) as bare:
        made = Reader(browser, address, bare)
        yield made
        for context in made.contexts.values():
            context.close()


@pytest.fixture
def visit(reader) -> Iterator[Callable[..., Visit]]:
    """Open pages for one test: visit("notebooks/x.html", theme="dark", width=360, root="file:///…", …)."""
    opened = []

    def open_page(path: str, **options) -> Visit:
        opened.append(reader.open(path, **options))
        return opened[-1]

    yield open_page
    for seen in opened:
        seen.page.close()


@pytest.fixture(scope="module")
def tab(reader) -> Iterator[Callable[..., Visit]]:
    """Open pages as ``visit`` does, those of one kind one after the other in one tab, in two thirds of the time.

    A tab's process and scripts are there already. It is for tests that leave a tab as they found it; the next page
    of a kind takes the place of the last.
    """
    opened: dict[str, Visit] = {}

    def open_page(path: str, *, wait=True, maths=True, script="", **options) -> Visit:
        kind = repr((maths, script, sorted(options.items())))
        if kind not in opened:
            opened[kind] = reader.blank(maths=maths, **options)
            if script:
                opened[kind].page.add_init_script(script)
        seen = opened[kind]
        seen.go(path)
        if wait:
            settle(seen.page, maths)
        return seen

    yield open_page
    for seen in opened.values():
        seen.page.close()


# what is not there yet, once nothing is missing or patience ends; it needs no eval, which the page's policy forbids
LACKING = """([maths, patience]) => new Promise((done) => {
    const all = (selector) => [...document.querySelectorAll(selector)];
    const drawn = (slot) => slot.querySelector('[data-ready="true"]:not([aria-busy="true"]), .live-note');
    const set = (math) => !maths || math.querySelector("mjx-container");
    const lacking = () => [
        ...(document.readyState === "complete" ? [] : ["the page is loading"]),
        ...all(".live-slot").filter((slot) => !drawn(slot)).map((slot) => slot.outerHTML.slice(0, 200)),
        ...all(".math").filter((math) => !set(math)).map((math) => math.textContent.slice(0, 80)),
    ];
    const end = performance.now() + 1000 * patience;
    const look = () => {
        window.RopeLive?.all?.(); // figures further down, too
        const left = lacking();
        if (left.length && performance.now() < end) setTimeout(look, 20);
        else done(left.slice(0, 5));
    };
    look();
})"""


UNFOLD = "(el) => el.querySelectorAll('.rl-more').forEach((fold) => (fold.open = true))"


def settle(page: Page, maths: bool = True, patience: float = PATIENCE) -> None:
    """Wait until every live figure of the page is drawn and (where asked) its mathematics is set."""
    try:
        lacking = page.evaluate(LACKING, [maths, patience])
    except Error:  # the page leads on to another
        page.wait_for_load_state()
        lacking = page.evaluate(LACKING, [maths, patience])
    assert not lacking, f"{urlsplit(page.url).path} after {patience} s: {lacking}"


# what the figure's line of Python says after each of these addresses
LINES = """async ([name, hashes]) => {
    const code = document.querySelector(`[data-live="${name}"] .rl-python code`);
    const lines = [];
    for (const hash of hashes) {
        const heard = new Promise((done) => addEventListener("hashchange", () => setTimeout(done), { once: true }));
        const before = location.hash;
        location.hash = hash;
        if (location.hash !== before) await heard;
        lines.push(code.textContent);
    }
    return lines;
}"""
FRAMES = (
    "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))"
)
# returns once nothing moves but what plays: no figure works or glides, no colour fades, the fonts are there, every
# figure is drawn as wide as its place is, and through some frames all is where it was; or else, what moves still
STILL = """(patience) => new Promise((done) => {
    const end = Date.now() + 1000 * patience;
    const plays = (part) => Boolean(part.closest(".rope-live")?.querySelector(".rl-play.rl-plays"));
    const misfits = () => [...document.querySelectorAll(".rope-live:not(.rl-held) .rl-picture")].filter((place) => {
        const wide = Math.round(Math.min(760, Math.max(240, place.clientWidth)));
        return place.clientWidth && Number(place.querySelector("svg").getAttribute("width")) !== wide;
    });
    const faded = () => { // a fade is at its end at once: on paper it would never come there
        const fades = document.getAnimations().filter((each) => each instanceof CSSTransition);
        for (const fade of fades) fade.finish();
        return fades;
    };
    const moving = () => [
        ...[...document.querySelectorAll('.rope-live[aria-busy="true"]')].filter((figure) => !plays(figure)),
        ...misfits(),
        ...faded(),
        ...(document.fonts.status === "loaded" ? [] : ["fonts"]),
    ];
    const PARTS = "article > *, section > *, .rope-live svg, .rl-handle";
    const places = () => [document.documentElement, ...document.querySelectorAll(PARTS)]
        .filter((each) => !plays(each))
        .map((each) => Object.values(each.getBoundingClientRect().toJSON()).join(" ")).join() + scrollY;
    let [before, same] = ["", 0];
    const look = () => {
        const [left, now] = [moving(), places()];
        same = left.length || now !== before ? 0 : same + 1;
        before = now;
        if (same >= 3) setTimeout(() => done(""));
        else if (Date.now() > end) done(`${left.map((each) => each.className ?? each)} at ${now.slice(0, 300)}`);
        else requestAnimationFrame(look);
    };
    look();
})"""


# returns once the figure is at rest: a glide is at its end within a frame, by a clock that leaps; work is done
ARRIVED = """(el) => new Promise((done) => {
    performance.now = () => Performance.prototype.now.call(performance) + 1000;
    requestAnimationFrame(() => {
        delete performance.now;
        const look = () => (el.ariaBusy === "true" ? requestAnimationFrame(look) : done());
        look();
    });
})"""
RESET = f"""(el) => {{
    el.querySelector(".rl-reset").click();
    return ({ARRIVED})(el);
}}"""
# what a page does after a rest of a hand, it does ten times as early
HURRIED = """{
    const later = window.setTimeout;
    window.setTimeout = (act, time = 0, ...rest) => later(act, time < 100 ? time : time / 10, ...rest);
}"""


def at_rest(page: Page) -> None:
    """Return once nothing in the page moves any more."""
    moving = page.evaluate(STILL, PATIENCE)
    assert not moving, f"{urlsplit(page.url).path} moves after {PATIENCE} s: {moving}"


# a browser tells who watches an element whether it is in sight: whoever began to watch earlier has heard it by then
TOLD = """(el) => new Promise((done) => {
    new IntersectionObserver((_, watch) => setTimeout(() => done(watch.disconnect()))).observe(el);
})"""


def in_sight_is_told(element: Locator) -> None:
    """Return once the figures have heard whether an element is in the window, where it is at rest now."""
    at_rest(element.page)
    element.evaluate(TOLD)


# returns once so many milliseconds have passed, in which the page was drawn at least ten times
PASSES = """(least) => new Promise((done) => {
    const begun = performance.now();
    let frames = 0;
    const look = () => {
        frames += 1;
        if (performance.now() - begun < least || frames < 10) requestAnimationFrame(look);
        else done();
    };
    requestAnimationFrame(look);
})"""


def soon(page: Page, holds: Callable[[], object]) -> None:
    """Return once a condition holds here; meanwhile the browser is heard."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, f"it does not hold after {PATIENCE} s"
        page.wait_for_timeout(20)


def reads(locator: Locator, text: str) -> None:
    """Wait until an element's text is this, to the letter."""
    try:
        locator.page.wait_for_function(
            "([el, text]) => el.textContent === text", arg=[locator.element_handle(), text]
        )
    except TooLong:
        assert locator.text_content() == text
