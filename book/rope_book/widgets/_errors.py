"""Suggest what a student may have meant by a misspelt name or by changing a part of a list."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import NoReturn

from rope_book.errors import short

SYNONYMS = {  # other names for the same quantity
    "theta": ("inv_freq", "base"),
    "freq": ("inv_freq",),
    "frequency": ("inv_freq",),
    "rope_theta": ("base",),
    "pos": ("position",),
    "m": ("position",),
    "n": ("key_position",),
    "dim": ("head_dim",),
    "d": ("head_dim",),
}


def meant(name: str, known: Iterable[str]) -> str:
    """Return a question that suggests a similar known name, or "" if there is none.

    >>> meant("positon", ["position", "inv_freq"]), meant("theta", ["position", "inv_freq"])
    (' Did you mean position?', ' Did you mean inv_freq?')
    """
    names = list(known)
    near = [other for other in SYNONYMS.get(name, ()) if other in names] or get_close_matches(
        name, names, n=1
    )
    return f" Did you mean {near[0]}?" if near else ""


class Whole(list):
    """A list that rejects in-place changes, which a figure would not notice.

    ``name`` is the name of its control.

    >>> q = Whole([1.0, 0.0])
    >>> q[0], q == [1.0, 0.0]
    (1.0, True)
    >>> q.name = "q"
    >>> q[0] = -0.5
    Traceback (most recent call last):
    TypeError: set the whole list, figure.q = [...]: the picture does not see a change of one part
    """

    name: str | None = None

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        example = f"figure.{self.name} = [...]"
        raise short(
            TypeError(f"set the whole list, {example}: the picture does not see a change of one part")
        )

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse  # type: ignore[assignment]
    append = extend = insert = pop = remove = clear = sort = reverse = _refuse  # type: ignore[assignment]

    def __reduce_ex__(self, protocol: object) -> tuple[type, tuple[list]]:
        """Turn copies and unpickled objects into plain lists."""
        return list, (list(self),)
