"""Measure the cost of the live figures in a browser: python book/tools/bench.py [15_ 17_ …]. Build the book first.

`--train` measures only training in the page: steps per second compared with torch, frame delays during
training, the memory of the page with its workers, and that a hidden page does no work.

For every slider of every figure, scrolled to the top of the window: 200 moves, each dispatched at the start of a
frame as a browser does with real input, timed until the frame is painted. For a figure with long work: 9 moves at
several lengths, each timed until the first and until the last result is painted. For every page with figures: its
weight (gzip) and the time until the first figure is drawn, from this machine and over a line of 10 Mbit/s with a
latency of 40 ms. The machine's load is printed first, since it affects every time; the moves of a figure with long
work include a slice of that work.
"""

import gzip
import os
import statistics
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from browser import launched
from playwright.sync_api import Browser, Page
from serve import Quiet, Slow, server

SITE = Path(__file__).resolve().parents[2] / "_build" / "html"
MOVES = 200
MEASURE = """async ([figure, trait, moves]) => {
    const input = document.querySelector(`[data-live="${figure}"] [data-trait="${trait}"] input`);
    const [low, high, step] = [input.min, input.max, input.step].map(Number);
    input.closest("[data-live]").scrollIntoView({ block: "start", behavior: "instant" });
    await new Promise((resolve) => setTimeout(resolve, 300));  // what it brings into sight is drawn
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
WORKS = {"ModelInThePage": ("attention_factor", "times", (1, 4, 16))}  # figure: trait, size, lengths
WORK_MOVES = 9
WORK = """async ([figure, trait, size, length, moves]) => {
    const root = document.querySelector(`[data-live="${figure}"]`);
    const move = (name, share) => {
        const input = root.querySelector(`[data-trait="${name}"] input`);
        const [low, high, step] = [input.min, input.max, input.step].map(Number);
        input.value = share(low, high, step);
        input.dispatchEvent(new Event("input", { bubbles: true }));
    };
    const painted = () => new Promise((resolve) => requestAnimationFrame(() => {
        const channel = new MessageChannel();
        channel.port1.onmessage = resolve;
        channel.port2.postMessage(0);  // handled once this frame is painted
    }));
    const busy = () => root.getAttribute("aria-busy") === "true";
    const rested = async () => { while (busy()) await painted(); };
    const picture = () => root.querySelector("svg").innerHTML;
    move(size, () => length);
    await rested();
    root.scrollIntoView({ block: "start", behavior: "instant" });
    const times = [];
    for (let i = 0; i < moves; i++) {
        await painted();
        const start = performance.now();
        const share = ((i + 1) * 0.618034) % 1;  // never twice the same: nothing of it is known yet
        move(trait, (low, high, step) => low + Math.round((share * (high - low)) / step) * step);
        const asked = picture();  // drawn at once
        while (busy() && picture() === asked) await painted();
        await painted();
        const first = performance.now() - start;
        await rested();
        times.push([first, performance.now() - start]);
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
    """Serve the book, and yield its address."""
    http = server(str(SITE), handler=handler)
    threading.Thread(target=http.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{http.server_port}/"
    http.shutdown()


def first_figure(browser: Browser, url: str) -> float:
    """Return the milliseconds until the first figure of a page is drawn: the median of three cold loads."""
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
    """Load a page; return the bytes (gzip) of all files of the book that it requests."""
    files = []
    page.on("response", lambda response: files.append(response.url))
    page.goto(url, wait_until="networkidle")
    root = url[: url.index("/", len("http://")) + 1]
    local = {file.removeprefix(root).partition("?")[0] for file in files if file.startswith(root)}
    return sum(len(gzip.compress((SITE / file).read_bytes())) for file in local)


def moves(page: Page) -> None:
    """Print a line per slider of a page."""
    sliders = page.evaluate(
        """() => [...document.querySelectorAll("[data-live] input[type=range]")].map((input) =>
            [input.closest("[data-live]").dataset.live, input.closest("[data-trait]").dataset.trait])"""
    )
    for figure, trait in sliders:
        times = sorted(page.evaluate(MEASURE, [figure, trait, MOVES]))
        middle, late = statistics.median(times), times[int(0.95 * len(times))]
        print(f"    {figure + '.' + trait:32} median {middle:5.2f} ms   95th percentile {late:5.2f} ms")
    for figure in sorted({figure for figure, _ in sliders} & WORKS.keys()):
        measure_work(page, figure)


def measure_work(page: Page, figure: str) -> None:
    """Print the time of a figure's work at each length, from a move to the first and to the last result."""
    trait, size, lengths = WORKS[figure]
    for length in lengths:
        times = page.evaluate(WORK, [figure, trait, size, length, WORK_MOVES])
        first, last = (statistics.median(column) for column in zip(*times, strict=True))
        print(
            f"    {figure}, {size} = {length:2}: first result {first:5.0f} ms, last {last:5.0f} ms (medians)"
        )


TRAINS = {
    "24 letters": {},
    "48 letters": {"length": 48},
    "48 letters, two layers": {"length": 48, "layers": 2},
}
TRAIN = """([engine, settings, steps]) => {
    const answer = new Function(`${engine}; return answer;`)();
    answer({ settings, until: 10 });
    const start = performance.now();
    answer({ settings, until: 10 + steps });
    return (1000 * steps) / (performance.now() - start);
}"""


def training(browser: Browser) -> None:
    """Print the page engine's training steps per second for three sizes, compared with torch on one thread."""
    import torch

    from rope_book.widgets._bundle import DATA
    from tests.book.widgets.torch_training import SETTINGS, losses

    page, steps = browser.new_page(), 40
    for name, size in TRAINS.items():
        settings = SETTINGS | size
        by_page = page.evaluate(TRAIN, [DATA["engine"](), settings, steps])
        torch.set_num_threads(1)
        losses(settings, 10)
        start = time.perf_counter()
        losses(settings, steps)
        by_torch = steps / (time.perf_counter() - start)
        ratio = by_page / by_torch
        print(
            f"training on {name:24} {by_page:4.0f} steps a second, torch {by_torch:4.0f}, ratio {ratio:.2f}"
        )
    page.close()


RUN = {"steps": 2000}  # longer than the measurement
STATE = """() => {
    const said = document.querySelector('[data-live="TrainInThePage"] .rl-readout').textContent;
    return { step: Number(/after ([\\d,]+) step/.exec(said)?.[1].replace(",", "") ?? 0), hidden: document.hidden };
}"""
TAKE = """(changes) => document.querySelector('[data-live="TrainInThePage"]').take(changes)"""
HIDE = """(away) => {
    Object.defineProperty(document, "hidden", { configurable: true, get: () => away });
    document.dispatchEvent(new Event("visibilitychange"));
}"""
SECONDS = 5  # per measurement


def learning(browser: Browser, root: str) -> None:
    """Print the playground's training: steps per second, frames, memory, and its behaviour when hidden."""
    page = opened(browser)
    page.goto(f"{root}notebooks/P1_playground.html")
    page.wait_for_selector('[data-live="TrainInThePage"][data-ready="true"]')
    before = memory(browser)
    page.evaluate(TAKE, RUN)
    page.wait_for_timeout(1000)  # lets the workers start and the code warm up
    first = page.evaluate(STATE)["step"]
    page.wait_for_timeout(1000 * SECONDS)
    rate = (page.evaluate(STATE)["step"] - first) / SECONDS
    print(f"in the page: {rate:.0f} steps a second (24 letters, one encoding, with its picture)")
    times = sorted(page.evaluate(MEASURE, ["TrainInThePage", "times", MOVES]))
    middle, late = statistics.median(times), times[int(0.95 * len(times))]
    print(
        f"input to frame while it trains: median {middle:.1f} ms, 95th percentile {late:.1f}, worst {times[-1]:.1f}"
    )
    one = memory(browser)
    page.evaluate(TAKE, RUN | {"against": "sinusoidal", "times": 4})
    page.wait_for_timeout(1000 * SECONDS)
    print(
        f"memory of the page's process: {before:.0f} MB before the training, {one:.0f} with its worker, "
        f"{memory(browser):.0f} with two and texts of four times the length"
    )
    page.evaluate(TAKE, RUN | {"against": "", "seed": 1})
    page.wait_for_timeout(1000)
    hidden(browser, page)
    page.context.close()


def hidden(browser: Browser, page: Page) -> None:
    """Print the steps and the CPU time of a run while its page is hidden, and that it resumes afterwards."""
    seen = page.evaluate(STATE)["step"]
    page.evaluate(HIDE, True)
    page.wait_for_timeout(1000)  # time for a worker to finish what it had begun
    at, worked = page.evaluate(STATE)["step"], cpu_seconds(browser)
    page.wait_for_timeout(1000 * SECONDS)
    still, worked = page.evaluate(STATE)["step"], cpu_seconds(browser) - worked
    page.evaluate(HIDE, False)
    page.wait_for_timeout(2000)
    after = page.evaluate(STATE)["step"]
    print(
        f"hidden for {SECONDS} s at step {seen}: {still - at} steps, {worked:.2f} s of CPU; "
        f"seen again: {after - still} steps in 2 s"
    )


def renderers(browser: Browser) -> list[Path]:
    """Return the /proc folders of the browser's processes that render pages."""
    session = browser.new_browser_cdp_session()
    processes = session.send("SystemInfo.getProcessInfo")["processInfo"]
    session.detach()
    return [Path(f"/proc/{process['id']}") for process in processes if process["type"] == "renderer"]


def memory(browser: Browser) -> float:
    """Return the private memory of the largest page process in MB: its scripts, workers and picture."""

    def private(process: Path) -> float:
        lines = (process / "smaps_rollup").read_text().splitlines()
        return sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) / 1000

    return max(map(private, renderers(browser)))


def cpu_seconds(browser: Browser) -> float:
    """Return the CPU seconds of the page processes so far."""
    ticks = 0
    for process in renderers(browser):
        ticks += sum(map(int, (process / "stat").read_text().rpartition(")")[2].split()[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


def main(paths: list[str]) -> None:
    """Measure the chapters with one of these words in their names, or all of them if none is given."""
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    if "--train" in paths:
        with launched() as browser, served(Quiet) as near:
            training(browser)
            learning(browser, near)
        return
    built = sorted(f"notebooks/{page.name}" for page in (SITE / "notebooks").glob("*.html"))
    chapters = [page for page in built if not paths or any(path in page for path in paths)]
    if not chapters:
        raise SystemExit(f"no page of {SITE / 'notebooks'} has {' or '.join(paths)} in its name")
    with launched() as browser, served(Quiet) as near, served(Slow) as far:
        if any("P1" in path for path in chapters):
            training(browser)
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
