"""Sphinx extension: a folded cell says what it holds, in words that are also its name for a screen reader."""

import html

from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.writers.html5 import HTML5Translator

BY_TAG = {"tag_solution": "Solutions", "tag_setup": "Setup: what this chapter imports"}
BY_OUTPUT = {"rope-plot": "Code that draws this picture", "rope-table": "Code that prints this table"}
OTHERWISE = "Folded code"


class NameFolds(SphinxPostTransform):
    """Say on each fold what it holds: by its cell's tag, else by what the cell shows."""

    default_priority = 200  # after MyST-NB has made the folds
    formats = ("html",)

    def run(self, **kwargs: object) -> None:
        """Visit every cell that has a fold."""
        for cell in self.document.findall(nodes.container):
            for fold in (child for child in cell.children if isinstance(child, HideCodeCellNode)):
                fold["words"] = words_for(cell)


def words_for(cell: nodes.container) -> str:
    """Return what the button of a cell's fold says."""
    shown = "".join(raw.astext() for raw in cell.findall(nodes.raw))
    by_tag = (words for tag, words in BY_TAG.items() if tag in cell["classes"])
    by_output = (words for mark, words in BY_OUTPUT.items() if mark in shown)
    return next(by_tag, next(by_output, OTHERWISE))


def visit_fold(translator: HTML5Translator, fold: HideCodeCellNode) -> None:
    """Open a native disclosure."""
    classes = " ".join(["fold", *fold["classes"]])
    words = html.escape(fold["words"])
    translator.body.append(f'<details class="{classes}">\n<summary>{words}</summary>\n')


def depart_fold(translator: HTML5Translator, fold: HideCodeCellNode) -> None:
    """Close it."""
    translator.body.append("</details>\n")


def setup(app: Sphinx) -> dict[str, bool]:
    """Take the place of MyST-NB's own folds."""
    app.add_post_transform(NameFolds)
    app.add_node(HideCodeCellNode, override=True, html=(visit_fold, depart_fold))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
