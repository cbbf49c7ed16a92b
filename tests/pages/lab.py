"""JupyterLab on localhost with notebooks made for a test, and a hand in it."""

import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import nbformat
from playwright.sync_api import TimeoutError as TooLong

from .engines import PATIENCE, free_port, wait

KERNEL = {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}
QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


def write(path: Path, texts: list[str], words: str = "") -> None:
    """Write a notebook of these code cells, and below them a cell of words."""
    cells = [nbformat.v4.new_code_cell(text) for text in texts]
    cells += [nbformat.v4.new_markdown_cell(words)] if words else []
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": KERNEL}), path)


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder; the address of JupyterLab."""
    server, port = started(folder)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait()


def started(folder: Path) -> tuple[subprocess.Popen, int]:
    """Start JupyterLab in a folder; its process and its port, another one where somebody was faster."""
    for _ in range(5):
        port = free_port()
        server = subprocess.Popen(command(folder, port), env=environment(folder), **QUIET)
        wait(lambda server=server, port=port: server.poll() is not None or answers(port))
        if server.poll() is None:
            return server, port
    raise RuntimeError("JupyterLab ended at once, five times")


def environment(folder: Path) -> dict[str, str]:
    """Return an environment in which JupyterLab has no settings but those of a folder."""
    config, settings = str(folder / "config"), str(folder / "settings")
    return os.environ | {"JUPYTER_CONFIG_DIR": config, "JUPYTERLAB_SETTINGS_DIR": settings}


def command(folder: Path, port: int) -> list[str]:
    """Return the command that serves a folder at a port."""
    options = [
        "--no-browser",
        "--allow-root",
        f"--port={port}",
        "--ServerApp.port_retries=0",
        "--IdentityProvider.token=",
    ]
    return [sys.executable, "-m", "jupyter", "lab", f"--notebook-dir={folder}", *options]


def answers(port: int) -> bool:
    """Return whether JupyterLab is there."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api", timeout=PATIENCE) as answer:
            return "version" in json.load(answer)
    except OSError:
        return False


@contextmanager
def opened(browser, lab, name):
    """Open a notebook in JupyterLab; yield its page, and a function that runs a cell by its number."""
    page = browser.new_page(viewport={"width": 1200, "height": 1400})
    page.goto(f"{lab}/doc/tree/{name}.ipynb?reset")
    cells = page.locator(".jp-Notebook .jp-CodeCell")
    cells.first.wait_for()
    page.get_by_text("Python 3 (ipykernel) | Idle").wait_for()

    def run(number):
        """Run a cell; what it has printed. Keys that come while the page is laid out are lost."""
        cell = cells.nth(number)
        prompt = cell.locator(".jp-InputPrompt").first
        before = prompt.text_content()
        for _ in range(10):
            cell.locator(".jp-InputArea-editor").click()
            page.keyboard.press("Control+Enter")
            begun = "([el, before]) => el.textContent !== before"
            with suppress(TooLong):
                page.wait_for_function(begun, arg=[prompt.element_handle(), before], timeout=10_000)
                break
        page.wait_for_function("(el) => /\\d/.test(el.textContent)", arg=prompt.element_handle())
        return cell.locator(".jp-Cell-outputArea").inner_text()

    yield page, run
    page.close()


def told(run, number, wanted):
    """Run a cell until it prints what is wanted: what moves in the page is told to the kernel one after another."""
    printed, end = run(number), time.monotonic() + PATIENCE
    while not wanted(printed) and time.monotonic() < end:
        printed = run(number)
    assert wanted(printed), printed
