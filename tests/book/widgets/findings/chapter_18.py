"""Chapter 18: answers of the small model in the page."""

from rope_book.widgets import ModelInThePage

from .reading import row


def _right(**state):
    """Return the shares of right answers at trained and at new positions (%)."""
    figure = ModelInThePage(**state)
    return figure.share_right, figure.share_right_beyond


def where():
    (trained,), (nearest,) = row("18", "as trained   ")[-1:], row("18", "mask: the nearest keys")
    by_parts = _right(rule="by-parts")[1]
    return {
        "Some far letters score higher": trained < 90 < min(nearest, by_parts),
        "as its position is new": nearest <= 90,
        "however they are turned": by_parts <= 90 < nearest,
    }


def pi():
    near, far = _right(rule="pi")
    return {
        "No, it breaks": near < 50 and far < 50,
        "that is what PI is for": near > 95 and far > 95,
        "Only beyond": near > 95 and far < 50,
        "a few mistakes remain": near > 95 and 50 <= far <= 95,
    }


def ramp():
    fitted, published, pi = (
        _right(rule=rule, **ends)[1]
        for rule, ends in (("by-parts", {}), ("by-parts", {"ramp_from": 1.0, "ramp_to": 32.0}), ("pi", {}))
    )
    return {
        "Worse": published < fitted - 20 and abs(published - pi) < 10,
        "Better": published > fitted,
        "The same": published == fitted,
    }


def short():
    by_parts, pi = (_right(times=1, rule=rule)[0] > 95 for rule in ("by-parts", "pi"))
    return {
        "By parts": by_parts and not pi,
        "All": by_parts and pi,
        "PI, since": pi and not by_parts,
        "None": not (pi or by_parts),
    }
