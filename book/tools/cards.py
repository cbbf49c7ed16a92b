"""Draw the picture that networks show beside a link to a page: its title and its first figure, 1200 × 630.

`dist.py` calls it for a site with an address; pages without one stay as they are. Needs a Chromium.
"""

import base64
import html
import re
from pathlib import Path

WIDTH, HEIGHT = 1200, 630
ADDRESS = re.compile(r'<meta property="og:url" content="([^"]+)" ?/>\n')
TITLE = re.compile(r'<meta property="og:title" content="([^"]*)"')
FIGURE = re.compile(r'<img (?=[^>]*class="[^"]*(?:live|fern)-still)[^>]*src="([^"]+)"')
CARD = re.compile(r"<!-- card -->.*?<!-- /card -->\n", re.DOTALL)
FACE = """<body style="margin: 0; display: flex; flex-direction: column; gap: 24px; box-sizing: border-box;
    width: 1200px; height: 630px; padding: 40px 60px; background: #fff; color: #1b1f24; font-family: sans-serif">
<div style="font-size: 52px; font-weight: 700">{title}</div>
<img src="{figure}" style="flex: 1; min-height: 0; object-fit: contain; object-position: left">
<div style="font-size: 26px; color: #57606a">RoPE, Turn by Turn</div></body>"""


def addressed(site: Path) -> list[Path]:
    """Return the pages that tell networks their address."""
    return [page for page in sorted(site.rglob("*.html")) if ADDRESS.search(page.read_text(encoding="utf-8"))]


def figure_of(page: Path, site: Path) -> str:
    """Return a page's first figure as a data URI; the book's logo stands for a page without one."""
    found = FIGURE.search(page.read_text(encoding="utf-8"))
    if found and found[1].startswith("data:"):
        return found[1]
    file = page.parent / found[1].partition("?")[0] if found else site / "_static" / "logo.svg"
    return "data:image/svg+xml;base64," + base64.b64encode(file.read_bytes()).decode()


def tags(address: str) -> str:
    """Return the elements that name a page's card.

    >>> tags("https://ada.example/_static/cards/a.png").count("<meta")
    4
    """
    return (
        f'<!-- card --><meta property="og:image" content="{address}" />\n'
        f'<meta property="og:image:width" content="{WIDTH}" />\n'
        f'<meta property="og:image:height" content="{HEIGHT}" />\n'
        '<meta name="twitter:card" content="summary_large_image" /><!-- /card -->\n'
    )


def write(site: Path) -> None:
    """Draw the cards, and name each in its page; an earlier card gives way."""
    from browser import chromium

    folder = site / "_static" / "cards"
    folder.mkdir(exist_ok=True)
    with chromium() as browser:
        browser.set_viewport_size({"width": WIDTH, "height": HEIGHT})
        for page in addressed(site):
            text = CARD.sub("", page.read_text(encoding="utf-8"))
            path = page.relative_to(site).as_posix()
            name = path.removesuffix(".html").replace("/", "-") + ".png"
            title = html.escape(html.unescape(TITLE.search(text)[1]))
            browser.set_content(FACE.format(title=title, figure=figure_of(page, site)))
            browser.screenshot(path=folder / name)
            address = ADDRESS.search(text)
            root = address[1].removesuffix(path)
            named = tags(f"{root}_static/cards/{name}")
            page.write_text(text.replace(address[0], address[0] + named), encoding="utf-8")
