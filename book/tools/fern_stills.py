"""Draw the stages of the first page's fern as stills: python book/tools/fern_stills.py

They are shown without scripts, with reduced motion, in print and in the e-book. Needs a Chromium.
"""

from browser import chromium
from outline import ROOT
from playwright.sync_api import Page

from notebooks import draw_still
from rope_book.widgets import Fern

FOLDER = ROOT / "book" / "data" / "fern"
STAGES = [stage for stage in Fern.controls()["stage"].options if stage != "own"]


def stills(page: Page) -> dict[str, str]:
    """Return the stills (SVG) by the names of their files."""
    drawn = {}
    for stage in STAGES:
        state = {name: value for name, value in Fern(stage=stage).get_state().items() if value is not None}
        still = draw_still(page, {"state": state | {"_anywidget_id": "Fern"}})
        drawn[f"{stage}.svg"] = still + "\n"
    return drawn


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    with chromium() as page:
        for name, text in stills(page).items():
            (FOLDER / name).write_text(text, encoding="utf-8", newline="\n")
