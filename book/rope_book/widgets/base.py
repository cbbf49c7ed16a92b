"""The base class for live figures, which are ipywidgets in a kernel and plain scripts in the published page."""

import math
import re
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, NoReturn
from weakref import WeakValueDictionary

import traitlets
from IPython.display import display
from ipywidgets import Output

from rope_book.errors import seen, short, warn

from ._bundle import is_figure, module_script, style
from ._display import Displayed
from ._errors import meant
from ._follow import outputs_of
from ._registry import FIGURES
from ._results import Result, tabulated
from ._rules import AtMost, OnlyIf, settle
from ._traits import Control, Names

MOST_LEADS = 3
EXTRAS = {"layout", "only"}  # arguments that are not controls
SIDES = ("beside", "below")  # possible places for the controls in a wide notebook
LONG_LIST = re.compile(r"\[[^]]{60,}\]")  # omitted from a figure's plain-text output


class LiveFigure(Displayed):
    """A live figure, with the same picture and controls in a notebook and in the published page.

    Subclasses declare controls as traits, each a :class:`Control` with a range, a label and a unit; the script of
    the same name in ``js/figures/`` draws the picture. Traits synchronise both ways: moving a control changes the
    attribute, and setting the attribute updates the picture. Out-of-range values and unknown attributes raise an
    error that lists the allowed ones.

    Up to three **lead** controls are next to the picture, and the others are folded under *More*. ``lead`` lists
    the lead controls in display order; by default, they are the first three.

    Figures also have **results**, listed by ``results()``: read-only numbers that the library computes from the
    controls. They can be observed, ``sweep`` tabulates them, and ``follow`` calls a function at every move.

    In a notebook at least 800 px wide, the controls are beside the picture; ``layout="below"`` puts them below.

    ``only`` makes a figure small, with just the listed controls and without Reset or the line of Python. In a small
    figure, a choice is a row of buttons, for which ``few`` can list a subset of the options. A class may define
    ``parts`` of its picture; if ``only`` lists any of them, the others are not drawn. Once set, ``only`` is part of
    the state.

    >>> from rope_book.widgets import RotatePair
    >>> figure = RotatePair(position=7)
    >>> figure.position = 9
    >>> figure
    RotatePair(position=9)
    >>> figure.position = 1000
    Traceback (most recent call last):
        ...
    traitlets.traitlets.TraitError: RotatePair.position must be a whole number from 0 to 64 (tokens), got 1000.
    >>> RotatePair(lock=True, only=("position", "rail"))
    RotatePair(lock=True, only=('position', 'rail'))
    >>> RotatePair(only=("speed",))
    Traceback (most recent call last):
        ...
    traitlets.traitlets.TraitError: RotatePair.only must list controls (position, key_position, lock, inv_freq, q, \
k) or parts of the picture (arrows, key, rail, score), none twice, got ('speed',).
    """

    figures: ClassVar[dict[str, type["LiveFigure"]]] = FIGURES
    newest: ClassVar[WeakValueDictionary[str, "LiveFigure"]] = WeakValueDictionary()  # last displayed
    _script: ClassVar[str] = ""  # the script's name, which subclasses inherit
    _declared: ClassVar[dict[str, Control]] = {}
    _results: ClassVar[dict[str, Result]] = {}
    lead: ClassVar[tuple[str, ...]] = ()
    few: ClassVar[dict[str, tuple[Any, ...]]] = {}
    parts: ClassVar[tuple[str, ...]] = ()
    only = Names()
    _still = ""  # the latest SVG picture from a front end
    _controls = traitlets.List().tag(sync=True)  # a list, because saving a notebook sorts the keys of a dict

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Register the class if it has a script, and collect its controls and results."""
        if cls.__name__ not in LiveFigure.figures and is_figure(cls.module_name()):
            cls._script = cls.module_name()
            LiveFigure.figures[cls.__name__] = cls
        traits = {name: trait for ancestor in reversed(cls.__mro__) for name, trait in vars(ancestor).items()}
        cls._declared = {name: trait for name, trait in traits.items() if isinstance(trait, Control)}
        cls._results = {name: trait for name, trait in traits.items() if isinstance(trait, Result)}
        super().__init_subclass__(**kwargs)

    def __init__(self, *unnamed: Any, **values: Any) -> None:
        name, controls = type(self).__name__, self.controls()
        self._kept: dict[str, tuple[dict[str, Any], float]] = {}  # cached results: name -> (state, value)
        self._told: dict[str, Any] = {}  # control values when observers of results were last notified
        self._followers: dict[str, Callable[[Any], None]] = {}
        if unnamed:
            raise short(TypeError(f"{name} takes its settings by name, {self._by_name(unnamed)}"))
        unknown = sorted(set(values) - set(controls) - EXTRAS)
        if unknown:
            hint = meant(unknown[0], controls)
            raise short(
                TypeError(f"{name} has no {', '.join(unknown)}.{hint} It takes {', '.join(controls)}")
            )
        settings = {
            name: self.controls()[name].validate(self, values[name]) for name in values if name not in EXTRAS
        }
        is_side = "layout" not in controls and isinstance(values.get("layout"), str)
        side = values.pop("layout") if is_side else SIDES[0]
        if side not in SIDES:
            raise short(
                traitlets.TraitError(f"{name}.layout must be one of {', '.join(SIDES)}, got {side!r}.")
            )
        super().__init__(**values | settings | self.settled(settings))
        if side == "below":
            self.add_class("rope-below")
        self._warn_if_idle(settings)
        self._controls = [
            {"name": name} | control.describe() | {"initial": getattr(self, name)}
            for name, control in self.controls().items()
        ]
        self._told = self.values()
        self.on_msg(self._keep_still)

    @property
    def _esm(self) -> str:
        """Return the script, which is bundled when the first figure of its class is created."""
        return module_script(self._script)

    @property
    def _css(self) -> str:
        """Return the style sheet."""
        return style()

    @classmethod
    def module_name(cls) -> str:
        """Return the name shared by the Python module and the script in ``js/``."""
        return cls.__module__.rpartition(".")[2]

    @classmethod
    def controls(cls) -> dict[str, Control]:
        """Return the controls by name, in declaration order."""
        return cls._declared

    @classmethod
    def results(cls) -> dict[str, Result]:
        """Return the results by name; each has a ``unit``."""
        return cls._results

    def values(self) -> dict[str, Any]:
        """Return the controls' current values by name."""
        return {name: getattr(self, name) for name in self.controls()}

    @classmethod
    def leads(cls) -> tuple[str, ...]:
        """Return the names of the controls next to the picture."""
        return cls.lead or tuple(cls.controls())[:MOST_LEADS]

    def reset(self) -> None:
        """Reset all controls to the values with which this figure was created."""
        with self.hold_trait_notifications():
            for control in self._controls:
                setattr(self, control["name"], control["initial"])

    def set(self, **values: Any) -> None:
        """Set several controls at the same time, and all others as by ``reset``.

        >>> from rope_book.widgets import RotatePair
        >>> figure = RotatePair(key_position=3)
        >>> figure.lock = True
        >>> figure.set(position=9)
        >>> figure
        RotatePair(position=9, key_position=3)
        """
        for name in values:
            if name not in self.controls():
                raise self._lacking(name)
        held = {name: self.controls()[name].validate(self, value) for name, value in values.items()}
        self.reset()
        with self.hold_trait_notifications():  # a preset's values change together
            for name, value in (held | self.settled(held)).items():
                setattr(self, name, value)

    def is_untouched(self) -> bool:
        """Return whether all controls have the values with which this figure was created."""
        return all(getattr(self, control["name"]) == control["initial"] for control in self._controls)

    def get_state(self, key: Any = None, drop_defaults: bool = False) -> dict[str, Any]:
        """Return the state including defaults, which a page that embeds the figure does not know."""
        state = super().get_state(key=key)
        if key is None and self.only is None:
            del state["only"]  # omitted from the state of a full figure
        return state

    def sweep(self, control: str, values: Iterable[Any], *results: str) -> dict[str, list]:
        """Return a table of the results, or of those named, for several values of a control, without changing the
        figure.

        >>> from rope_book.widgets import RotatePair
        >>> table = RotatePair(key_position=0).sweep("position", [0, 1, 2])
        >>> table["position"], [round(score, 2) for score in table["score"]]
        ([0, 1, 2], [1.2, 1.34, 1.4])
        """
        for kind, names, known in (
            ("control", (control,), self.controls()),
            ("result", results, self.results()),
        ):
            for name in names:
                if name not in known:
                    lacks = f"{type(self).__name__} has no {kind} {name!r}.{meant(name, known)}"
                    raise short(ValueError(f"{lacks} It has {', '.join(known)}"))
        return tabulated(self, control, values, results or self.results())

    def follow(self, function: Callable[["LiveFigure"], Any]) -> Callable[["LiveFigure"], Any]:
        """Call a function with the figure now and on every move, and show its output and result below.

        This can be used as a decorator, ``@figure.follow``. A function replaces any earlier function of the same
        name.
        """
        if not callable(function):
            raise short(TypeError(f"follow takes a function of the figure, got {function!r}"))
        below = Output()

        def call(change: Any = None) -> None:
            below.outputs = outputs_of(function, self)

        before = self._followers.get(function.__name__)
        if before:
            self.unobserve(before, names=list(self.controls()))
        self._followers[function.__name__] = call
        self.observe(call, names=list(self.controls()))
        display(below)
        call()
        return function

    def _keep_still(self, widget: Any, content: Any, buffers: Any) -> None:
        """Store a picture sent by a front end, which does so whenever the figure has been idle for a moment."""
        if "still" in content:
            self._still = content["still"]

    def _beside(self) -> dict[str, str]:
        """Note the figure as displayed; return the repr without long lists, and the picture if there is one."""
        LiveFigure.newest[type(self).__name__] = self
        line = repr(self)
        words = {"text/plain": LONG_LIST.sub("[…]", line)} if LONG_LIST.search(line) else {}
        return words | ({"image/svg+xml": self._still} if self._still else {})

    def settled(self, held: dict[str, Any]) -> dict[str, Any]:
        """Return the changes that rules require after ``held`` is set; raise TraitError if ``held`` breaks a
        rule."""
        controls = self.controls()
        implied, broken = settle(controls, {name: getattr(self, name) for name in controls}, held)
        if broken:
            owner, rule, state = broken
            name = next(name for name in rule.settle(owner, state, held, controls) if name in held)
            allowed = rule.allowed(owner, state)
            message = f"{type(self).__name__}.{name} must be {allowed}, got {seen(held[name])}."
            raise short(traitlets.TraitError(message))
        return {name: controls[name].clean(value) for name, value in implied.items()}

    @traitlets.observe(traitlets.All)
    def _apply_rules(self, change: Any) -> None:
        """Apply the changes that rules require after a control changes, and notify observers of changed results."""
        if change.name in self.controls():
            implied = self.settled({change.name: getattr(self, change.name)})
            with self.hold_trait_notifications():  # the values of a preset change together
                for name, value in implied.items():
                    setattr(self, name, value)
            before, self._told = self._told, self.values()
            for name in set(self._results) & set(self._trait_notifiers):
                self._tell(name, before)

    def _tell(self, name: str, before: dict[str, Any]) -> None:
        """Notify a result's observers if the result differs from that in the state ``before``."""
        old, new = self._results[name].at(before), getattr(self, name)
        if new != old and not (math.isnan(new) and math.isnan(old)):
            told = {"name": name, "old": old, "new": new, "owner": self, "type": "change"}
            self.notify_change(traitlets.Bunch(told))

    def _warn_if_idle(self, names: Iterable[str]) -> None:
        """Warn about each named control that has no effect in the current state."""
        for name in names:
            for rule in self.controls()[name].rules:
                offered = isinstance(rule, OnlyIf) and rule.where in (self.only or ())
                if isinstance(rule, OnlyIf) and not offered and getattr(self, rule.where) not in rule.values:
                    needed = " or ".join(f"{rule.where}={value!r}" for value in rule.values)
                    now = f"{rule.where} is {getattr(self, rule.where)!r}"
                    message = f"{type(self).__name__}.{name} has no effect while {now}; it needs {needed}."
                    warn(message)

    def _by_name(self, values: Iterable[Any]) -> str:
        """Return an example in which each value has the first control that takes it, or else the controls."""
        found: dict[str, Any] = {}
        for value in values:
            takes = (
                name for name, each in self.controls().items() if name not in found and each.takes(value)
            )
            if (name := next(takes, None)) is None:
                return f"which are {', '.join(self.controls())}"
            found[name] = value
        return f"as in {type(self).__name__}({', '.join(f'{name}={seen(v)}' for name, v in found.items())})"

    def _lacking(self, name: str) -> AttributeError:
        """Return the error for an unknown attribute, with a suggestion."""
        known = [*self.controls(), *self.results()]
        lacks = f"{type(self).__name__} has no attribute {name!r}.{meant(name, known)}"
        return short(AttributeError(f"{lacks} It has {', '.join(known)}"))

    def __getattr__(self, name: str) -> NoReturn:
        """Suggest a known attribute for an unknown one, unless a front end looks for a method of its own."""
        raise AttributeError(name) if name.startswith("_") else self._lacking(name)

    def along(self, name: str, value: Any) -> dict[str, Any]:
        """Return the changes to other controls when a control alone is set, in code as by hand."""
        return {}

    def _moved_along(self, name: str, value: Any) -> dict[str, Any]:
        """Return these changes, except for front ends and ``reset``, which set all controls at once."""
        if name not in self.controls() or self._cross_validation_lock:
            return {}
        return self.along(name, self.controls()[name].validate(self, value))

    def __setattr__(self, name: str, value: Any) -> None:
        """Reject unknown attributes, which Python would accept silently, and warn about controls without effect."""
        if not name.startswith("_") and not hasattr(type(self), name):
            raise self._lacking(name)
        before = self.values() if name in self.controls() else {}
        along = self._moved_along(name, value)
        if along:
            with self.hold_trait_notifications():
                super().__setattr__(name, value)
                for other, moved in along.items():
                    super().__setattr__(other, moved)
        else:
            super().__setattr__(name, value)
        if before and not self._cross_validation_lock:  # a reset or a drag may change idle controls
            moved = [other for other, value in self.values().items() if value != before[other]]
            self._warn_if_idle({name} & {*moved})
            self._warn_if_pushed(before, set(moved) - {name, *along})

    def _warn_if_pushed(self, before: dict[str, Any], moved: Iterable[str]) -> None:
        """Warn about each control that a limit has moved."""
        for name in moved:
            limits = [rule for rule in self.controls()[name].rules if isinstance(rule, AtMost)]
            for rule in limits:
                allowed = rule.allowed(name, self.values())
                message = f"{type(self).__name__}.{name} moved from {before[name]} to {getattr(self, name)}"
                warn(f"{message}, since it must be {allowed}.")

    def __repr__(self) -> str:
        """Return a line of Python that recreates this figure."""
        changed = {
            name: getattr(self, name)
            for name, control in self.controls().items()
            if getattr(self, name) != control.default_value
        }
        if self.only is not None:
            changed["only"] = tuple(self.only)
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in changed.items())})"
