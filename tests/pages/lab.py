"""Jupyter's applications on localhost with notebooks made for a test, and a hand in JupyterLab or Notebook 7."""

import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import nbformat
from playwright.sync_api import Page, Response
from playwright.sync_api import TimeoutError as TooLong

from .conftest import soon
from .engines import PATIENCE, free_port, wait

KERNEL = {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}
FOLDERS = {
    "JUPYTER_CONFIG_DIR": "config",
    "JUPYTER_RUNTIME_DIR": "runtime",
    "JUPYTERLAB_SETTINGS_DIR": "settings",
    "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
}
IS_CONNECTED = """async (path) => {
    const sessions = await (await fetch("/api/sessions")).json();
    const { kernel } = sessions.find((one) => one.path === path) ?? {};
    return kernel?.connections && kernel.execution_state === "idle";
}"""
QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


def write(path: Path, texts: list[str], words: str = "") -> None:
    """Write a notebook of these code cells, and below them a cell of words."""
    cells = [nbformat.v4.new_code_cell(text) for text in texts]
    cells += [nbformat.v4.new_markdown_cell(words)] if words else []
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": KERNEL}), path)


@dataclass(frozen=True)
class App:
    """An application that opens notebooks: its module, the folder of their addresses, and its options."""

    module: str
    place: str
    options: tuple[str, ...] = (
        "--ServerApp.port_retries=0",
        "--IdentityProvider.token=",
        "--ServerApp.disable_check_xsrf=True",  # so that a test can end kernels
    )
    python: str = sys.executable
    variables: Mapping[str, str] = field(default_factory=lambda: os.environ)

    def command(self, folder: Path, port: int) -> list[str]:
        """Return the command that serves a folder at a port."""
        serve = ["--no-browser", "--allow-root", f"--port={port}", f"--notebook-dir={folder}"]
        return [self.python, "-m", self.module, *serve, *self.options]

    def environment(self, folder: Path) -> dict[str, str]:
        """Return an environment in which the application has no settings but those of a folder."""
        return {**self.variables} | {name: str(folder / place) for name, place in FOLDERS.items()}


LAB, NOTEBOOK = App("jupyterlab", "doc/tree"), App("notebook", "notebooks")


@contextmanager
def served(folder: Path, app: App = LAB) -> Iterator[str]:
    """Serve a folder; the address under which an application opens its notebooks."""
    server, port = started(folder, app)
    try:
        yield f"http://127.0.0.1:{port}/{app.place}"
    finally:
        server.kill()  # asked to end, it may wait for a kernel that has just begun; kernels end with their server
        server.wait()


def started(folder: Path, app: App) -> tuple[subprocess.Popen, int]:
    """Start an application in a folder; its process and its port, another one where somebody was faster."""
    for _ in range(5):
        port = free_port()
        server = subprocess.Popen(app.command(folder, port), env=app.environment(folder), **QUIET)
        wait(lambda server=server, port=port: server.poll() is not None or answers(port))
        if server.poll() is None:
            return server, port
    raise RuntimeError(f"{app.module} ended at once, five times")


def answers(port: int) -> bool:
    """Return whether a server is there."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api", timeout=PATIENCE) as answer:
            return "version" in json.load(answer)
    except OSError:
        return False


def end_kernels(lab: str) -> None:
    """End the kernels of a server, which then has only what was saved."""
    sessions = urljoin(lab, "/api/sessions")
    with urllib.request.urlopen(sessions, timeout=PATIENCE) as answer:
        names = [session["id"] for session in json.load(answer)]
    for name in names:
        ending = urllib.request.Request(f"{sessions}/{name}", method="DELETE")
        urllib.request.urlopen(ending, timeout=PATIENCE).close()


@contextmanager
def opened(browser, lab, name):
    """Open a notebook; yield its page, and a function that runs a cell by its number."""
    page = browser.new_page(viewport={"width": 1200, "height": 1400})
    page.goto(f"{lab}/{name}.ipynb?reset")
    cells = page.locator(".jp-Notebook .jp-CodeCell")
    cells.first.wait_for()
    soon(page, lambda: page.evaluate(IS_CONNECTED, f"{name}.ipynb"))  # else it asks for a kernel
    page.locator(".jp-Notebook-ExecutionIndicator[data-status=idle]").first.wait_for(state="attached")

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


def save(page: Page) -> None:
    """Save by the keys, and wait until it is done: an application ignores the keys while a save is under way."""
    with page.expect_response(is_checkpoint):
        page.keyboard.press("Control+s")


def is_checkpoint(answer: Response) -> bool:
    """Return whether an answer ends a save: a copy of the file has been set aside."""
    return answer.request.method == "POST" and urlsplit(answer.url).path.endswith("/checkpoints")
