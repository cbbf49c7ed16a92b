"""Draw the cards that social networks show with a link: a page's title and its first figure, 1200 × 630.

    python book/tools/cards.py                       the card of every page that has a figure, into _build/cards
    python book/tools/cards.py 00 04                 only those of these notebooks

A build with an address draws them into the site (``book/extensions/heads.py``), since only an absolute address can
be fetched. Needs a Chromium.
"""

import html
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT = Path(__file__).resolve().parents[2]
SIZE = {"width": 1200, "height": 630}
STYLE = """body { display: grid; grid-template-rows: auto 1fr; box-sizing: border-box; width: 1200px; height: 630px;
    margin: 0; padding: 44px 56px 30px; background: #fff; color: #1b1f24;
    font-family: system-ui, "DejaVu Sans", sans-serif }
p { margin: 0; color: #57606a; font-size: 26px } h1 { margin: 6px 0 22px; font-size: 54px; line-height: 1.1 }
div { min-height: 0 } svg { display: block; width: 100%; height: 100% }"""


@dataclass(frozen=True)
class Card:
    """A card: its file's name, the book, a line, a figure's still picture."""

    name: str
    book: str
    line: str
    svg: str


def page_of(card: Card) -> str:
    """Return the card as a page for a screenshot."""
    return (
        f"<!DOCTYPE html><meta charset=utf-8><style>{STYLE}</style><p>{html.escape(card.book)}</p>"
        f"<h1>{html.escape(card.line)}</h1><div>{card.svg}</div>"
    )


def draw(browser: "Browser", cards: Iterable[Card]) -> Iterator[tuple[Card, bytes]]:
    """Yield every card with its PNG."""
    page = browser.new_page(viewport=SIZE)
    for card in cards:
        page.set_content(page_of(card))
        yield card, page.screenshot()
    page.close()


def drawn(cards: Iterable[Card]) -> Iterator[tuple[Card, bytes]]:
    """Draw the cards in a new browser."""
    from browser import launched

    with launched() as browser:
        yield from draw(browser, cards)


def of_notebooks(starts: list[str]) -> list[Card]:
    """Return the cards of the notebooks whose names start with one of these, or all if none is given."""
    sys.path.append(str(ROOT / "book" / "extensions"))
    from live_figures import figures_of

    cards = []
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        shown = figures_of(path, small=True)
        if shown and (not starts or path.name.startswith(tuple(starts))):
            title = path.stem.partition("_")[2].replace("_", " ").capitalize()
            cards.append(Card(path.stem, "RoPE, Turn by Turn", title, shown[0].svg))
    return cards


def main(starts: list[str]) -> None:
    """Draw the cards of notebooks."""
    folder = ROOT / "_build" / "cards"
    folder.mkdir(parents=True, exist_ok=True)
    for card, png in drawn(of_notebooks(starts)):
        (folder / f"{card.name}.png").write_bytes(png)
        print(folder / f"{card.name}.png")


if __name__ == "__main__":
    main(sys.argv[1:])
