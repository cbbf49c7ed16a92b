"""Find position bugs in a language model: in its files, in its weights or at run time.

precision.py   errors in angles computed at low precision
verdict.py     the outcome of every check, and the resulting exit status
config/        reads the rotation in a config.json or a GGUF as a `RopeSpec`, and writes config.json fields
clinic/        `diagnose`, which probes a rotation as a black box, and deliberately broken rotations
probes/        checks for live torch models, decoders and servers
vectors/       test vectors for any rotation
command/       the subcommands of `rope-doctor`

Requires NumPy and `rope_edu`; torch is imported only to check torch models.
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
