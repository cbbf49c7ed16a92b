"""Chapter 22: which mistake does a rotation make? A diagnosis game."""

from ._traits import Choice, Slider
from .base import LiveFigure
from .maths.patients import CHOICES, PATIENTS


class WhichBug(LiveFigure):
    """Diagnose, from four pictures, the mistake in a rotation of 8 features.

    The pictures show the score of one query and one key against their distance, from three starts; the matrix at
    position 2; the length of the turned query; and its error. ``patient`` chooses one of twelve rotations, one of
    them healthy; ``guess`` is your diagnosis, or ``"none"`` until you have one. The base is 100, and the layout is
    interleaved.

    An out-of-range value raises a TraitError that lists the allowed values.

    >>> WhichBug(patient=2, guess="one_clock")
    WhichBug(patient=2, guess='one_clock')

    Source: ``rope_doctor.clinic.BROKEN``, which names an incident for every rotation. Chapter 22.
    """

    patient = Slider(1, 1, len(PATIENTS), label="Patient, number")
    guess = Choice("none", {"none": "none yet"} | CHOICES, label="Your diagnosis", buttons=True)
