"""Results of figures: read-only numbers that the library computes from a figure's controls."""

from collections.abc import Callable, Iterable, Mapping
from types import SimpleNamespace
from typing import Any, NoReturn

import traitlets

from rope_book.errors import short


class Noting:
    """The values of a state as attributes, which notes those that are read."""

    def __init__(self, state: Mapping[str, Any]) -> None:
        self._state, self._names = state, set[str]()

    def __getattr__(self, name: str) -> Any:
        self._names.add(name)
        return self._state[name]


class Result(traitlets.TraitType):
    """A read-only number with a unit; ``compute`` takes an object with the controls' values as attributes.

    Results are defined with the decorator ``result``, as in ``@result("tokens")`` above ``def distance(now): …``.
    """

    def __init__(self, compute: Callable[[Any], float], unit: str) -> None:
        super().__init__(read_only=True, help=compute.__doc__)
        self.compute, self.unit = compute, unit
        self.__doc__ = compute.__doc__

    def __repr__(self) -> str:
        words = (self.compute.__doc__ or self.name or "a result").splitlines()[0].rstrip(".")
        return f"{words} ({self.unit})" if self.unit else words

    def at(self, state: Mapping[str, Any]) -> float:
        """Return the result for a state."""
        return self.compute(SimpleNamespace(**state))

    def get(self, obj: Any, cls: Any = None) -> float:
        """Return the result for the figure's current state, cached until a control changes."""
        now = obj.values()
        before, value = obj._kept.get(self.name, (None, None))
        if before != now:
            value = self.at(now)
            obj._kept[self.name] = now, value
        return value

    def set(self, obj: Any, value: Any) -> NoReturn:
        """Raise TraitError, because results are computed from the controls."""
        message = f"{type(obj).__name__}.{self.name} is a result: set the controls that it follows from"
        raise short(traitlets.TraitError(f"{message} ({', '.join(self.follows(obj.values()))})"))

    def follows(self, state: Mapping[str, Any]) -> list[str]:
        """Return the controls from which the result follows in a state."""
        read = Noting(state)
        self.compute(read)
        return [name for name in state if name in read._names]

    __set__ = set


def result(unit: str = "") -> Callable[[Callable[[Any], float]], Result]:
    """Return a decorator that turns a function of the controls into a result with the given unit."""
    return lambda compute: Result(compute, unit)


def tabulated(figure: Any, control: str, values: Iterable[Any], names: Iterable[str]) -> dict[str, list]:
    """Return {column: values} for several values of a control and the named results at each of them."""
    results = {name: figure.results()[name] for name in names}
    rows = []
    for value in values:
        held = {control: figure.controls()[control].validate(figure, value)}
        along = held | figure.along(control, held[control])
        state = figure.values() | along | figure.settled(along)
        rows.append(held | {name: each.at(state) for name, each in results.items()})
    return {name: [row[name] for row in rows] for name in [control, *results]}
