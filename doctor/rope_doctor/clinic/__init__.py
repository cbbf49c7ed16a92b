"""The clinic: diagnose any rotation, and deliberately broken rotations to practise on."""

from rope_doctor.clinic.broken import BROKEN, right
from rope_doctor.clinic.diagnosis import Diagnosis, diagnose
from rope_doctor.clinic.mistakes import MISTAKES, Mistake

__all__ = ["BROKEN", "MISTAKES", "Diagnosis", "Mistake", "diagnose", "right"]
