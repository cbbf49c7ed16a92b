"""Find a Chromium and start it quietly: no network of its own, an empty profile."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Page, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
PLACES = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    r"C:\Program Files\Google\Chrome\Application\chrome.exe",
)
QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]


def find_chromium() -> str | None:
    """Return the path of a Chromium or Chrome: $CHROMIUM, the PATH, the usual places; None where there is none."""
    found = [os.environ.get("CHROMIUM"), *map(shutil.which, NAMES), *filter(os.path.exists, PLACES)]
    return next(filter(None, found), None)


@contextmanager
def launched() -> Iterator[Browser]:
    """Start the browser; RuntimeError says where it was looked for."""
    path = find_chromium()
    if path is None:
        raise RuntimeError(
            f"no Chromium found: looked at $CHROMIUM, for {', '.join(NAMES)} on the PATH, and in the usual places"
        )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=QUIET)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def chromium() -> Iterator[Page]:
    """Open one blank page."""
    with launched() as browser:
        yield browser.new_page()
