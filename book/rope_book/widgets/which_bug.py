"""Chapter 22: which mistake does a rotation make? A diagnosis game."""

from ._results import result
from ._traits import Choice, Slider
from .base import LiveFigure
from .maths.patients import ANSWERS, CHOICES, PATIENTS, PLACES, summary


def measured(now):
    """Return a summary of the selected patient's symptoms."""
    return summary(PATIENTS[now.patient - 1])


class WhichBug(LiveFigure):
    """Diagnose the mistake in a rotation of 8 features by comparison with the right rotation.

    Four clocks, one per pair, have two hands at ``position``: the right one, and the patient's. Below them are the
    patient's matrix at this position, with wrong entries marked, and one ``chart``: the score of a query and a key
    as a function of their distance, from three starts; the length of the rotated query; or its distance from the
    right place. ``patient`` selects one of twelve rotations, of which one is healthy;
    ``guess`` is your diagnosis, or ``"none"`` until you have one. The base is 100, and the layout is interleaved.

    Its results are the symptoms: ``shortest`` and ``longest``, the length of the rotated query as a multiple of the
    right length; ``spread``, the largest change of a score with the start; and ``error``, the largest distance of
    the rotated query, of length 1, from its right place.

    An out-of-range value raises a TraitError that lists the allowed values.

    >>> round(WhichBug(patient=3).shortest, 2)
    0.34
    >>> WhichBug(patient=2, guess="one_clock")
    WhichBug(patient=2, guess='one_clock')

    Source: ``rope_doctor.clinic.BROKEN``, which names an incident for every rotation. Chapter 22.
    """

    patient = Slider(1, 1, len(PATIENTS), label="Patient")
    position = Slider(2, 0, int(PLACES[-1]), label="Position", unit="tokens")
    chart = Choice(
        "score", {"score": "Score", "length": "Length", "place": "Place"}, label="Chart", buttons=True
    )
    guess = Choice("none", {"none": "none yet"} | CHOICES, label="Your diagnosis", groups=ANSWERS)

    @result()
    def shortest(self):
        """Shortest length of the rotated query."""
        return measured(self)["shortest"]

    @result()
    def longest(self):
        """Longest length of the rotated query."""
        return measured(self)["longest"]

    @result()
    def spread(self):
        """Largest change of a score when the start moves."""
        return measured(self)["spread"]

    @result()
    def error(self):
        """Largest distance of the rotated query from its right place."""
        return measured(self)["error"]
