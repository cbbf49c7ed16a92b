"""Known mistakes, and more right answers, of chapter 18."""

import numpy as np
from solutions import answers_of

SOLUTION = answers_of("chapter_18")


report = SOLUTION["18.3"]


def peeks(tuning, test):
    which = int(np.argmin(test))
    return which, test[which], 0.0


def by_median(a, b):
    return "a" if np.median(a) > np.median(b) else "b"


ALSO_RIGHT = {
    "18.2": [(4096, 128, 0.0078, 0.25)],
}
WRONG = {
    "18.1": [
        (lambda overall, at_trained, times: overall, "in the mean, not 0.75"),
        (
            lambda overall, at_trained, times: overall - at_trained,
            "a piece with 1 and 1 with -0.25 have 0.375",
        ),
        (lambda overall, at_trained, times: (times * overall - at_trained) / times, "in the mean, not 0.75"),
        (lambda overall, at_trained, times: (overall, at_trained), "It must return one share."),
    ],
    "18.2": [
        ((128, 4096, 0.25, 1 / 128), "it comes first"),
        ((4096, 131072, 1 / 128, 0.25), "fewer tokens, not more"),
        ((4096, 128, 128, 4), "32 over the wavelength"),
        ((4096, 128, 1, 32), "How many turns of such a wavelength"),
        ((1, 32, 1, 32), "how many tokens does one turn take"),
    ],
    "18.3": [
        (peeks, "That looks at the test texts."),
        (lambda tuning, test: (report(tuning, test)[0], min(tuning), 0), "That is the tuning loss."),
        (lambda tuning, test: (*report(tuning, test)[:2], -report(tuning, test)[2]), "at least 0"),
        (lambda tuning, test: (*report(tuning, test)[:2], 9.0), "peeking would state"),
        (lambda tuning, test: (1 + report(tuning, test)[0], 0, 0), "it chooses"),
        (lambda tuning, test: (0, test[0], test[0] - min(test)), "it chooses 0"),  # always the first setting
        (lambda tuning, test: (min(test), 0, 0), "First comes the setting, from 0."),
        (lambda tuning, test: report(tuning, test)[:2], "It must return three numbers"),
    ],
    "18.4": [
        (by_median, "and p ="),
        (lambda a, b: "open", "and p ="),
        (lambda a, b: True, 'It must return "a", "b" or "open".'),
    ],
}
