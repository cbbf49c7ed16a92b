"""All encodings in the book, as pure functions that accept any arrays and check their arguments.

Import the public names, listed in each file's `__all__`, from here. An argument outside its documented range
raises a ValueError that gives its value and the allowed values.
"""

import types

from rope_edu.encodings.absolute import *
from rope_edu.encodings.decay import *
from rope_edu.encodings.frequencies import *
from rope_edu.encodings.layouts import *
from rope_edu.encodings.partial import *
from rope_edu.encodings.relative import *
from rope_edu.encodings.rotary import *
from rope_edu.encodings.scaling import *
from rope_edu.encodings.spatial import *
from rope_edu.encodings.spec import *
from rope_edu.encodings.trained_range import *
from rope_edu.encodings.xpos import *

__all__ = [
    name for name in dir() if not name.startswith("_") and not isinstance(globals()[name], types.ModuleType)
]
