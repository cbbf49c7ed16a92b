"""Questions to answer before reading the explanation, next to the figure that demonstrates it."""

import html
import re
from collections.abc import Iterable
from typing import Any, ClassVar

import traitlets

from ._bundle import module_script, style
from ._display import Displayed
from ._questions import question
from .base import LiveFigure


class Question(Displayed):
    """Ask questions from the book, reply to answers, and set a figure to the state that demonstrates the answer.

    ``Question("04-lock", "04-key")`` asks these two questions. They are about ``figure`` or, by default, about the
    nearest figure of their class above them. Where no script can look for that one, as in Colab, they are about the
    last one displayed before them; ``figure`` can also name its class. ``given`` contains the answers so far,
    ``{id: [answer, whether it is right]}``.

    An unknown id raises a ValueError that lists the ids in the chapter.

    >>> from rope_book.widgets import RotatePair
    >>> figure = RotatePair()
    >>> Question("04-lock", figure=figure)
    Question('04-lock')
    >>> Question("04-look")
    Traceback (most recent call last):
        ...
    ValueError: a question must be one of 04-move, 04-lock, 04-key, 04-again, got '04-look'

    The questions are in ``book/rope_book/widgets/questions``, one file for each chapter.
    """

    SCRIPT: ClassVar[str] = "question"

    questions = traitlets.List().tag(sync=True)
    given = traitlets.Dict().tag(sync=True)
    _named = traitlets.Bool().tag(sync=True)  # whether the figure was given
    _show = traitlets.Dict().tag(sync=True)  # set by the page to request a state of the figure
    _now = traitlets.Dict().tag(sync=True)  # the current values of the figure's controls

    def __init__(self, *names: str, figure: LiveFigure | str | None = None) -> None:
        if not names:
            raise ValueError('name one question or more, such as Question("04-lock")')
        asked = [question(name) for name in names]
        if isinstance(figure, str) and figure not in LiveFigure.figures:
            raise ValueError(f"figure must be one of {', '.join(sorted(LiveFigure.figures))}, got {figure!r}")
        named = isinstance(figure, LiveFigure)
        if not named:  # the newest so far; a later cell may display a newer one
            figure = LiveFigure.newest.get(figure or asked[0]["figure"])
        self.figure = figure
        super().__init__(questions=asked, _named=named)
        self.on_msg(self._pass_on)
        if figure is not None:
            figure.observe(self._follow)
            figure.on_msg(self._tell_click)
            self._follow()

    @property
    def _esm(self) -> str:
        """Return the script, which is bundled when the first question is created."""
        return module_script(self.SCRIPT)

    @property
    def _css(self) -> str:
        """Return the style sheet."""
        return style()

    def _follow(self, change: Any = None) -> None:
        """Send the figure's values to the page, for questions that are answered by setting a control."""
        if (figure := self.figure) is not None:
            self._now = {name: getattr(figure, name) for name in figure.controls()}

    def _pass_on(self, widget: Any, content: Any, buffers: Any) -> None:
        """Pass a message to the figure: scroll into view, or start or stop waiting for a click."""
        if self.figure is not None and {"look", "pick"} & set(content):
            self.figure.send(content)

    def _tell_click(self, widget: Any, content: Any, buffers: Any) -> None:
        """Send the name of the clicked part of the figure to the page."""
        if "picked" in content:
            self.send(content)

    @traitlets.observe("_show")
    def _set_figure(self, change: Any) -> None:
        """Set the figure to the state that demonstrates an answer."""
        figure = self.figure
        if figure is not None and change.new:
            figure.set(**change.new["state"])

    def _beside(self) -> dict[str, str]:
        """Return the questions as HTML, for pages without scripts."""
        return {"text/html": as_list(self.questions)}

    def __repr__(self) -> str:
        """Return a line of Python that asks these questions."""
        return f"Question({', '.join(repr(entry['id']) for entry in self.questions)})"


def as_list(questions: Iterable[dict[str, Any]]) -> str:
    """Return the questions as an HTML list that needs no scripts, with folded answers."""
    return f"<ol>\n{''.join(f'<li>{_item(entry)}</li>{chr(10)}' for entry in questions)}</ol>"


def _item(entry: dict[str, Any]) -> str:
    """Return a question as HTML, with its options, the right answer and the replies to wrong answers."""
    choices = [answer for answer, _ in entry.get("choices", [])]
    options = choices or entry.get("items", []) or entry.get("places", [])
    listed = f"<ul>{''.join(f'<li>{rich(option)}</li>' for option in options)}</ul>" if options else ""
    replies = [f"<p><strong>{rich(answer_of(entry))}</strong> {rich(entry['because'])}</p>"]
    for answer, why in [*entry.get("choices", []), *entry.get("slips", [])]:
        if why:
            replies.append(f"<p>“{rich(_words(answer, entry))}”: {rich(why)}</p>")
    fold = f"<details><summary>The answer</summary>{''.join(replies)}</details>"
    return f"<p>{rich(entry['ask'])}</p>{listed}{fold}"


def answer_of(entry: dict[str, Any]) -> str:
    """Return the right answer to a question, as text.

    >>> answer_of(question("06-first"))
    '15.9 turns.'
    """
    if entry["kind"] == "choices":
        return f"{entry['choices'][entry['answer']][0]}."
    if entry["kind"] == "place":
        return f"{entry['place'][0].upper()}{entry['place'][1:]}."
    return _words(entry["order"] if entry["kind"] == "order" else entry["number"], entry) + "."


def _words(answer: Any, entry: dict[str, Any]) -> str:
    """Format an answer as text, with its unit if it is a number."""
    if isinstance(answer, list):
        return ", ".join(answer)
    return answer if isinstance(answer, str) else f"{answer:,} {entry.get('unit', '')}".strip()


def rich(text: str) -> str:
    r"""Convert a text to HTML, with ``*a*`` in italics and `` `a` `` as code.

    >>> rich("*m* < `n`")
    '<em>m</em> &lt; <code>n</code>'
    """
    safe = html.escape(text, quote=False)
    return re.sub(r"\*([^*]+)\*", r"<em>\1</em>", re.sub(r"`([^`]+)`", r"<code>\1</code>", safe))
