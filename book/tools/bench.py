"""Measure what the live figures cost in a browser: python book/tools/bench.py [page …]. Build the book first.

For every slider of every figure: 200 moves, each dispatched at the start of a frame as a browser does with real
input, timed until the frame is painted. For every page with figures: its weight (gzip) and the time until the first
figure is drawn.
"""

import gzip
import statistics
import sys
import threading
from pathlib import Path

from browser import launched
from serve import server

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


def measure(page, address: str, path: str) -> None:
    """Print one line for the page and one for each slider on it."""
    files = []
    page.on("response", lambda response: files.append(response.url))
    page.goto(address + path, wait_until="commit")
    alive = page.evaluate(FIRST)
    page.wait_for_load_state("networkidle")
    local = {url.removeprefix(address).partition("?")[0] for url in files if url.startswith(address)}
    weight = sum(len(gzip.compress((SITE / file).read_bytes())) for file in local)
    print(f"{path}: first figure after {alive:.0f} ms, {weight / 1e6:.2f} MB gzip")
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
    http = server(str(SITE))
    threading.Thread(target=http.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{http.server_port}/"
    chapters = paths or sorted(f"notebooks/{page.name}" for page in (SITE / "notebooks").glob("*.html"))
    with launched() as browser:
        for path in chapters:
            context = browser.new_context(viewport={"width": 1200, "height": 900})
            measure(context.new_page(), address, path)
            context.close()
    http.shutdown()


if __name__ == "__main__":
    main(sys.argv[1:])
