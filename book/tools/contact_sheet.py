"""Draw every live figure, light, dark and at the width of a phone, for inspection.

    python book/tools/contact_sheet.py                    all figures, into _build/contact
    python book/tools/contact_sheet.py RotatePair Ramps   only these
    python book/tools/contact_sheet.py --to before        into _build/before, to compare with a later run

Each look has a folder with a full picture of every figure, and a sheet with all of them. Needs the ``test`` extra
and a Chromium.
"""

import argparse
from pathlib import Path

from browser import launched
from playwright.sync_api import Browser, Page

from rope_book.widgets import LiveFigure
from rope_book.widgets._bundle import page_script, style

BUILD = Path(__file__).resolve().parents[2] / "_build"
LOOKS = {"light": (792, "light"), "dark": (792, "dark"), "phone": (358, "light")}  # width of a figure, theme
COLUMNS = {"light": 4, "dark": 4, "phone": 8}
SHEET = 1600  # pixels across
TALL = 2000  # in pixels: taller than any figure, so that no picture is stitched from two screens
RENDER = """(state) => {
    const model = { host: "", get: (key) => state[key], set() {}, save_changes() {}, on() {}, off() {} };
    document.querySelector("#place").replaceChildren();
    figure.render({ model, el: document.querySelector("#place") });
}"""
READY = (
    "() => document.querySelector('.rope-live')?.matches('[data-ready=\"true\"]:not([aria-busy=\"true\"])')"
)


def draw(page: Page, name: str, width: int) -> bytes:
    """Return a figure in its initial state as PNG: picture, words and controls."""
    page.set_viewport_size({"width": width, "height": TALL})
    page.evaluate("window.RopeLive = { define: (name, figure) => (window.figure = figure) }")
    page.add_script_tag(content=page_script(LiveFigure.figures[name].module_name(), name))
    page.evaluate(RENDER, {k: v for k, v in LiveFigure.figures[name]().get_state().items() if v is not None})
    page.wait_for_function(READY)
    return page.locator(".rope-live").screenshot(animations="disabled")


def draw_look(browser: Browser, look: str, names: list[str], folder: Path) -> None:
    """Write the pictures of one look and their sheet."""
    width, theme = LOOKS[look]
    page = browser.new_page()
    (folder / look).mkdir(parents=True, exist_ok=True)
    for name in names:
        page.set_content(
            f'<html data-theme="{theme}"><style>{style()} body {{ margin: 0 }} .rope-live {{ margin: 0 }}</style>'
            "<div id=place></div></html>"
        )
        (folder / look / f"{name}.png").write_bytes(draw(page, name, width))
    page.close()
    write_sheet(browser, look, names, folder)


def write_sheet(browser: Browser, look: str, names: list[str], folder: Path) -> None:
    """Write all pictures of a look on one sheet, each with its name."""
    ink, paper = ("#e6edf3", "#000") if LOOKS[look][1] == "dark" else ("#1b1f24", "#e8ecf0")
    figures = "".join(
        f'<figure><figcaption>{name}</figcaption><img src="{(folder / look / name).as_uri()}.png"></figure>'
        for name in names
    )
    text = (
        f"<!DOCTYPE html><style>body {{ margin: 12px; columns: {COLUMNS[look]}; font: 15px sans-serif; "
        f"color: {ink}; background: {paper} }} figure {{ margin: 0 0 14px; break-inside: avoid }} "
        "img { width: 100% }</style>"
    )
    file = folder / f"{look}.html"
    file.write_text(text + figures, encoding="utf-8")
    page = browser.new_page(viewport={"width": SHEET, "height": 900})
    page.goto(file.as_uri())
    page.screenshot(path=folder / f"{look}.png", full_page=True)
    page.close()
    file.unlink()


def main(arguments: list[str] | None = None) -> None:
    """Draw the requested figures and looks."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help="figures; all if none is named")
    parser.add_argument("--to", default="contact", help="a folder in _build")
    parser.add_argument(
        "--look", action="append", choices=LOOKS, help="light, dark or phone; all if none is named"
    )
    options = parser.parse_args(arguments)
    unknown = sorted(set(options.names) - set(LiveFigure.figures))
    if unknown:
        parser.error(f"no figure {', '.join(unknown)}; there are {', '.join(sorted(LiveFigure.figures))}")
    folder = BUILD / options.to
    with launched() as browser:
        for look in options.look or LOOKS:
            draw_look(browser, look, sorted(options.names or LiveFigure.figures), folder)
            print(folder / f"{look}.png")


if __name__ == "__main__":
    main()
