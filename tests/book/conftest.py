"""The built book, a server for it, and a browser that reaches nothing else."""

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "book" / "tools"))

from browser import find_chromium, launched  # noqa: E402
from serve import server  # noqa: E402

SITE = ROOT / "_build" / "html"
PAGES = sorted(
    str(page.relative_to(SITE))
    for page in SITE.rglob("*.html")
    if "_static" not in page.relative_to(SITE).parts
)
CHAPTERS = [page for page in PAGES if page.startswith("notebooks/")]


def pytest_configure(config: pytest.Config) -> None:
    """Say clearly what is missing before any test runs."""
    if not SITE.is_dir():
        pytest.exit("the book is not built: run `make book` first", returncode=2)
    if find_chromium() is None:
        message = "no Chromium was found: install one or name it in $CHROMIUM; the browser tests need it"
        if os.environ.get("CI"):
            pytest.exit(message, returncode=2)
        print(f"\n{message}\n", file=sys.stderr)


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


@pytest.fixture
def visit(browser, address) -> Iterator[Callable[..., Visit]]:
    """Open a page: visit("notebooks/x.html", theme="dark", width=360, root="file:///…", …)."""
    contexts = []

    def open_page(
        path: str, *, theme="light", width=1200, root=None, wait=True, maths=True, **options
    ) -> Visit:
        options = {"bypass_csp": True} | options  # waiting for a condition evaluates strings in the page
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=theme, **options)
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
