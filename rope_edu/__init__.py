"""Positional encodings step by step: the library of the book *RoPE, Turn by Turn*.

Needs NumPy only; torch, matplotlib and ipywidgets are imported by the rooms that use them, not here.
The function `attention` is `rope_edu.attention.attention`: the package keeps the name.
"""

from rope_edu import attention, encodings
from rope_edu.attention import *  # noqa: F403  (exactly attention.__all__)
from rope_edu.encodings import *  # noqa: F403  (exactly encodings.__all__)

__version__ = "0.1.0"
__all__ = ["__version__", *attention.__all__, *encodings.__all__]
