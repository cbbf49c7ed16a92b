"""A picture as the calls of the pen, and its charts: pixels read back as numbers by the ticks that are drawn."""

import json
import re
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..drawn import Drawn

# every call of the pen, as [method, …arguments], also those inside a part, with fields of colours as numbers
CALLS = """
function penInto(calls) {
    return new Proxy({}, { get: (_, name) => (...given) => {
        if (name === "part") given[0]();
        else if (name === "raster") {
            const [x, y, w, h, ...shades] = given;
            calls.push([name, [x, y, w, h], typeof shades[2] === "function" ? numbersOf(...shades) : shades[0]]);
        } else calls.push([name, ...given]);
    } });
}
function pictured(values, width, names) {
    const [state, view] = [madeState(values), only(names)];
    for (const _ of figure.work?.(state, true) ?? []) {}
    const calls = [];
    figure.draw(penInto(calls), state, { width, height: figure.height(width, state, view), ...view });
    return { state, calls, pressed: (figure.buttons ?? []).map(({ move }) => move(state)) };
}0"""
NUMBERS = """
globalThis.numbersOf = (rows, columns, at) => Array.from({ length: rows }, (_, r) =>
    Array.from({ length: columns }, (_, c) => at(r, c)));
if (typeof $lib$bitmap !== "undefined") $lib$bitmap.bitmap = numbersOf;
if (typeof $lib$places !== "undefined") $lib$places.attentionPicture = (weights, side) =>
    numbersOf(side, side, (r, c) => weights[r * side + c]);
"""
DIVERGING = "JSON.stringify($lib$colour.diverging.map((colour) => `rgb(${colour.join(',')})`))"
FRACTIONS = {"½": ".5", "¼": ".25", "¾": ".75"}
RAISED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")


def number(words: Any, thousand: int = 1000) -> float:
    """Return the number that words begin with: 0.5, −3, 4,096, ½, 1½π, 10⁻³, 2.7·10⁻⁶, 8 k, 1 M, 2 L; NaN if none.

    >>> [number(words) for words in ("−3", "4,096", "1½", "10⁻³", "8 k", "2 L", "token")]
    [-3.0, 4096.0, 1.5, 0.001, 8000.0, 2.0, nan]
    """
    text = re.sub("[½¼¾]", lambda found: FRACTIONS[found[0]], str(words)).replace("−", "-").replace(",", "")
    if power := re.match(r"(?:(-?[\d.]+)·)?10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)", text):
        return float(power[1] or 1) * 10.0 ** int(power[2].translate(RAISED))
    found = re.match(r"(-?(?:\d+\.?\d*|\.\d+)|(?=π))\s?([kMπ]?)", text)
    if not found:
        return np.nan
    return float(found[1] or 1) * {"": 1, "k": thousand, "M": thousand**2, "π": np.pi}[found[2]]


def says(words: str, value: float) -> bool:
    """Return whether words begin with a value, rounded to the digits that they show.

    >>> says("1.3 M tokens", 1_271_000), says("1.3", 1.36), says("−.4", -0.44)
    (True, False, True)
    """
    digits = re.match(r"[−-]?([\d,]*\.?(\d*))", words)
    plain = number(digits[0])
    unit = number(words) / plain if plain else 1
    return abs(number(words) - value) <= 0.5000001 * abs(unit) * 10.0 ** -len(digits[2])


class Scale(NamedTuple):
    """A scale that its ticks define: pixels, the numbers that are written there, and the axis's label."""

    pixels: np.ndarray
    numbers: np.ndarray
    label: str = ""

    @property
    def is_log(self) -> bool:
        """Whether the numbers grow by factors; every tick must be in its place, and the label must not be wrong."""
        for is_log in (True,) if "logarithmic" in self.label else (False, True):
            if is_log and min(self.numbers) <= 0:
                break
            values = np.log(self.numbers) if is_log else self.numbers
            if len(values) < 2 or np.abs(np.interp(values, *self._ends(values)) - self.pixels).max() < 0.01:
                return is_log
        raise AssertionError(f"{self.label}: ticks {self.numbers} are at {self.pixels}")

    def _ends(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        ends = np.argsort(values)[[0, -1]]
        return values[ends], self.pixels[ends]

    def read(self, pixels: Any) -> np.ndarray:
        """Return the numbers at some pixels."""
        values = np.log(self.numbers) if self.is_log else self.numbers
        (low, high), (start, end) = self._ends(values)
        found = low + (np.asarray(pixels, float) - start) * (high - low) / (end - start)
        return np.exp(found) if self.is_log else found


class Chart(NamedTuple):
    """A chart's labels and scales."""

    x_label: str
    y_label: str
    x: Scale
    y: Scale
    right: float  # end of the horizontal axis, in pixels

    def at(self, points: Any) -> np.ndarray:
        """Return the numbers at points in pixels, (2, points)."""
        xs, ys = np.asarray(points, float).reshape(-1, np.shape(points)[-1]).T[:2]
        return np.array([self.x.read(xs), self.y.read(ys)])


class Picture:
    """The calls of the pen for a state of a figure, and what each button would set there."""

    def __init__(
        self, calls: list[list], state: dict[str, Any], pressed: list[dict[str, Any]], diverging: list[str]
    ) -> None:
        self.calls, self.state, self.pressed, self.diverging = calls, state, pressed, diverging

    @cached_property
    def texts(self) -> list[tuple[float, float, str, dict]]:
        """Everything that is written: x, y, the words and their style."""
        found = [(*call[1:4], call[4] if len(call) > 4 else {}) for call in self.calls if call[0] == "text"]
        return [(x, y, str(words), style) for x, y, words, style in found]

    @property
    def words(self) -> list[str]:
        """All words, in the order in which they are written."""
        return [words for _, _, words, _ in self.texts]

    def shapes(self, kind: str, **style: Any) -> list:
        """Return the shapes of a kind with this style; None stands for what a style does not name."""
        found = []
        for name, *given in self.calls:
            if name not in (kind, f"{kind}s"):
                continue
            shown = given[-1] if isinstance(given[-1], dict) else {}
            if not all(shown.get(key) in (wanted, f"var(--rl-{wanted})") for key, wanted in style.items()):
                continue
            plain = given[:-1] if isinstance(given[-1], dict) else given
            found += plain[0] if name != kind else [plain[0] if kind in ("curve", "area") else plain]
        return found

    def styled(self, kind: str, **style: Any) -> list:
        """Return the calls that draw one shape of a kind, each with its style."""
        calls = [given for name, *given in self.calls if name == kind and isinstance(given[-1], dict)]
        return [given for given in calls if all(given[-1].get(key) == value for key, value in style.items())]

    def fields(self) -> list[np.ndarray]:
        """Return the numbers of each field of colours."""
        return [np.array(call[2]) for call in self.calls if call[0] == "raster"]

    def raster(self) -> list[float]:
        """Return the box of the first field: x, y, width and height."""
        return next(call[1] for call in self.calls if call[0] == "raster")

    def sign(self, words: str) -> dict:
        """Return the style of the sign before an entry of a legend."""
        place = next(n for n, call in enumerate(self.calls) if call[0] == "text" and call[3] == words)
        return self.calls[place - 1][-1]

    def below(self, x: float, y: float, anchor: str = "middle") -> str:
        """Return the words that are written next below a point."""
        under = [
            (dy, words)
            for at, dy, words, style in self.texts
            if abs(at - x) < 0.01 and dy > y and style.get("anchor", "start") == anchor
        ]
        return min(under)[1]

    def found(self, pattern: str) -> list[str]:
        """Return the groups of a pattern in the words that it finds first."""
        return next(list(found.groups()) for words in self.words if (found := re.search(pattern, words)))

    def said(self, pattern: str) -> list[float]:
        """Return the same as numbers."""
        return [number(each) for each in self.found(pattern)]

    def after(self, kind: str) -> list[str]:
        """Return the words that are written right after a shape of a kind."""
        pairs = pairwise(self.calls)
        return [str(call[3]) for before, call in pairs if (before[0], call[0]) == (kind, "text")]

    def charts(self, thousand: int = 1000) -> list[Chart]:
        """Return the charts that `lib/axes` has drawn."""
        found = []
        for n, call in enumerate(self.calls[1:], 1):
            before = self.calls[n - 1]
            if (call[0], before[0]) != ("lines", "lines") or "--rl-grid" not in str(before[2]):
                continue
            *marks, foot = call[1]
            across, up = [mark[0] for mark in marks], [line[1] for line in before[1]]
            written = [
                each for each in self.calls[n + 1 : n + 3 + len(across) + len(up)] if each[0] == "text"
            ]
            if foot[1] != foot[3] or any(mark[1] != foot[1] for mark in marks):
                continue
            ticks, rest = written[: len(across) + len(up)], written[len(across) + len(up) :]
            assert [each[1] for each in ticks[: len(across)]] == across
            assert np.allclose([each[2] - 4 for each in ticks[len(across) :]], up)
            numbers = [number(each[3], thousand) for each in ticks]
            x_label = next((each[3] for each in rest if each[2] == foot[1] + 34), "")
            y_label = next((each[3] for each in rest if each[1] == foot[0] and each[3] != x_label), "")
            found.append(
                Chart(
                    x_label,
                    y_label,
                    scale(across, numbers[: len(across)], x_label),
                    scale(up, numbers[len(across) :], y_label),
                    foot[2],
                )
            )
        return found

    def chart(self, x_label: str, y_label: str = "", thousand: int = 1000) -> Chart:
        """Return the chart with these labels, units included."""
        charts = self.charts(thousand)
        labels = [(chart.x_label, chart.y_label) for chart in charts]
        assert (x_label, y_label) in labels, labels
        return charts[labels.index((x_label, y_label))]


def scale(pixels: Any, numbers: Any, label: str = "") -> Scale:
    """Return the scale of those ticks that are numbers."""
    are = np.isfinite(numbers)
    return Scale(np.array(pixels)[are], np.array(numbers)[are], label)


class Pictured(Drawn):
    """A figure in V8 that gives its pictures."""

    replaced = Drawn.replaced + NUMBERS

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.engine.eval(CALLS)
        self.diverging = json.loads(self.engine.eval(DIVERGING))

    def picture(self, values: dict[str, Any], width: int = 726, only: list[str] | None = None) -> Picture:
        """Return the picture of a state."""
        call = f"JSON.stringify(pictured({json.dumps(values)}, {width}, {json.dumps(only)}))"
        found = json.loads(self.engine.eval(call))
        return Picture(**found, diverging=self.diverging)


def directions(segments: Any) -> np.ndarray:
    """Return the directions of segments or arrows from their first to their second point, as unit vectors, y up."""
    x1, y1, x2, y2 = np.asarray(segments, float).reshape(-1, 4).T
    return np.array([x2 - x1, y1 - y2]).T / np.hypot(x2 - x1, y2 - y1)[:, None]


def towards(angles: Any) -> np.ndarray:
    """Return unit vectors at some angles, in radians."""
    return np.array([np.cos(angles), np.sin(angles)]).T
