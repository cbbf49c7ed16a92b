"""Draw the picture of README.md, light and dark: python book/tools/readme_picture.py

It is the still of the landing page's figure, drawn by the figure itself; for the dark picture, every colour is
replaced with its value on a dark page, from the figures' style sheet. Needs a Chromium.
"""

import re

from browser import chromium
from outline import ROOT
from playwright.sync_api import Page

from notebooks import draw_still
from rope_book.widgets import WordsOnARail
from rope_book.widgets._bundle import style

FOLDER = ROOT / ".github"
NAMES = re.findall(r"--(rl-[a-z-]+):", style())
COLOURS = """(names) => {
    const read = getComputedStyle(document.querySelector(".rope-live"));
    return names.map((name) => read.getPropertyValue(`--${name}`).trim().toLowerCase());
}"""


def colours(page: Page, theme: str) -> list[str]:
    """Return the colours of the style sheet in a theme."""
    page.set_content(
        f'<html data-theme="{theme}"><style>{style()}</style><body><div class=rope-live></div></body></html>'
    )
    return page.evaluate(COLOURS, NAMES)


def pictures(page: Page) -> dict[str, str]:
    """Return the two pictures (SVG) by the names of their files."""
    state = {name: value for name, value in WordsOnARail().get_state().items() if value is not None}
    light = draw_still(page, {"state": state | {"_anywidget_id": "WordsOnARail"}})
    dark = {old: new for old, new in zip(colours(page, "light"), colours(page, "dark"), strict=True) if old}
    changed = re.sub(r"#[0-9a-fA-F]{6}\b", lambda match: dark[match[0].lower()], light)
    return {"rail-light.svg": light + "\n", "rail-dark.svg": changed + "\n"}


if __name__ == "__main__":
    with chromium() as page:
        for name, text in pictures(page).items():
            (FOLDER / name).write_text(text, encoding="utf-8", newline="\n")
