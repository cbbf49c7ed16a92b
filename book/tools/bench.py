"""Measure what the live figures cost in a browser: python book/tools/bench.py [page …]. Build the book first.

For every slider of every figure: 200 moves, each dispatched at the start of a frame as a browser does with real
input, timed until the frame is painted. For every page with figures: its weight (gzip) and the time until the first
figure is drawn, from this machine and over a line of 10 Mbit/s with 40 ms to an answer.
"""

import gzip
import statistics
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from browser import launched
from playwright.sync_api import Browser, Page
from serve import Quiet, Slow, server

SITE = Path(__file__).resolve().parents[2] / "_build" / "html"
MOVES = 200
MEASURE = """async ([figure, trait, moves]) => {
    const input = document.querySelector(`[data-live="${figure}"] [data-trait="${trait}"] input`);
    const [low, high, step] = [input.min, input.max, input.step].map(Number);
    const times = [];
    for (let i = 0; i < moves; i++) {
        const share = (i * 0.618034) % 1;  // spread over the whole range, far from the last value
        await new Promise((resolve) => requestAnimationFrame(() => {
            const start = performance.now();
            input.value = low + Math.round((share * (high - low)) / step) * step;
            input.dispatchEvent(new Event("input", { bubbles: true }));
            const channel = new MessageChannel();
            channel.port1.onmessage = () => resolve(times.push(performance.now() - start));
            channel.port2.postMessage(0);  // handled once this frame is painted
        }));
    }
    return times;
}"""
FIRST = """() => new Promise((resolve) => {
    const drawn = () => document.querySelector('[data-ready="true"]');
    const look = () => drawn() ? resolve(performance.now()) : setTimeout(look, 4);
    look();
})"""


@contextmanager
def served(handler: type[Quiet]) -> Iterator[str]:
    """Serve the book; the address."""
    http = server(str(SITE), handler=handler)
    threading.Thread(target=http.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{http.server_port}/"
    http.shutdown()


def first_figure(browser: Browser, url: str) -> float:
    """Return after how many milliseconds the first figure of a page is drawn: the median of three cold loads."""
    times = []
    for _ in range(3):
        page = opened(browser)
        page.goto(url, wait_until="commit")
        times.append(page.evaluate(FIRST))
        page.context.close()
    return statistics.median(times)


def opened(browser: Browser) -> Page:
    """Return a blank page with a cold cache."""
    return browser.new_context(viewport={"width": 1200, "height": 900}).new_page()


def weight(page: Page, url: str) -> int:
    """Load a page; return the bytes (gzip) of all files of the book that it asks for."""
    files = []
    page.on("response", lambda response: files.append(response.url))
    page.goto(url, wait_until="networkidle")
    root = url[: url.index("/", len("http://")) + 1]
    local = {file.removeprefix(root).partition("?")[0] for file in files if file.startswith(root)}
    return sum(len(gzip.compress((SITE / file).read_bytes())) for file in local)


def moves(page: Page) -> None:
    """Print a line for each slider of a page."""
    sliders = page.evaluate(
        """() => [...document.querySelectorAll("[data-live] input[type=range]")].map((input) =>
            [input.closest("[data-live]").dataset.live, input.closest("[data-trait]").dataset.trait])"""
    )
    for figure, trait in sliders:
        times = sorted(page.evaluate(MEASURE, [figure, trait, MOVES]))
        middle, late = statistics.median(times), times[int(0.95 * len(times))]
        print(f"    {figure + '.' + trait:32} median {middle:5.2f} ms   95th percentile {late:5.2f} ms")


def main(paths: list[str]) -> None:
    """Measure the given pages (all chapters, where none is given)."""
    chapters = paths or sorted(f"notebooks/{page.name}" for page in (SITE / "notebooks").glob("*.html"))
    with launched() as browser, served(Quiet) as near, served(Slow) as far:
        for path in chapters:
            alive = [first_figure(browser, root + path) for root in (near, far)]
            page = opened(browser)
            size = weight(page, near + path) / 1e6
            print(
                f"{path}: first figure after {alive[0]:.0f} ms, {alive[1]:.0f} ms far away; {size:.2f} MB gzip"
            )
            moves(page)
            page.context.close()


if __name__ == "__main__":
    main(sys.argv[1:])
