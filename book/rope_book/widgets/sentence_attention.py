"""Chapter 10: attention with RoPE and other encodings, while the sentence moves."""

import numpy as np

from rope_edu.attention import softmax

from ._results import result
from ._traits import Choice, Sentence, Slider, Toggle
from .base import LiveFigure
from .maths.sentence import sentence_scores

STILL = 1e-9  # smaller changes are ignored


def square(now, encoding, start):
    """Return the matrix of scores or weights for the sentence at position ``start``, with 0 for masked keys."""
    scores = sentence_scores(now.sentence, encoding, start, causal=now.causal)
    shown = softmax(scores) if now.show == "weights" else scores
    return np.where(np.isfinite(scores), shown, 0)


class SentenceAttention(LiveFigure):
    """Watch one head read a sentence under each positional encoding while the sentence moves.

    Every word of ``sentence`` (1 to 6 words) has a vector of eight numbers made from its letters, and the head has
    fixed query and key matrices (``widgets.maths.words``). ``encoding`` is the positional encoding; the T5 and Shaw
    tables are made up. The first word is at position ``start``, s. ``show`` picks the attention weights or the
    scores before the softmax; ``against`` picks the comparison: the same sentence at position 0, or the same
    sentence without any encoding. A cell is split where the two differ. With ``causal``, each word sees only itself
    and earlier words.

    Its result is ``change``, the largest difference from the comparison.

    An out-of-range value raises a TraitError that lists the allowed values.

    >>> SentenceAttention(encoding="rotary", start=700)
    SentenceAttention(encoding='rotary', start=700)

    Source: Su et al. 2021, arXiv 2104.09864, equation 16; the others as in chapters 2 and 3. Chapter 10.
    """

    lead = ("encoding", "start", "show")

    encoding = Choice(
        "sinusoidal",
        {
            "none": "none",
            "sinusoidal": "sinusoidal, added",
            "alibi": "ALiBi, slope 1/2",
            "t5": "T5, a made-up table",
            "shaw": "Shaw, made-up vectors",
            "rotary": "rotary: q and k turned",
        },
        label="Encoding of position",
    )
    start = Slider(300, 0, 1000, label="Shift, s", unit="tokens")
    sentence = Sentence("I love natural language processing", 6, label="Sentence, up to 6 words")
    show = Choice("weights", {"weights": "weights", "scores": "scores, before the softmax"}, label="Show")
    against = Choice(
        "start", {"start": "the same sentence at s = 0", "none": "no encoding"}, label="Compare with"
    )
    causal = Toggle(False, label="Causal mask")

    @result("points of weights, or scores")
    def change(self):
        """Largest difference of a weight (in percentage points) or a score from the comparison."""
        other = self.encoding if self.against == "start" else "none"
        most = abs(square(self, self.encoding, self.start) - square(self, other, 0)).max()
        return 0.0 if most < STILL else float(most) * (100 if self.show == "weights" else 1)
