"""The clinic: a diagnosis for any rotation, and deliberately broken rotations to test it."""

from rope_doctor.clinic.broken import BROKEN, right
from rope_doctor.clinic.diagnosis import Diagnosis, diagnose
from rope_doctor.clinic.mistakes import MISTAKES, Mistake

__all__ = ["BROKEN", "MISTAKES", "Diagnosis", "Mistake", "diagnose", "right"]
