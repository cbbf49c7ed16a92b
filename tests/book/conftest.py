"""The built book, a server for it, and a browser that reaches nothing else."""

import os
import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "book" / "tools"))

from browser import find_chromium, launched  # noqa: E402
from serve import Quiet, ThreadingHTTPServer, server  # noqa: E402

from .engines import ENGINES, Chromium, installed  # noqa: E402

SITE = ROOT / "_build" / "html"
WATCH = Path(__file__).with_name("watch.js")
PAGES = sorted(
    str(page.relative_to(SITE))
    for page in SITE.rglob("*.html")
    if "_static" not in page.relative_to(SITE).parts
)
CHAPTERS = [page for page in PAGES if page.startswith("notebooks/")]
WHERE = {
    name: page
    for page in CHAPTERS
    for name in re.findall(r'"_anywidget_id": "[\w.]+\.(\w+)"', (SITE / page).read_text(encoding="utf-8"))
}  # the page of each figure


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
    lacking = {name: " ".join(engine.missing()) for name, engine in ENGINES.items() if engine.missing()}
    others = "".join(f"; no {name} here (Debian: {packages})" for name, packages in lacking.items())
    return f"engines: {', '.join(installed())}{others}"


@dataclass
class Visit:
    """An open page and what went wrong while it was open."""

    page: object
    refused: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def assert_clean(self) -> None:
        """Fail if a request left localhost, or a script failed."""
        assert not self.refused, f"requests that left localhost: {self.refused}"
        assert not self.errors, f"errors in the page: {self.errors}"


@pytest.fixture(scope="session")
def browser() -> Iterator:
    """Start one Chromium for all tests."""
    if find_chromium() is None:
        pytest.skip("no Chromium on this machine (in CI this is an error)")
    with launched() as started:
        yield started


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    """Serve the built book on localhost."""
    http = server(str(SITE))
    threading.Thread(target=http.serve_forever, daemon=True).start()
    with closing(http.socket):
        yield f"http://127.0.0.1:{http.server_port}/"
        http.shutdown()


class Watched(Quiet):
    """Serve the book with a script before all others that keeps what goes wrong (``watch.js``)."""

    def do_GET(self) -> None:  # noqa: N802 (the name that http.server calls)
        """Put the script into a page; other files as they are."""
        path = Path(self.translate_path(self.path))
        if path.suffix == ".html" and path.is_file():
            page = path.read_bytes().replace(b"<head>", b'<head><script src="/watch.js"></script>', 1)
            self.answer("text/html; charset=utf-8", page)
        elif self.path == "/watch.js":
            self.answer("text/javascript", WATCH.read_bytes())
        else:
            super().do_GET()

    def answer(self, kind: str, body: bytes) -> None:
        """Send a whole answer."""
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture(scope="session")
def watched() -> Iterator[str]:
    """Serve the built book on localhost, each page with ``window.book``."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Watched, directory=str(SITE))) as http:
        threading.Thread(target=http.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{http.server_port}/"
        http.shutdown()


@pytest.fixture(scope="session", params=installed())
def engine(request) -> Iterator:
    """Give each browser engine of this machine in turn."""
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


@pytest.fixture
def visit(browser, address) -> Iterator[Callable[..., Visit]]:
    """Open a page: visit("notebooks/x.html", theme="dark", width=360, root="file:///…", …)."""
    contexts = []

    def open_page(
        path: str,
        *,
        theme="light",
        width=1200,
        height=900,
        root=None,
        wait=True,
        maths=True,
        script="",
        **options,
    ) -> Visit:
        options = {"bypass_csp": True} | options  # waiting for a condition evaluates strings in the page
        size = {"width": width, "height": height}
        context = browser.new_context(viewport=size, color_scheme=theme, **options)
        if script:
            context.add_init_script(script)
        contexts.append(context)
        seen = Visit(context.new_page())
        base = address if root is None else root

        def guard(route):
            url = route.request.url
            if not maths and "/mathjax/" in url:
                route.fulfill(body="")  # a test of figures alone need not wait for formulas
            elif url.startswith((base, "data:", "blob:")):
                route.continue_()
            else:
                seen.refused.append(url)
                route.abort()

        context.route("**/*", guard)
        seen.page.on("pageerror", lambda error: seen.errors.append(str(error)))
        seen.page.on("console", lambda m: m.type == "error" and seen.errors.append(m.text))
        seen.page.goto(base + path)
        if wait:
            settle(seen.page, maths)
        return seen

    yield open_page
    for context in contexts:
        context.close()


def settle(page, maths: bool = True) -> None:
    """Wait until every live figure of the page is drawn and (where asked) its mathematics is set."""
    page.wait_for_function(
        """(maths) => document.readyState === "complete"
            && [...document.querySelectorAll(".live-slot")].every(
                (slot) => slot.querySelector('[data-ready="true"]') || slot.querySelector(".live-note"))
            && (!maths || [...document.querySelectorAll(".math")].every(
                (math) => math.querySelector("mjx-container")))""",
        arg=maths,
    )
