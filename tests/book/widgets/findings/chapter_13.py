"""Chapter 13: medians of the race."""

from rope_book.results import load_grid


def _right(task, encoding, times=1):
    """Return the median share of right answers (%), on texts of `times` the trained length."""
    grid = load_grid()
    length = grid.test_lengths(task)[0] * times
    return 100 * grid.accuracy(task, encoding, length).median


def _learned(task, times=1):
    return {name for name in ("rotary", "sinusoidal", "none") if _right(task, name, times) > 75}


def longer():
    able = _learned("back", 2)
    return {
        "Rotary does": able == {"rotary"},
        "All three": len(able) == 3,
        "NoPE, which": able == {"none"},
        "Sinusoidal too": able == {"rotary", "sinusoidal"},
    }


def recall():
    able = _learned("recall")
    return {
        "Rotary alone": able == {"rotary"},
        "None, since": not able,
        "Rotary and sinusoidal": able == {"rotary", "sinusoidal"},
        "All three": len(able) == 3,
    }


def count():
    trained, twice = (_right("clock", "rotary", times) > 75 for times in (1, 2))
    return {
        "within the trained length": trained and not twice,
        "at any length": trained and twice,
        "cannot know a place": not trained,
    }


def copy():
    names = {"alibi": "ALiBi", "partial": "partial rotary", "shaw": "Shaw"}
    return [names[encoding] for encoding in sorted(names, key=lambda name: -_right("copy", name, 4))]
