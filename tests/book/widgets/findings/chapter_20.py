"""Chapter 20: scores of patches five away."""

from rope_book.widgets import PatchScores
from rope_book.widgets.patch_scores import score_of


def base():
    figures = [PatchScores(base=base) for base in (10.0, 100.0, 10_000.0)]
    crosses = [min(figure.in_row, figure.in_column) > figure.in_both for figure in figures]
    return {
        "gets narrower or wider": all(crosses),
        "a base that is small enough": not crosses[0],
        "all patches score alike": crosses[0] and not crosses[-1],
    }


def mixed():
    figure = PatchScores(scheme="mixed", direction=45)
    away = {
        "5 to the right": (0, 5),
        "8 to the right": (0, 8),
        "5 down": (5, 0),
        "5 to the right and 5 down": (5, 5),
    }
    scores = {place: score_of(figure, *steps) for place, steps in away.items()}
    return {place: score == max(scores.values()) for place, score in scores.items()}


def contiguous():
    figure = PatchScores(scheme="contiguous")
    return {
        "A band along the row": figure.in_row > figure.in_column + 0.1,
        "A band along the column": figure.in_column > figure.in_row + 0.1,
        "The same cross": abs(figure.in_row - figure.in_column) <= 0.1,
    }


def interleaved():
    dealt, axial = (PatchScores(scheme=scheme) for scheme in ("interleaved", "axial"))
    apart = max(abs(dealt.in_row - axial.in_row), abs(dealt.in_column - axial.in_column))
    return {
        "Almost the axial cross": 0 < apart < 0.1,
        "Exactly the axial cross": apart == 0,
        "A band again": apart >= 0.1,
    }
