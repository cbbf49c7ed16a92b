"""Sphinx extension: name the content of every folded cell, both on screen and for screen readers.

A section whose heading begins with "Detour:" is folded below its first paragraph, which says who it is for; so
is the list of further reading. Their headings stay in the page and in its contents.
"""

import html
import re

from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.writers.html5 import HTML5Translator

BY_TAG = {"tag_solution": "Solutions", "tag_setup": "Setup: the imports"}
BY_OUTPUT = {
    "rope-plot": "Code that draws this picture",
    "rope-table": "Code that prints this table",
    "live-slot": "Code that makes this figure",
}
CHECKS, PRINTS, OTHERWISE = "Code that checks this", "Code that prints this", "Code that later cells use"
AT_CORNER = {BY_TAG["tag_setup"], *BY_OUTPUT.values(), PRINTS}  # a small button beside an output, not a bar
DETOUR, READING = ("Detour:", "岔路："), ("Further reading", "延伸阅读")
READING_WORDS = "Papers, code and threads"


class Fold(nodes.General, nodes.Element):
    """The folded part of a section; its first child holds the words on its button."""


class FoldWords(nodes.General, nodes.TextElement):
    """The words on the button of a fold."""


class FoldSections(SphinxPostTransform):
    """Fold the detours and the reading list of each page."""

    default_priority = 210
    formats = ("html",)

    def run(self, **kwargs: object) -> None:
        """Visit every section, outer ones first, so that a detour within a detour is not folded again."""
        for section in list(self.document.findall(nodes.section)):
            title = section.next_node(nodes.title).astext()
            if title.startswith(DETOUR) and not any(isinstance(node, Fold) for node in ancestors(section)):
                fold_section(section, "detour")
            elif title in READING:
                fold_section(section, "reading")


def ancestors(node: nodes.Node) -> list[nodes.Node]:
    """Return the ancestors of a node."""
    return [node.parent, *ancestors(node.parent)] if node.parent is not None else []


def fold_section(section: nodes.section, kind: str) -> None:
    """Fold everything but the title; the first paragraph of a detour becomes the words on its button."""
    title, *rest = section.children
    words = FoldWords("", READING_WORDS)
    if kind == "detour":
        first, *rest = rest
        if not isinstance(first, nodes.paragraph):
            raise ValueError(f"{title.astext()!r} must begin with a paragraph that says whom it serves")
        if any(first.findall(nodes.reference)):
            raise ValueError(f"the first paragraph of {title.astext()!r} becomes a button: it holds no link")
        words = FoldWords("", "", *first.children)
    section.children = []
    section += [title, Fold("", words, *rest, classes=[kind])]


class NameFolds(SphinxPostTransform):
    """Name the content of every fold, from the cell's tag, its output, or its assertions."""

    default_priority = 200  # runs after MyST-NB has made the folds
    formats = ("html",)

    def run(self, **kwargs: object) -> None:
        """Visit every cell that has a fold."""
        for cell in self.document.findall(nodes.container):
            for fold in (child for child in cell.children if isinstance(child, HideCodeCellNode)):
                fold["words"] = words_for(cell)


def words_for(cell: nodes.container) -> str:
    """Return the words on the button of a cell's fold."""
    shown = "".join(raw.astext() for raw in cell.findall(nodes.raw))
    by_tag = (words for tag, words in BY_TAG.items() if tag in cell["classes"])
    by_output = (words for mark, words in BY_OUTPUT.items() if mark in shown)
    prints = any("cell_output" in child["classes"] for child in cell.findall(nodes.container))
    by_code = (
        CHECKS if re.search(r"^ *assert ", cell.astext(), re.MULTILINE) else PRINTS if prints else OTHERWISE
    )
    return next(by_tag, next(by_output, by_code))


def visit_fold(translator: HTML5Translator, fold: HideCodeCellNode) -> None:
    """Open a native disclosure."""
    at_corner = fold["words"] in AT_CORNER
    classes = " ".join(["fold", *["corner"] * at_corner, *fold["classes"]])
    words = html.escape(fold["words"])
    title = f' title="{words}"' if at_corner else ""
    translator.body.append(f'<details class="{classes}">\n<summary{title}>{words}</summary>\n')


def depart_fold(translator: HTML5Translator, fold: HideCodeCellNode) -> None:
    """Close it."""
    translator.body.append("</details>\n")


def visit_section_fold(translator: HTML5Translator, fold: Fold) -> None:
    """Open a native disclosure around a part of a section."""
    translator.body.append(f'<details class="{" ".join(fold["classes"])}">\n')


def visit_fold_words(translator: HTML5Translator, words: FoldWords) -> None:
    """Open the button of a fold."""
    translator.body.append("<summary>")


def depart_fold_words(translator: HTML5Translator, words: FoldWords) -> None:
    """Close it."""
    translator.body.append("</summary>\n")


def setup(app: Sphinx) -> dict[str, bool]:
    """Replace MyST-NB's folds."""
    app.add_post_transform(NameFolds)
    app.add_post_transform(FoldSections)
    app.add_node(Fold, html=(visit_section_fold, depart_fold))
    app.add_node(FoldWords, html=(visit_fold_words, depart_fold_words))
    app.add_node(HideCodeCellNode, override=True, html=(visit_fold, depart_fold))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
