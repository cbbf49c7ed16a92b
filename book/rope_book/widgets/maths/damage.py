r"""Texts that SmolLM2 writes with known mistakes, how the texts look, and the command that finds each mistake.

Each text is assigned one of six looks, so that readers can compare a text from their own model.
"""

import re
from functools import cache
from itertools import pairwise, takewhile
from typing import Any

from rope_book.results.real import load_real

LOOKS = {
    "word": "repeats one word",
    "phrase": "repeats one phrase",
    "lines": "has empty lines",
    "salad": "is no language",
    "fluent": "is good English",
    "same": "is entirely right",
}
COMMANDS = {  # location of a mistake -> command that finds it; shifting all positions is not a mistake
    "config": "rope-doctor compare config.json model.gguf",
    "rotation": "rope-doctor diagnose module:rotate --config config.json",
    "halves": "rope-doctor diagnose module:rotate_k --config config.json",
    "count": "rope-doctor decode module:make",
    "nowhere": "",
}
CASES = (
    "restarts",
    "k_still",
    "theta_lost",
    "other_layout",
    "padding_counted",
    "adds_instead_of_turning",
    "decodes_in_place",
    "pi_4_unasked",
)
SHOWN = {  # name -> (the mistake in a few words, its location)
    "theta_lost": ("the base is lost: 10,000, not 100,000", "config"),
    "base_500000": ("the base is Llama 3's, 500,000", "config"),
    "pi_2_unasked": ("PI by 2 where no rule belongs", "config"),
    "pi_4_unasked": ("PI by 4 where no rule belongs", "config"),
    "ntk_4_unasked": ("NTK-aware by 4 where no rule belongs", "config"),
    "ntk_16_unasked": ("NTK-aware by 4, applied twice", "config"),
    "yarn_4_unasked": ("YaRN by 4 where no rule belongs", "config"),
    "llama3_8_unasked": ("Llama 3's rule where none belongs", "config"),
    "factor_1.21": ("cosines and sines are 1.21 times too large", "config"),
    "half_the_width": ("half of the features are not rotated", "config"),
    "other_layout": ("the other layout, in q and k alike", "rotation"),
    "turns_backwards": ("it turns backwards, in q and k alike", "rotation"),
    "no_position": ("nothing is rotated", "rotation"),
    "sine_missing": ("the sines are missing", "rotation"),
    "minus_sign_missing": ("a minus sign is missing", "rotation"),
    "table_of_other_layout": ("tables laid out for the other layout", "rotation"),
    "rolls_features": ("features are rolled by one", "rotation"),
    "uneven_gain": ("a gain after the turn", "rotation"),
    "one_clock": ("all pairs turn at one speed", "rotation"),
    "exponent_sign": ("the exponent has the wrong sign", "rotation"),
    "adds_instead_of_turning": ("it adds a vector instead of turning", "rotation"),
    "frequencies_uninitialised": ("the frequencies were never filled in", "rotation"),
    "fastest_8_still": ("the fastest 8 pairs stand still", "rotation"),
    "slowest_8_still": ("the slowest 8 pairs stand still", "rotation"),
    "slowest_20_still": ("the slowest 20 pairs stand still", "rotation"),
    "all_in_bfloat16": ("positions and angles are kept in bfloat16", "rotation"),
    "layouts_mixed": ("q in one layout, k in the other", "halves"),
    "sign_of_k": ("q turns forwards, k backwards", "halves"),
    "k_still": ("q is rotated, k is not", "halves"),
    "padding_counted": ("padding is counted, in all tokens alike", "nowhere"),
    "padding_counted_later": ("padding is counted in the answer only", "count"),
    "cache_off_by_one": ("new tokens skip one position", "count"),
    "cache_one_behind": ("new tokens are one position behind", "count"),
    "restarts": ("new tokens are counted from 0 again", "count"),
    "decodes_at_0": ("every new token is at position 0", "count"),
    "decodes_in_place": ("all new tokens share one position", "count"),
}
PROMPTS = {"recipe": "a recipe", "story": "a story"}  # prompts in the results file, with short descriptions
LINES, AGAIN, LANGUAGE = 12, 0.5, 0.8  # thresholds: line breaks, share of repetitions, share of words
PIECE = re.compile(r"\n+(?:[^\S\n]*\n+)*|\S+")  # a word, or line breaks in a row
WORD = re.compile(r"[\"'(]*[A-Za-z]+(['-][A-Za-z]+)*[.,;:!?\"')]*")


def looks(text: str, right: str) -> str:
    r"""Return the key in `LOOKS` for a text of 60 tokens, given the text that the model writes without mistakes.

    >>> looks("wash it wash it " + "it " * 30, "add it")
    'word'
    >>> looks("a little bit of " * 9, "add it")
    'phrase'

    Chapter 22.
    """
    words = [word.strip(".,;:!?").lower() for word in text.split()]
    threes = list(zip(words, words[1:], words[2:], strict=False))
    twos = list(pairwise(words))
    if text == right:
        return "same"
    if text.count("\n") >= LINES:
        return "lines"
    if sum(a == b for a, b in twos) > AGAIN * len(twos):
        return "word"
    if len(set(threes)) < (1 - AGAIN) * len(threes):
        return "phrase"
    return "fluent" if reads(text) else "salad"


def reads(text: str) -> bool:
    """Return whether more than four in five pieces of a text are words, possibly with punctuation around them.

    >>> reads("You can, for example, wash it."), reads('(--_;"RRR A- building!_ sha -AsBY.-If!')
    (True, False)
    """
    pieces = text.split()
    return sum(WORD.fullmatch(piece) is not None for piece in pieces) > LANGUAGE * len(pieces)


def right_words(text: str, right: str) -> int:
    r"""Return how many words and line breaks a text shares with the right one before the two differ.

    >>> right_words("wash it well", "wash it\nwell"), right_words("a b", "a b c")
    (2, 2)

    Chapter 22.
    """
    pairs = zip(PIECE.findall(text), PIECE.findall(right), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


@cache
def damage() -> dict[str, Any]:
    """Return the figure's data: the prompts, and the model's continuations and perplexities with each mistake."""
    measured = load_real("real_mistakes")
    texts = {(row["name"], row["prompt"]): row["text"] for row in measured["words"]}
    losses = {(row["text"], row["name"]): row["decoded"] for row in measured["losses"]}

    def facts(text: str, right: str) -> dict[str, Any]:
        return {"text": text, "looks": looks(text, right), "rightWords": right_words(text, right)}

    def described(name: str) -> dict[str, Any]:
        written = {prompt: facts(texts[name, prompt], texts["right", prompt]) for prompt in PROMPTS}
        perplexity = [losses[kind, name] for kind in measured["meta"]["texts"]]
        return {"name": name, "perplexity": perplexity, "written": written}

    mistakes = [
        described(name) | {"called": called, "run": COMMANDS[where]}
        for name, (called, where) in SHOWN.items()
    ]
    return {
        "prompts": {name: measured["meta"]["prompts"][name] for name in PROMPTS},
        "right": described("right"),
        "mistakes": mistakes,
        "cases": CASES,
    }
