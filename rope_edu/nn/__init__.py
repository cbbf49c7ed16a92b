"""PyTorch modules: a rotary embedding to take home, the library's encodings as modules, a tiny transformer.

Needs ``pip install "rope-edu[torch]"``; the rest of the library does not.
"""

try:
    import torch as _torch  # noqa: F401
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f'rope_edu.nn needs the torch extra ({error.name} is missing): pip install "rope-edu[torch]"; the CPU '
        "build from pytorch.org is enough"
    ) from error

from rope_edu.nn.encodings import ENCODINGS, OPTIONS, Encoding, RotaryModule, make_encoding
from rope_edu.nn.rotary import RotaryEmbedding
from rope_edu.nn.rotary_functions import rotary_cos_sin, rotate_heads
from rope_edu.nn.transformer import Attention, TinyTransformer

__all__ = [
    "ENCODINGS",
    "OPTIONS",
    "Attention",
    "Encoding",
    "RotaryEmbedding",
    "RotaryModule",
    "TinyTransformer",
    "make_encoding",
    "rotary_cos_sin",
    "rotate_heads",
]
