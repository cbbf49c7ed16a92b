"""Chapter 18: the loss of a widely used model beyond its trained length, for readers to draw before they see it."""

from ._results import result
from ._rules import OnlyIf
from ._traits import Choice, Sketch, Toggle
from .base import LiveFigure
from .maths.length import REMEDIES, costs

PARTS = 16  # number of parts of the text, and of heights in a drawn guess
TOP = 3.0  # nats per unit of height in a guess


def cost_at_end(remedy, text):
    """Return the extra loss in the last part of a text under a remedy, in nats per token."""
    return next(each["costs"][text][-1] for each in costs()["remedies"] if each["name"] == remedy)


class LengthCurve(LiveFigure):
    """Draw SmolLM2-135M's extra loss on tokens beyond the trained length, then see the measured curve.

    The model was trained on 8,192 tokens and reads 12,288. A curve is the loss in sixteen parts of the text, minus
    a reference loss. The reference is the model as trained, which in the parts beyond 8,192 tokens sees only the
    last 8,192. With ``guess_first`` the curves are hidden until you have drawn a ``guess``: up to 16 heights from
    -1 to 1, in units of 3 nats. The curve of ``remedy`` (``widgets.maths.length.REMEDIES``) is drawn in bold.
    ``text`` is "narrative", "technical", "code", or the "mean" of the three.

    Its results are ``extra`` and ``extra_trained``, the final extra loss with and without the remedy.

    An out-of-range value raises a TraitError that lists the allowed values.

    >>> LengthCurve(guess_first=False, remedy="pi-2")
    LengthCurve(remedy='pi-2', guess_first=False)

    Source: ``python -m makers.real_length``. Chapter 18.
    """

    lead = ("guess", "remedy", "text")

    guess = Sketch(PARTS, label="Your guess").under(OnlyIf("guess_first", (True,)))
    remedy = Choice("plain", {name: called for name, (called, _) in REMEDIES.items()}, label="In bold")
    text = Choice(
        "mean",
        {
            "mean": "the mean of three texts",
            "narrative": "a narrative",
            "technical": "technical prose",
            "code": "a program",
        },
        label="Text",
    )
    guess_first = Toggle(True, label="Hide the curves until I have drawn a guess")

    @result("nats per token")
    def extra(self):
        """Extra loss in the last sixteenth of the text, with the remedy."""
        return cost_at_end(self.remedy, self.text)

    @result("nats per token")
    def extra_trained(self):
        """Extra loss in the last sixteenth of the text, as trained."""
        return cost_at_end("plain", self.text)
