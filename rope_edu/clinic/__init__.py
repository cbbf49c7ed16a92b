"""The clinic: say what somebody's rotation is, and what is wrong with it; broken ones are kept here, once."""

from rope_edu.clinic.broken import BROKEN, right
from rope_edu.clinic.decoder import Decoder
from rope_edu.clinic.decoding import check_decoder
from rope_edu.clinic.diagnosis import Diagnosis, diagnose
from rope_edu.clinic.mistakes import MISTAKES, Mistake
from rope_edu.clinic.modules import check_model

__all__ = [
    "BROKEN",
    "MISTAKES",
    "Decoder",
    "Diagnosis",
    "Mistake",
    "check_decoder",
    "check_model",
    "diagnose",
    "right",
]
