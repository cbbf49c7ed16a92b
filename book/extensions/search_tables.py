"""Sphinx extension: tables that a reader can search, filter and sort, and numbers in sentences.

``{search-table} census`` becomes a plain table, to which ``book/assets/tables.js`` adds a search field, filters and
sort buttons. ``{number}`rotating` `` is a number from ``table_data.numbers``. Both are computed while the book is
built.
"""

import html

from docutils import nodes
from docutils.parsers.rst.states import Inliner
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from table_data import METHODS, TABLES, Column, numbers

from makers.census import BY_HAND, CENSUS


class SearchTable(SphinxDirective):
    """Show one of the tables: ``{search-table} name``."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the table as HTML, with nodes inside Markdown cells."""
        name = self.arguments[0]
        if name not in TABLES:
            raise self.error(f"search-table must be one of {', '.join(TABLES)}, got {name!r}")
        for file in (CENSUS, BY_HAND, METHODS):
            self.env.note_dependency(str(file))
        contents = TABLES[name]()
        many = " many" if sum(column.filter for column in contents.columns) > 2 else ""
        opening = (
            f'<div class="search-table" data-noun="{contents.noun}"><div class="table-controls{many}"></div>'
            f'<div class="rope-table"><table>\n<caption>{html.escape(contents.caption)}</caption>\n'
            f"<thead><tr>{''.join(map(_heading, contents.columns))}</tr></thead>\n<tbody>"
        )
        rows = [node for row in contents.rows for node in self._row(row, contents.columns)]
        return [
            nodes.raw(text=opening, format="html", search_table=name),
            *rows,
            nodes.raw(text="</tbody>\n</table></div></div>", format="html"),
        ]

    def _row(self, cells: list[str | tuple[str, str]], columns: tuple[Column, ...]) -> list[nodes.Node]:
        """Return the nodes of a row, whose first cell is its header."""
        inside: list[nodes.Node] = []
        text = "\n<tr>"
        for number, (cell, column) in enumerate(zip(cells, columns, strict=True)):
            words, key = cell if isinstance(cell, tuple) else (cell, "")
            tag, scope = ("td", "") if number else ("th", ' scope="row"')
            text += f"<{tag}{scope}" + (f' data-key="{html.escape(key)}">' if key else ">")
            if column.markdown:
                parsed, _ = self.parse_inline(words)
                inside += [nodes.raw(text=text, format="html"), nodes.inline("", "", *parsed)]
                text = ""
            else:
                text += html.escape(words).replace("_", "_<wbr>")
            text += f"</{tag}>"
        return [*inside, nodes.raw(text=f"{text}</tr>", format="html")]


def _heading(column: Column) -> str:
    """Return the heading of a column as HTML."""
    style = f' style="min-width: {column.width}rem"' if column.width else ""
    choice = " data-filter" if column.filter else ""
    return f'<th scope="col"{choice}{style}>{html.escape(column.heading)}</th>'


def number(
    name: str, rawtext: str, text: str, lineno: int, inliner: Inliner, *_: object
) -> tuple[list[nodes.Node], list[nodes.system_message]]:
    """Return a number by its name, or a warning."""
    value = numbers().get(text)
    if value is None:
        message = f"number must be one of {', '.join(numbers())}, got {text!r}"
        return [nodes.Text(text)], [inliner.reporter.warning(message, line=lineno)]
    return [nodes.Text(value)], []


def add_script(app: Sphinx, page: str, template: str, context: dict, doctree: nodes.Node | None) -> None:
    """Load the script on pages with such a table."""
    if doctree is not None and any(raw.get("search_table") for raw in doctree.findall(nodes.raw)):
        app.add_js_file("tables.js", defer="defer")


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the extension."""
    app.add_directive("search-table", SearchTable)
    app.add_role("number", number)
    app.connect("html-page-context", add_script)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
