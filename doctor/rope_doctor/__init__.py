"""Finds what is wrong with the positions of a model: in its files, in its weights, or while it runs.

precision.py   angles kept in few bits: what is left of them
config/        a config.json or a GGUF, read into a `RopeSpec`, and written back
clinic/        `diagnose`, which calls a rotation as a black box; rotations that are wrong on purpose, each once
probes/        questions to a live torch model, and to anybody's decoder
vectors/       test vectors for anybody's rotation
command/       the subcommands of `rope-doctor`

Needs NumPy and `rope_edu`; torch is imported only by the torch models that it is given.
"""

from rope_doctor.clinic import Diagnosis, diagnose
from rope_doctor.command import compare
from rope_doctor.config import preset, read_config, rope_from_config, to_config
from rope_doctor.probes import Decoder, check_decoder, check_model

__version__ = "0.1.0"
__all__ = [
    "Decoder",
    "Diagnosis",
    "__version__",
    "check_decoder",
    "check_model",
    "compare",
    "diagnose",
    "preset",
    "read_config",
    "rope_from_config",
    "to_config",
]
