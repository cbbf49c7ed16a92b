"""Traits with native controls, each with a range, a label and a unit. Errors list the allowed values."""

import math
from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import traitlets

from rope_book.errors import seen, short

from ._errors import Whole
from ._rules import Rule


class Control(traitlets.TraitType):
    """A trait with a native control in the figure.

    Subclasses implement :meth:`clean`, which returns the value or raises ``ValueError`` with the allowed values,
    and list in ``sent`` the attributes that the page needs to build the control. An invalid value raises
    ``traitlets.TraitError``, which contains the trait's name, the allowed values and the given value.
    """

    kind = ""
    sent: ClassVar[tuple[str, ...]] = ()

    def __init__(self, default: Any, *, label: str, unit: str = "") -> None:
        super().__init__(default_value=default)
        self.label, self.unit = label, unit
        self.rules: tuple[Rule, ...] = ()
        self.tag(sync=True)

    def under(self, *rules: Rule) -> Self:
        """Set the rules that link this control to others (see ``_rules``); return the control."""
        self.rules = rules
        return self

    def validate(self, obj: Any, value: Any) -> Any:
        """Return the value in its stored form, or raise TraitError with the allowed values."""
        try:
            cleaned = self.clean(value)
        except ValueError as error:
            message = f"{type(obj).__name__}.{self.name} must be {error}, got {seen(value)}."
            raise short(traitlets.TraitError(message)) from None
        if isinstance(cleaned, Whole):
            cleaned.name = self.name
        return cleaned

    def takes(self, value: Any) -> bool:
        """Return whether the value is allowed."""
        try:
            self.clean(value)
        except ValueError:
            return False
        return True

    def _cross_validate(self, obj: Any, value: Any) -> Any:
        """Return the value, or raise TraitError if it breaks a rule."""
        value = super()._cross_validate(obj, value)
        obj.settled({self.name: value})
        return value

    def clean(self, value: Any) -> Any:
        """Return ``value`` in its stored form, or raise ValueError with the allowed values."""
        raise NotImplementedError

    def enough(self, value: float) -> Any:
        """Return the smallest allowed value that is at least ``value``."""
        return value

    def describe(self) -> dict[str, Any]:
        """Return the description that the page needs to build the native control."""
        common = {"kind": self.kind, "label": self.label, "unit": self.unit, "default": self.default_value}
        rules = {"rules": [rule.describe() for rule in self.rules]} if self.rules else {}
        return common | rules | {name: getattr(self, name) for name in self.sent}


class Slider(Control):
    """A number from ``low`` to ``high``, which is whole if ``default`` and ``step`` are ints.

    ``log=True`` makes the slider logarithmic, for bases and lengths; if ``low`` is 0, it uses log(1 + value).
    """

    kind = "slider"
    sent = ("low", "high", "step", "log", "whole")

    def __init__(
        self,
        default: float,
        low: float,
        high: float,
        *,
        label: str,
        unit: str = "",
        step: float = 1,
        log: bool = False,
    ) -> None:
        super().__init__(default, label=label, unit=unit)
        self.low, self.high, self.step, self.log = low, high, step, log
        self.whole = isinstance(default, int) and isinstance(step, int)

    def clean(self, value: Any) -> float:
        """Return a finite int or float within [low, high]."""
        if not _is_number(value):
            raise ValueError(self._allowed())
        if self.whole and value != int(value):
            raise ValueError(self._allowed())
        if not self.low <= value <= self.high:
            raise ValueError(self._allowed())
        return int(value) if self.whole else float(value)

    def _allowed(self) -> str:
        kind = "a whole number" if self.whole else "a number"
        return f"{kind} from {self.low} to {self.high}" + (f" ({self.unit})" if self.unit else "")


class Point(Control):
    """A vector ``[x, y]`` that can be dragged in the plane, with coordinates within ±``limit``."""

    kind = "point"
    sent = ("limit",)

    def __init__(self, default: list[float], limit: float, *, label: str, unit: str = "") -> None:
        super().__init__(Whole(default), label=label, unit=unit)
        self.limit = limit

    def clean(self, value: Any) -> list[float]:
        """Return two finite floats as an immutable list."""
        allowed = f"two numbers from {-self.limit} to {self.limit}"
        try:
            x, y = value
        except (TypeError, ValueError):
            raise ValueError(allowed) from None
        if not all(_is_number(part) and abs(part) <= self.limit for part in (x, y)):
            raise ValueError(allowed)
        return Whole([float(x), float(y)])


class Choice(Control):
    """One of a few named options; ``options`` maps values to labels.

    With ``buttons``, each option is a button. ``groups`` maps headings to options, which are also buttons; an
    option in no group, such as "none yet", has no button.
    """

    kind = "choice"

    def __init__(
        self,
        default: Any,
        options: dict[Any, str],
        *,
        label: str,
        unit: str = "",
        buttons: bool = False,
        groups: Mapping[str, Iterable[Any]] | None = None,
    ) -> None:
        super().__init__(default, label=label, unit=unit)
        self.options, self.buttons = options, buttons
        self.groups = {heading: list(values) for heading, values in (groups or {}).items()}

    def clean(self, value: Any) -> Any:
        """Return the option equal to the value; a page may send an int as a float."""
        for option in self.options:
            same_kind = isinstance(option, str) == isinstance(value, str) and not isinstance(value, bool)
            if same_kind and isinstance(value, (str, Integral, Real)) and value == option:
                return option
        raise ValueError("one of " + ", ".join(repr(option) for option in self.options))

    def enough(self, value: float) -> Any:
        """Return the smallest option that is at least ``value``."""
        return min(option for option in self.options if option >= value)

    def describe(self) -> dict[str, Any]:
        """Add the options as [value, label] pairs."""
        options = {"options": [[value, words] for value, words in self.options.items()]}
        buttons = {"buttons": True} if self.buttons else {}
        groups = (
            {"groups": [[heading, values] for heading, values in self.groups.items()]} if self.groups else {}
        )
        return super().describe() | options | buttons | groups


class Toggle(Control):
    """A checkbox: True or False."""

    kind = "toggle"

    def clean(self, value: Any) -> bool:
        """Return the value if it is a bool."""
        if not isinstance(value, bool):
            raise ValueError("True or False")
        return value


class Sentence(Control):
    """A short text of 1 to ``max_words`` words, of at most 16 letters each."""

    kind = "sentence"
    sent = ("max_words",)

    def __init__(self, default: str, max_words: int, *, label: str, unit: str = "") -> None:
        super().__init__(default, label=label, unit=unit)
        self.max_words = max_words

    def clean(self, value: Any) -> str:
        """Return the text with single spaces."""
        words = value.split() if isinstance(value, str) else []
        if not 1 <= len(words) <= self.max_words or any(len(word) > 16 for word in words):
            raise ValueError(f"a text of 1 to {self.max_words} words of at most 16 letters each")
        return " ".join(words)


class Text(Control):
    """A possibly empty text of at most ``most`` characters, all in ``letters``."""

    kind = "text"
    sent = ("most", "letters")

    def __init__(self, default: str, most: int, letters: str, *, label: str, unit: str = "") -> None:
        super().__init__(default, label=label, unit=unit)
        self.most, self.letters = most, letters

    def clean(self, value: Any) -> str:
        """Return the text if it is short enough and has only allowed characters."""
        if not isinstance(value, str) or len(value) > self.most or not set(value) <= set(self.letters):
            raise ValueError(f"a text of at most {self.most} characters, each one of {self.letters!r}")
        return value


class Paste(Control):
    """A long text of at most ``most`` characters, typed or pasted, which never appears in the page's URL."""

    kind = "paste"
    sent = ("most",)

    def __init__(self, default: str, most: int, *, label: str, unit: str = "") -> None:
        super().__init__(default, label=label, unit=unit)
        self.most = most

    def clean(self, value: Any) -> str:
        """Return the text if it is short enough."""
        if not isinstance(value, str) or len(value) > self.most:
            raise ValueError(f"a text of at most {self.most} characters")
        return value


class Sketch(Control):
    """A line drawn by hand, as a list of at most ``most`` heights from −1 to 1, initially empty."""

    kind = "sketch"
    sent = ("most",)

    def __init__(self, most: int, *, label: str, unit: str = "") -> None:
        super().__init__(Whole(), label=label, unit=unit)
        self.most = most

    def clean(self, value: Any) -> list[float]:
        """Return an immutable list of floats."""
        heights = list(value) if isinstance(value, Iterable) and not isinstance(value, str) else [None]
        if len(heights) > self.most or not all(_is_number(height) and abs(height) <= 1 for height in heights):
            raise ValueError(f"at most {self.most} numbers from -1 to 1")
        return Whole(float(height) for height in heights)


class Numbers(Control):
    """A list of at most ``most`` numbers from ``low`` to ``high``, initially empty."""

    kind = "numbers"
    sent = ("most", "low", "high")

    def __init__(self, most: int, low: float, high: float, *, label: str) -> None:
        super().__init__(Whole(), label=label)
        self.most, self.low, self.high = most, low, high

    def clean(self, value: Any) -> list[float]:
        """Return an immutable list of floats; arrays are accepted."""
        given = list(value) if isinstance(value, Iterable) and not isinstance(value, str) else [None]
        if len(given) > self.most or not all(
            _is_number(each) and self.low <= each <= self.high for each in given
        ):
            raise ValueError(f"at most {self.most} numbers from {self.low:g} to {self.high:g}")
        return Whole(float(each) for each in given)


def _is_number(value: Any) -> bool:
    """Return whether the value is a finite real number and not a bool."""
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


class Names(traitlets.TraitType):
    """Names of the controls and parts of the picture to show in a small figure, or None for a full figure.

    This is the type of ``LiveFigure.only``, which is not a control.
    """

    def __init__(self) -> None:
        super().__init__(default_value=None, allow_none=True)
        self.tag(sync=True)

    def validate(self, obj: Any, value: Any) -> list[str] | None:
        """Return the names as a list, or raise a TraitError that lists the known names."""
        if value is None:
            return None
        known = [*obj.controls(), *obj.parts]
        names = [] if isinstance(value, str) or not isinstance(value, Iterable) else list(value)
        if not names or any(name not in known for name in names) or len(set(names)) < len(names):
            parts = f" or parts of the picture ({', '.join(obj.parts)})" if obj.parts else ""
            controls = f"controls ({', '.join(obj.controls())})"
            raise short(
                traitlets.TraitError(
                    f"{type(obj).__name__}.{self.name} must list {controls}{parts}, none twice, got {seen(value)}."
                )
            )
        return names
