"""PyTorch modules: a drop-in rotary embedding, and the library's position encodings.

This package needs torch (``pip install torch``); the rest of the library does not.
"""

try:
    import torch as _torch  # noqa: F401
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"rope_edu.nn needs torch ({error.name} is missing): pip install torch; the CPU build "
        "from pytorch.org is enough"
    ) from error

from rope_edu.nn.encodings import ENCODINGS, OPTIONS, Encoding, RotaryModule, make_encoding
from rope_edu.nn.rotary import RotaryEmbedding
from rope_edu.nn.rotary_functions import rotary_cos_sin, rotate_heads

__all__ = [
    "ENCODINGS",
    "OPTIONS",
    "Encoding",
    "RotaryEmbedding",
    "RotaryModule",
    "make_encoding",
    "rotary_cos_sin",
    "rotate_heads",
]
