"""Chapter 1: which outputs move."""

from itertools import permutations

import numpy as np

from rope_book.widgets.maths.order import read_words

FIRST = "the dog chases the pig"
SECOND = "the pig chases the dog"


def _outputs(sentence, causal=False, layers=1):
    return read_words(sentence.split(), causal=causal, layers=layers)[1]


def _moves(sentence, word, **layer):
    """Return whether no output of this word in `sentence` is where the word's output in the first sentence is."""
    here, there = (
        _outputs(each, **layer)[[other == word for other in each.split()]] for each in (FIRST, sentence)
    )
    return bool(np.abs(here[:, None] - there).max(axis=-1).min() > 1e-9)


def orders():
    one, two = (
        any(
            _moves(" ".join(order), word, layers=layers)
            for order in set(permutations(FIRST.split()))
            for word in set(order)
        )
        for layers in (1, 2)
    )
    return {"Never": not (one or two), "as soon as a word": one, "with two it will": two and not one}


def cat():
    other = _outputs("the cat chases the pig")
    moved = np.abs(other - _outputs(FIRST)).max(axis=1)[[0, 2, 3, 4]] > 1e-3
    return {"All four": moved.sum() == 4, "Two": moved.sum() == 2, "None": not moved.any()}


def mask():
    first, second = _outputs(FIRST, causal=True), _outputs(SECOND, causal=True)
    rings = {
        place: [at for word, at in zip(FIRST.split(), first, strict=True) if word == wanted]
        for place, wanted in enumerate(SECOND.split())
    }
    return {
        f"word {place + 1}": min(np.abs(second[place] - ring).max() for ring in rings[place]) < 1e-9
        for place in rings
    }


def two_layers():
    one, two = (_moves("chases the dog the pig", "pig", causal=True, layers=layers) for layers in (1, 2))
    return {
        "With one layer no, with two layers yes": two and not one,
        "Yes, since": one and two,
        "No, neither": not one and not two,
        "With one layer yes, with two layers no": one and not two,
    }
