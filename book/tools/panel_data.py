"""Compare the panels of a plot as data: words and colours exactly, coordinates and pixels within a tolerance.

Another processor may add in a different order, moving a point on a curve by a hundredth of a pixel; different
data move it much farther. nbval compares every cell's panels with the committed ones through `Panels`.
"""

import base64
import io
import re
from collections.abc import Iterator
from xml.etree import ElementTree

import numpy as np
from PIL import Image

PIXELS = 0.05  # tolerance for a coordinate; a panel is about 230 units wide
SHADES = 4  # tolerance for a pixel in a field, out of 255; neighbours in a palette differ by less
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
WHERE = {
    "d",
    "points",
    "transform",
    "viewBox",
    "x",
    "y",
    "x1",
    "x2",
    "y1",
    "y2",
    "cx",
    "cy",
    "r",
    "width",
    "height",
}


class Panels:
    """The panels of one plot, which equal any others that show the same."""

    def __init__(self, panels: list[str], *, draws_times: bool = False) -> None:
        """Store the panels (SVG); for a plot that draws measured times, only their number is compared."""
        self.panels = panels
        self.draws_times = draws_times

    def __eq__(self, other: object) -> bool:
        """Return whether both show the same words, lines and fields."""
        return isinstance(other, Panels) and not self.difference(other)

    def __repr__(self) -> str:
        """Return the number of panels: nobody reads SVG in a test report."""
        return f"<{len(self.panels)} panels>"

    def difference(self, other: "Panels") -> str:
        """Return the first difference between two plots in words, or "" if they agree."""
        if len(self.panels) != len(other.panels):
            return f"{len(self.panels)} panels, {len(other.panels)} drawn now"
        if self.draws_times:
            return ""
        pairs = zip(self.panels, other.panels, strict=True)
        differences = (panel_difference(old, new) for old, new in pairs)
        return next((f"panel {n}: {text}" for n, text in enumerate(differences, 1) if text), "")


def panel_difference(old: str, new: str) -> str:
    """Return the first difference between two SVGs beyond the tolerances, in words, or "" if they agree."""
    before, after = list(statements(old)), list(statements(new))
    for (name, was), (also, now) in zip(before, after, strict=False):
        if name != also or not same(was, now):
            return f"{name} {brief(was)}, drawn now: {also} {brief(now)}"
    return "" if len(before) == len(after) else f"{len(before)} shapes and words, {len(after)} drawn now"


def statements(svg: str) -> Iterator[tuple[str, str | np.ndarray]]:
    """Yield (name, value) of everything in an SVG: words as strings, coordinates and pixels as arrays."""
    for element in ElementTree.fromstring(svg).iter():
        tag = element.tag.partition("}")[2]
        yield tag, (element.text or "").strip()
        for key, value in sorted(element.items()):
            if value.startswith("data:image"):
                yield f"{tag}'s pixels", pixels(value)
            elif key in WHERE:
                yield f"{tag}'s {key}", NUMBER.sub("#", value)
                yield f"{tag}'s {key}", np.array(NUMBER.findall(value), dtype=float)
            else:
                yield f"{tag}'s {key}", value


def pixels(link: str) -> np.ndarray:
    """Return the picture in a data URL, (height, width, 4): shades from 0 to 255 in units of the tolerance."""
    picture = Image.open(io.BytesIO(base64.b64decode(link.partition(",")[2]))).convert("RGBA")
    return np.asarray(picture, dtype=float) * (PIXELS / SHADES)


def same(was: str | np.ndarray, now: str | np.ndarray) -> bool:
    """Return whether two values agree: words exactly, numbers to `PIXELS`."""
    if isinstance(was, str) or isinstance(now, str):
        return isinstance(was, str) and isinstance(now, str) and was == now
    return was.shape == now.shape and bool(np.all(np.abs(was - now) <= PIXELS))


def brief(value: str | np.ndarray) -> str:
    """Return a value in a few words."""
    return repr(value[:60]) if isinstance(value, str) else f"{value.ravel()[:6].round(2).tolist()} …"
