"""Chapter 22: the text that a real model writes if its positions are wrong."""

import math

from ._results import result
from ._rules import OnlyIf
from ._traits import Choice, Slider
from .base import LiveFigure
from .maths.damage import CASES, LOOKS, PROMPTS, SHOWN, damage


def shown_in(now):
    """Return the mistake whose text is shown, or None if the figure lists mistakes."""
    if now.task in LOOKS:
        return None
    name = CASES[now.number - 1] if now.task == "guess" else now.mistake
    return next(each for each in damage()["mistakes"] if each["name"] == name)


class ReadTheDamage(LiveFigure):
    """Read the text that SmolLM2-135M writes with a mistake in its positions, beside the text that it should write.

    ``task`` is "guess" (which mistake produced text ``number``? ``guess`` is your answer, or "none"), "choose"
    (show a ``mistake`` by name), or a description of a broken text of your own (one of
    ``widgets.maths.damage.LOOKS``). With a description, all mistakes that produce such a text are listed, with the
    commands that tell them apart. ``prompt`` is the text that the model continues, ``words`` the number of words
    shown. The sentence compares perplexities, on the worst of texts of three kinds.

    Its results are ``right_words``, the number of right words before the text goes wrong; ``worse``, the largest
    increase in perplexity as a factor; and ``alike``, the number of mistakes with such a text. The first two are
    NaN if the figure lists mistakes.

    An out-of-range value raises a TraitError that lists the allowed values.

    >>> ReadTheDamage(task="choose", mistake="theta_lost")
    ReadTheDamage(task='choose', mistake='theta_lost')

    Source: ``python -m makers.real_mistakes``, greedy text of 60 tokens. Chapter 22.
    """

    lead = ("number", "task")

    task = Choice(
        "guess",
        {"guess": "Guess the mistake", "choose": "Choose a mistake"}
        | {name: f"My text {words}" for name, words in LOOKS.items()},
        label="What to do",
    )
    guess = Choice(
        "none",
        {"none": "none yet"} | {name: SHOWN[name][0] for name in sorted(CASES)},
        label="Which mistake is it?",
        groups={"Which mistake is it?": sorted(CASES)},
    ).under(OnlyIf("task", ("guess",)))
    mistake = Choice("k_still", {name: called for name, (called, _) in SHOWN.items()}, label="Mistake").under(
        OnlyIf("task", ("choose",))
    )
    prompt = Choice("recipe", PROMPTS, label="What it continues")
    number = Slider(1, 1, len(CASES), label="Text, number").under(OnlyIf("task", ("guess",)))
    words = Slider(60, 0, 60, label="Words shown").under(OnlyIf("task", ("guess", "choose")))

    @result("words")
    def right_words(self):
        """Number of right words before the text goes wrong."""
        mistake = shown_in(self)
        return mistake["written"][self.prompt]["rightWords"] if mistake else math.nan

    @result("times the right one")
    def worse(self):
        """Largest increase in perplexity on the three texts, as a factor."""
        mistake, right = shown_in(self), damage()["right"]["perplexity"]
        if mistake is None:
            return math.nan
        pairs = zip(mistake["perplexity"], right, strict=True)
        return max(math.inf if bad is None else bad / good for bad, good in pairs)

    @result("mistakes")
    def alike(self):
        """Number of known mistakes whose text looks like the one shown or described."""
        mistake = shown_in(self)
        wanted = mistake["written"][self.prompt]["looks"] if mistake else self.task
        return sum(each["written"][self.prompt]["looks"] == wanted for each in damage()["mistakes"])
