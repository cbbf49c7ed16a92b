"""The clinic: say what somebody's rotation is, and what is wrong with it; broken ones are kept here, once."""

from rope_edu.clinic.broken import BROKEN, right
from rope_edu.clinic.diagnosis import Diagnosis, diagnose
from rope_edu.clinic.mistakes import MISTAKES, Mistake

__all__ = ["BROKEN", "MISTAKES", "Diagnosis", "Mistake", "diagnose", "right"]
