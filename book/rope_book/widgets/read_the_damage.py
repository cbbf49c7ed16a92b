"""Chapter 22: the text that a real model writes if its positions are wrong."""

from ._rules import OnlyIf
from ._traits import Choice, Slider
from .base import LiveFigure
from .maths.damage import CASES, LOOKS, PROMPTS, SHOWN


class ReadTheDamage(LiveFigure):
    """Read the text that SmolLM2-135M writes with a mistake in its positions, beside the text that it should write.

    ``task`` is "guess" (which mistake produced text ``number``? ``guess`` is your answer, or "none"), "choose"
    (show a ``mistake`` by name), or a description of a broken text of your own (one of
    ``widgets.maths.damage.LOOKS``). With a description, all mistakes that produce such a text are listed, with the
    commands that tell them apart. ``prompt`` is the text that the model continues, ``words`` the number of words
    shown. Three bars compare perplexities on texts of three kinds.

    An out-of-range value raises a TraitError that lists the allowed values.

    >>> ReadTheDamage(task="choose", mistake="theta_lost")
    ReadTheDamage(task='choose', mistake='theta_lost')

    Source: ``python -m makers.real_mistakes``, greedy text of 60 tokens. Chapter 22.
    """

    lead = ("task", "guess", "mistake")

    task = Choice(
        "guess",
        {"guess": "Guess the mistake", "choose": "Choose a mistake"}
        | {name: f"My model's text {words}" for name, words in LOOKS.items()},
        label="What to do",
    )
    guess = Choice(
        "none",
        {"none": "none yet"} | {name: SHOWN[name][0] for name in sorted(CASES)},
        label="Which mistake is it?",
        buttons=True,
    ).under(OnlyIf("task", ("guess",)))
    mistake = Choice("k_still", {name: called for name, (called, _) in SHOWN.items()}, label="Mistake").under(
        OnlyIf("task", ("choose",))
    )
    prompt = Choice("recipe", PROMPTS, label="What it continues")
    number = Slider(1, 1, len(CASES), label="Text, number").under(OnlyIf("task", ("guess",)))
    words = Slider(60, 0, 60, label="Words shown").under(OnlyIf("task", ("guess", "choose")))
