"""The lecture as slides in one self-contained file: python book/tools/slides.py [--to slides.html]

``book/data/slides.yml`` names cells of the chapters; their words, code and figures become slides, so that there is
one source. Figures are live (``<rope-figure>``, see ``embed.py``) and stills where no script runs. Formulas are
MathML. The arrow keys show a slide's answer first, then the next slide.
"""

import argparse
import ast
import base64
import json
import re
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import as_markdown
import bound
import embed
import outline
import yaml
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin

from rope_book.widgets import LiveFigure
from rope_book.widgets._questions import question

ROOT, BUILT = outline.ROOT, outline.BUILT
DATA = ROOT / "book" / "data" / "slides.yml"
STYLE = Path(__file__).with_name("slides.css")
SCRIPT = ROOT / "book" / "assets" / "slides.js"
HEAVIEST = 1_000_000  # maximum size of the compressed deck, in bytes
PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
{style}
</style>
</head>
<body>
<main>
{slides}
</main>
<nav aria-label="Slides"><button id="back" aria-label="Back">←</button>
<output id="place"></output><button id="on" aria-label="On">→</button></nav>
{scripts}
</body>
</html>
"""
# everything is in the file; a figure that trains a model starts its worker from a blob
POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; "
POLICY += "worker-src blob:"
HEADING = re.compile(r"^#{1,4} ", re.MULTILINE)
LINK = re.compile(r"\[([^\]]*)\]\([^)\s]*\)")
ASIDE = re.compile(r"\s*\(\[[^\]]*\]\([^)\s]*\)[^()]*(?:\[[^\]]*\]\([^)\s]*\)[^()]*)*\)")  # ([Chapter 4](…))


@dataclass(frozen=True)
class Made:
    """A figure that a cell makes: class, attributes, still picture."""

    name: str
    attributes: tuple[tuple[str, str], ...]
    still: str


@cache
def cells(chapter: str) -> dict[str, dict]:
    """Return the cells of a chapter by their ids."""
    (path,) = (ROOT / "notebooks").glob(f"{chapter}_*.ipynb")
    return {cell["id"]: cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]}


def cell(place: str) -> dict:
    """Return the cell at ``chapter:id``; raise ValueError if there is none."""
    chapter, _, name = place.partition(":")
    if name not in cells(chapter):
        raise ValueError(f"chapter {chapter} has no cell {name}: {DATA.name} names cells that exist")
    return cells(chapter)[name]


def source(place: str) -> str:
    """Return the text of a cell."""
    return "".join(cell(place)["source"])


def section(text: str) -> str:
    """Return the last section of a cell, with its heading."""
    starts = [match.start() for match in HEADING.finditer(text)]
    return text[starts[-1] :] if starts else text


def before(text: str) -> str:
    """Return the text before a cell's first heading, which ends the previous cell's section."""
    heading = HEADING.search(text)
    return text[: heading.start()] if heading else text


def words(text: str) -> str:
    """Return Markdown without links, and without lines that only set a figure."""
    paragraphs = [block for block in re.split(r"\n{2,}", text) if "](#live=" not in block]
    paragraphs = [block for block in paragraphs if not block.startswith(("Time:", "<details>"))]
    return LINK.sub(r"\1", ASIDE.sub("", "\n\n".join(paragraphs)))


def html(text: str) -> str:
    """Return Markdown as HTML, formulas in MathML."""
    return reader().render(text)


@cache
def reader() -> MarkdownIt:
    """Return a parser for the notebooks' Markdown."""
    sys.path.append(str(ROOT / "book" / "extensions"))
    from formulas import typesetter

    def drawn(tex: str, options: dict) -> str:
        display = bool(options["display_mode"])
        if display and r"\\" in tex and r"\begin" not in tex:
            tex = rf"\begin{{split}}{tex}\end{{split}}"
        return bound.mathml(
            typesetter((("C", r"\mathbb{C}"), ("R", r"\mathbb{R}"))).html(tex, display=display)
        )

    return MarkdownIt("commonmark").use(dollarmath_plugin, renderer=drawn).enable("table")


def made(place: str) -> Made:
    """Return the figure that a cell makes, from the call in its source and the stored still."""
    calls = [node for node in ast.walk(ast.parse(source(place))) if isinstance(node, ast.Call)]
    call = next(call for call in calls if getattr(call.func, "id", "") in LiveFigure.figures)
    attributes = tuple((word.arg, as_attribute(ast.literal_eval(word.value))) for word in call.keywords)
    outputs = [output.get("data", {}) for output in cell(place)["outputs"]]
    still = next("".join(data["image/svg+xml"]) for data in outputs if "image/svg+xml" in data)
    return Made(call.func.id, attributes, still)


def as_attribute(value: object) -> str:
    """Return a value as an attribute of the element.

    >>> as_attribute(True), as_attribute(("words", "rail")), as_attribute([-0.8, 0.8])
    ('true', 'words,rail', '-0.8,0.8')
    """
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def first_of(figure: str, chapter: str) -> Made:
    """Return a figure from the first cell of a chapter that shows it."""
    for name, entry in cells(chapter).items():
        shown = [output for output in entry.get("outputs", []) if "image/svg+xml" in output.get("data", {})]
        if shown and f"{figure}(" in "".join(entry["source"]):
            return made(f"{chapter}:{name}")
    raise ValueError(f"chapter {chapter} shows no {figure}")


def element(figure: Made, show: dict | None = None) -> str:
    """Return a figure's element around its still."""
    attributes = "".join(f' {name}="{bound.escaped(value)}"' for name, value in figure.attributes)
    after = {name: as_attribute(value) for name, value in (show or {}).items()}
    later = f' data-show="{bound.escaped(json.dumps(after))}"' if after else ""
    picture = base64.b64encode(figure.still.encode()).decode()
    alt = re.search(r"<desc>(.*?)</desc>", figure.still, re.DOTALL)[1]
    still = f'<img src="data:image/svg+xml;base64,{picture}" alt="{alt.replace(chr(34), "&quot;")}">'
    return f'<rope-figure name="{figure.name}"{attributes}{later}>{still}</rope-figure>'


def slide(entry: dict) -> tuple[str, str]:
    """Return (HTML of a slide, name of its figure)."""
    if "question" in entry:
        return asked(question(entry["question"]))
    if "short" in entry:
        return in_short(entry["short"]), ""
    if "title" in entry:
        return opening(entry["title"], entry["cell"]), ""
    text, beside, name = words(section(source(entry["cell"]))), "", ""
    if "figure" in entry:
        figure = made(entry["figure"])
        beside, name = element(figure), figure.name
    elif "code" in entry:
        text += "\n\n" + as_markdown.fenced(source(entry["code"]), "python")
    answer = html(words(before(source(entry["answer"])))) if "answer" in entry else ""
    number = entry["cell"].partition(":")[0]
    text = re.sub(r"^#{1,4} ", "## ", text).replace("## The question", f"## {title_of(number)}", 1)
    return framed(html(text), beside, answer), name


def opening(title: str, place: str) -> str:
    """Return the first slide: a title, and the first sentence below a cell's heading."""
    first = " ".join(words(source(place)).split("\n\n")[1].split())
    sentence = re.split(r"(?<=[.]) (?=[A-Z])", first)[0]
    return f'<section class="title"><h1>{title}</h1>{html(sentence)}</section>'


def title_of(chapter: str) -> str:
    """Return the title of a chapter."""
    first = "".join(next(iter(cells(chapter).values()))["source"])
    return re.match(r"# (.+)", first)[1]


def framed(text: str, beside: str, answer: str = "") -> str:
    """Return a slide with words, an element beside them, and the answer that the next key shows."""
    later = f'<div class="answer">{answer}</div>' if answer else ""
    right = f'<div class="beside">{beside}</div>' if beside else ""
    return (
        f'<section{" class=both" if beside else ""}><div class="words">{text}{later}</div>{right}</section>'
    )


def asked(entry: dict) -> tuple[str, str]:
    """Return the slide of a multiple-choice question, and the name of the figure that shows the answer."""
    figure = first_of(entry["figure"], entry["chapter"])
    right = entry["choices"][entry["answer"]][0]
    choices = "\n".join(f"- {choice}" for choice, _ in entry["choices"])
    text = html(f"## Guess first\n\n{entry['ask']}\n\n{choices}")
    return framed(
        text, element(figure, entry.get("show")), html(f"**{right}.** {entry['because']}")
    ), figure.name


def in_short(chapter: str) -> str:
    """Return the slide with the three sentences of a chapter."""
    first = "".join(next(iter(cells(chapter).values()))["source"])
    quoted = re.search(r"^> \*\*In short\.\*\* (.*(?:\n>.*)*)", first, re.MULTILINE)[1]
    return framed(html(f"## {title_of(chapter)}\n\n" + re.sub(r"^> ?", "", quoted, flags=re.MULTILINE)), "")


def deck() -> str:
    """Return the deck."""
    plan = yaml.safe_load(DATA.read_text(encoding="utf-8"))
    made_slides = [slide(entry) for entry in plan["slides"]]
    names = sorted({name for _, name in made_slides if name})
    scripts = [embed.script(LiveFigure.figures[name]) for name in names]
    scripts.insert(0, SCRIPT.read_text(encoding="utf-8"))
    return PAGE.format(
        policy=POLICY,
        title=f"{plan['slides'][0]['title']}: {outline.TITLE}",
        style=STYLE.read_text(encoding="utf-8"),
        slides="\n".join(text for text, _ in made_slides),
        scripts="\n".join(f"<script>\n{in_page(text)}</script>" for text in scripts),
    )


def in_page(script: str) -> str:
    """Return a script with its closing tags escaped."""
    return script.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def write(target: Path) -> int:
    """Write the deck; return its weight, or raise ValueError if it is too heavy."""
    text = deck()
    if (weight := embed.weight(text)) > HEAVIEST:
        raise ValueError(f"the deck has {weight:,} bytes, {HEAVIEST:,} are allowed")
    outline.write(target, text)
    return weight


def main() -> None:
    """Write the deck."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--to", type=Path, default=BUILT / "slides.html")
    options = parser.parse_args()
    print(f"{options.to}: {write(options.to) / 1000:.0f} kB compressed")


if __name__ == "__main__":
    main()
