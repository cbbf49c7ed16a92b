"""Numbers about position: every encoding of the book, as pure functions of arrays.

Each file's `__all__` says which of its names are for everybody; all of these can be imported from here. An argument
that is not as a docstring says is refused with a ValueError, which names the value seen and what is allowed.
"""

import types

from rope_edu.encodings.absolute import *
from rope_edu.encodings.base_bound import *
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
