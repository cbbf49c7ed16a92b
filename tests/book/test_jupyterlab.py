"""The same figure in JupyterLab: a hand moves the trait, code moves the picture, arrow keys stay in the slider."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import suppress

import nbformat
import pytest
from playwright.sync_api import TimeoutError as TooLong

pytestmark = pytest.mark.browser
CELLS = [
    "from rope_edu.widgets import RotatePair\nfigure = RotatePair(position=7)\nfigure",
    "print('position is', figure.position)",
    "figure.position = 33\nfigure.lock = True",
    'from rope_edu.widgets import Question\nQuestion("04-lock", figure=figure)',
    "print('shown:', figure.position, figure.key_position, figure.lock)",
]


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """Start JupyterLab on localhost with one notebook; yield the notebook's address."""
    folder = tmp_path_factory.mktemp("lab")
    cells = [nbformat.v4.new_code_cell(text) for text in CELLS]
    kernel = {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}
    notebook = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})
    nbformat.write(notebook, folder / "figure.ipynb")
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
        yield f"{address}/doc/tree/figure.ipynb?reset"
    finally:
        server.terminate()
        server.wait()


def test_figure_in_jupyterlab_syncs_both_ways(browser, lab):
    page = browser.new_page(viewport={"width": 1200, "height": 1400})
    page.goto(lab)
    cells = page.locator(".jp-Notebook .jp-CodeCell")
    cells.nth(2).wait_for(timeout=60_000)
    page.get_by_text("Python 3 (ipykernel) | Idle").wait_for(timeout=60_000)

    def run(number):
        cells.nth(number).locator(".jp-InputArea-editor").click()
        page.keyboard.press("Control+Enter")

    figure = page.locator('[data-live="RotatePair"][data-ready="true"]')
    for seconds in (20, 60):  # keys that come while JupyterLab still lays itself out are lost
        run(0)
        with suppress(TooLong):
            figure.wait_for(timeout=1000 * seconds)
            break
    assert figure.is_visible()
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
    assert (
        asked.get_by_role("status").text_content().startswith("Not so. They point elsewhere, but both turned")
    )
    page.wait_for_function(
        "document.querySelector('[data-trait=position] input').value === '16'", timeout=20_000
    )
    run(4)
    page.get_by_text("shown: 16 12 True").wait_for(timeout=20_000)
    page.close()
