"""Find a Chromium and start it quietly: no background network, an empty profile, headless or not."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Page, sync_playwright

# the shell draws the same pages as the browser but has no windows: a page opens in a quarter of the time
SHELLS = ("chromium-headless-shell", "chrome-headless-shell")
NAMES = (*SHELLS, "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
PLACES = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    r"C:\Program Files\Google\Chrome\Application\chrome.exe",
)
SETTINGS = (  # a mouse, as Playwright sets it; lazy images load at the same distance as in Chrome
    "primaryHoverType=2,availableHoverTypes=2,primaryPointerType=4,availablePointerTypes=4,"
    "lazyLoadingImageMarginPx4G=1250,lazyLoadingImageMarginPxUnknown=1250"
)
QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--font-render-hinting=none",  # printed letters follow their font's metrics
    f"--blink-settings={SETTINGS}",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]


def find_chromium() -> str | None:
    """Return the path of a Chromium or Chrome from $CHROMIUM, the PATH or the usual places, or None."""
    candidates = [os.environ.get("CHROMIUM"), *map(shutil.which, NAMES), *filter(os.path.exists, PLACES)]
    return next(filter(None, candidates), None)


@contextmanager
def launched() -> Iterator[Browser]:
    """Start the browser; raise RuntimeError with the places searched if there is none."""
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
