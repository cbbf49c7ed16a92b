"""Chapter 5: which of the six lines a candidate breaks."""

from rope_book.widgets import ComplexPlane


def _broken(candidate):
    return {line for line in range(1, 7) if ComplexPlane(candidate=candidate, line=line).excess}


def grow():
    broken = _broken("grow") & {3, 4, 5}
    return {
        "Line 3 alone": broken == {3},
        "Lines 3 and 5": broken == {3, 5},
        "All three": broken == {3, 4, 5},
        "None": not broken,
    }


def square():
    broken = _broken("square")
    return {"Yes, *q* and *k*": 4 not in broken, "not a function of the distance": 4 in broken}


def mirror():
    broken = _broken("mirror") - {6}
    return {
        "Lines 2, 4 and 5": broken == {2, 4, 5},
        "None": not broken,
        "Line 3 alone": broken == {3},
        "Line 5 alone": broken == {5},
    }
