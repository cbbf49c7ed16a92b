"""Display result tables as HTML in pages and notebooks, and as text for tests."""

import html
from collections.abc import Mapping, Sequence
from numbers import Integral, Real


class Table:
    r"""A table of named columns with a caption, in which the first column names the rows.

    A table on the last line of a cell is displayed automatically; elsewhere, call ``display(Table(…))``. Numbers
    are right-aligned, and text is left-aligned.

    Args:
        columns: {heading with unit: values}, of equal length. Values are numbers, text or None (shown as –).
        caption: a sentence or a title.
        formats: {heading: format specification such as ".2f"}. By default, integers have thousands separators, and
            other numbers have three significant digits.

    Raises:
        ValueError: the columns are missing or differ in length, or a format refers to an unknown column.

    Example:
        >>> Table({"pair": [0, 1], "turn (rad)": [1.0, 0.1]}, caption="Angles at position 1")
        Angles at position 1
        pair  turn (rad)
           0           1
           1         0.1
    """

    def __init__(
        self,
        columns: Mapping[str, Sequence[object]],
        *,
        caption: str,
        formats: Mapping[str, str] | None = None,
    ) -> None:
        formats = formats or {}
        lengths = {heading: len(values) for heading, values in columns.items()}
        if not columns or len(set(lengths.values())) > 1:
            raise ValueError(f"columns must be non-empty and have the same number of values, got {lengths}")
        if unknown := set(formats) - set(columns):
            raise ValueError(f"formats must name columns ({', '.join(columns)}), got {sorted(unknown)}")
        self.caption = caption
        self.headings = list(columns)
        self.numeric = [all(map(is_number, values)) for values in columns.values()]
        self.cells = [
            [as_text(value, formats.get(heading)) for value in values] for heading, values in columns.items()
        ]

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """Return the cells as text, row by row."""
        return list(zip(*self.cells, strict=True))

    def __repr__(self) -> str:
        """Return the table as lines of text under its caption."""
        columns = zip(self.headings, self.cells, strict=True)
        widths = [max(map(len, [heading, *cells])) for heading, cells in columns]

        def line(words: Sequence[str]) -> str:
            aligned = zip(words, widths, self.numeric, strict=True)
            return "  ".join(w.rjust(n) if right else w.ljust(n) for w, n, right in aligned).rstrip()

        return "\n".join([self.caption, *map(line, [self.headings, *self.rows])])

    def _repr_html_(self) -> str:
        """Return the table as HTML, with column and row headings for screen readers."""
        head = "".join(self._cell("th", n, heading, "col") for n, heading in enumerate(self.headings))
        body = "\n".join(
            "<tr>"
            + self._cell("th", 0, name, "row")
            + "".join(self._cell("td", n, text) for n, text in enumerate(rest, 1))
            + "</tr>"
            for name, *rest in self.rows
        )
        caption = html.escape(self.caption)
        return (
            f'<div class="rope-table"><table>\n<caption>{caption}</caption>\n'
            f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table></div>"
        )

    def _cell(self, tag: str, column: int, text: str, scope: str = "") -> str:
        """Return one cell, aligned like its column."""
        scope = f' scope="{scope}"' if scope else ""
        side = "right" if self.numeric[column] else "left"
        return f'<{tag}{scope} style="text-align: {side}">{html.escape(text)}</{tag}>'


def is_number(value: object) -> bool:
    """Return whether a value is a number or None, which represents a missing number."""
    return value is None or (isinstance(value, Real) and not isinstance(value, bool))


def as_text(value: object, form: str | None) -> str:
    """Format a value with `form`, or with the defaults of `Table` if `form` is None."""
    if value is None:
        return "–"
    if form is not None:
        return format(value, form)
    if not is_number(value):
        return str(value)
    return f"{value:,}" if isinstance(value, Integral) else f"{value:.3g}"
