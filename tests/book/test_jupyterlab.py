"""The same figure in JupyterLab: a hand moves the trait, code moves the picture, arrow keys stay in the slider."""

import ast
import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager, suppress
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import TimeoutError as TooLong

from rope_edu import widgets
from rope_edu.widgets import LiveFigure

pytestmark = pytest.mark.browser
HOSTS = Path(__file__).with_name("hosts.js")
ALL = [
    "from rope_edu.widgets import LiveFigure\n"
    "made = {name: figure() for name, figure in sorted(LiveFigure.figures.items())}\n"
    "for figure in made.values():\n    display(figure)",
    "print('lines', {name: repr(figure) for name, figure in made.items()}, 'end')",
    "for figure in made.values():\n    figure.reset()\nprint('reset', 'done')",
]
CELLS = [
    "from rope_edu.widgets import RotatePair\nfigure = RotatePair(position=7)\nfigure",
    "print('position is', figure.position)",
    "figure.position = 33\nfigure.lock = True",
    'from rope_edu.widgets import Question\nQuestion("04-lock", figure=figure)',
    "print('shown:', figure.position, figure.key_position, figure.lock)",
    "from rope_edu.widgets import Clocks\nclocks = Clocks()\nclocks",
    'Question("06-whole", figure=clocks)',
    "print('clocks at', clocks.position)",
]


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """Start JupyterLab on localhost with two notebooks; yield the address of its notebooks."""
    folder = tmp_path_factory.mktemp("lab")
    kernel = {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}
    for name, texts in {"figure": CELLS, "all": ALL}.items():
        cells = [nbformat.v4.new_code_cell(text) for text in texts]
        notebook = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})
        nbformat.write(notebook, folder / f"{name}.ipynb")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = [
        "--no-browser",
        "--allow-root",
        f"--port={port}",
        "--ServerApp.port_retries=0",
        "--IdentityProvider.token=",
    ]
    server = subprocess.Popen(
        [sys.executable, "-m", "jupyter", "lab", f"--notebook-dir={folder}", *options],
        env=os.environ
        | {"JUPYTER_CONFIG_DIR": str(folder / "config"), "JUPYTERLAB_SETTINGS_DIR": str(folder / "settings")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(240):
            try:
                json.load(urllib.request.urlopen(f"{address}/api"))
                break
            except OSError:
                assert server.poll() is None, "JupyterLab ended at once"
                time.sleep(0.25)
        yield f"{address}/doc/tree"
    finally:
        server.terminate()
        server.wait()


@contextmanager
def opened(browser, lab, name):
    """Open a notebook in JupyterLab; yield its page, and a function that runs a cell by its number."""
    page = browser.new_page(viewport={"width": 1200, "height": 1400})
    page.goto(f"{lab}/{name}.ipynb?reset")
    cells = page.locator(".jp-Notebook .jp-CodeCell")
    cells.nth(2).wait_for(timeout=60_000)
    page.get_by_text("Python 3 (ipykernel) | Idle").wait_for(timeout=60_000)

    def run(number):
        cells.nth(number).locator(".jp-InputArea-editor").click()
        page.keyboard.press("Control+Enter")

    yield page, run
    page.close()


def run_first(run, drawn):
    """Run the first cell until what it draws is there: keys that come while JupyterLab lays itself out are lost."""
    for seconds in (20, 60):
        run(0)
        with suppress(TooLong):
            drawn.wait_for(timeout=1000 * seconds)
            break
    assert drawn.is_visible()


def test_every_figure_in_jupyterlab_moves_both_ways(browser, lab):
    with opened(browser, lab, "all") as (page, run):
        last = page.locator(f'[data-live="{max(LiveFigure.figures)}"][data-ready="true"]')
        run_first(run, last)
        page.evaluate(HOSTS.read_text(encoding="utf-8"))
        page.wait_for_function("(count) => hosts.alive().length === count", arg=len(LiveFigure.figures))
        first = page.evaluate("hosts.lines()")
        assert first == {name: repr(figure()) for name, figure in sorted(LiveFigure.figures.items())}

        # a hand: every trait follows
        assert page.evaluate("hosts.hand()").keys() == first.keys()
        moved = page.evaluate("hosts.lines()")
        assert [name for name in first if moved[name] == first[name]] == []
        run(1)
        said = page.get_by_text("lines {")
        said.wait_for(timeout=20_000)
        told = ast.literal_eval(said.inner_text().partition(" ")[2].rpartition(" ")[0])
        assert told == {name: repr(eval(line, dict(vars(widgets)))) for name, line in moved.items()}

        # code: every picture follows
        run(2)
        page.get_by_text("reset done").wait_for(timeout=20_000)
        page.wait_for_function(
            "(first) => JSON.stringify(hosts.lines()) === JSON.stringify(first)", arg=first, timeout=20_000
        )


def test_figure_in_jupyterlab_syncs_both_ways(browser, lab):
    with opened(browser, lab, "figure") as (page, run):
        figure = page.locator('[data-live="RotatePair"][data-ready="true"]')
        run_first(run, figure)
        slider = figure.locator('[data-trait="position"] input')
        assert slider.input_value() == "7"

        # a hand: the arrow keys reach the slider, not the notebook, and the trait follows
        slider.focus()
        slider.press("ArrowRight")
        slider.press("ArrowUp")
        assert slider.input_value() == "9"
        assert slider.evaluate("(el) => el === document.activeElement")
        run(1)
        page.get_by_text("position is 9").wait_for(timeout=20_000)

        # code: the picture follows the trait
        before = figure.locator("svg").inner_html()
        run(2)
        page.wait_for_function(
            "document.querySelector('[data-trait=position] input').value === '33'", timeout=20_000
        )
        assert figure.locator("svg").inner_html() != before
        assert figure.locator('[data-trait="lock"] input').is_checked()

        # a question: its answer sets the figure in Python and on the screen
        run(3)
        asked = page.locator('[data-live="Question"][data-ready="true"]')
        asked.wait_for(timeout=20_000)
        asked.get_by_role("button", name="It changes, since both arrows point elsewhere").press("Enter")
        said = asked.get_by_role("status").text_content()
        assert said.startswith("Not so. They point elsewhere, but both turned")
        page.wait_for_function(
            "document.querySelector('[data-trait=position] input').value === '16'", timeout=20_000
        )
        run(4)
        page.get_by_text("shown: 16 12 True").wait_for(timeout=20_000)

        # a place to click: the figure frames it once the question is seen; the click comes back through Python
        run(5)
        clocks = page.locator('[data-live="Clocks"][data-ready="true"]')
        clocks.wait_for(timeout=20_000)
        run(6)
        page.locator('[data-question="06-whole"]').scroll_into_view_if_needed(timeout=20_000)
        place = clocks.locator('[data-place="pair 0"]')
        place.wait_for(timeout=20_000)
        place.evaluate("(el) => el.scrollIntoView({ block: 'center' })")
        box = place.bounding_box()
        page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.get_by_text("Not so. It tells neighbours apart better").wait_for(timeout=20_000)
        run(7)
        page.get_by_text("clocks at 4096").wait_for(timeout=20_000)
