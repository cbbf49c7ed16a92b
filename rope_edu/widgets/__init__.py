"""Live figures: ipywidgets in a kernel, the same scripts in the published page.

Needs ``pip install "rope-edu[widgets]"``; the rest of the library does not.
"""

try:
    import anywidget as _anywidget  # noqa: F401
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f'live figures need the widgets extra ({error.name} is missing): pip install "rope-edu[widgets]"'
    ) from error

from .angle_chart import AngleChart
from .base import LiveFigure
from .clocks import Clocks
from .complex_plane import ComplexPlane
from .rotate_pair import RotatePair

__all__ = ["AngleChart", "Clocks", "ComplexPlane", "LiveFigure", "RotatePair"]
