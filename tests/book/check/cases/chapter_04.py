"""Known mistakes, and more right answers, of chapter 4."""

import math

from solutions import answers_of

SOLUTION = answers_of("chapter_04")


rotate = SOLUTION["4.1"]


def mirrored(pair, angle):
    x, y = pair
    c, s = math.cos(angle), math.sin(angle)
    return (x * c + y * s, x * s - y * c)


def to_unit_length(pair, angle):
    x, y = pair
    return rotate((x / math.hypot(x, y), y / math.hypot(x, y)), angle)


ALSO_RIGHT = {
    "4.3": [(5, 0), (20, 3)],
}
WRONG = {
    "4.1": [
        (lambda pair, angle: rotate(pair, -angle), "It turns clockwise"),
        (lambda pair, angle: rotate(pair, math.radians(angle)), "It reads the angle as degrees"),
        (mirrored, "It is a reflection"),
        (lambda pair, angle: pair, "It leaves (1, 0) as it is."),
        (lambda pair, angle: None, "It returned nothing"),
        (lambda pair, angle: rotate(pair, angle)[0], "It must return the new pair"),
        (lambda pair: pair, "It is called with 2 arguments"),
        ((0.0, 1.0), "The answer is a function"),
        (to_unit_length, "(3.0, -2.0) turned by 0.70 comes out wrong."),
    ],
    "4.2": [
        (-0.5, "The size is right, the sign is not."),
        (0.0, "their score without positions"),
        (math.cos(math.pi / 6), "q against itself"),
        ("0.5", "A number has no quotes."),
    ],
    "4.3": [
        ((10, 6), "There m − n is 4, and 9 − 4 = 5."),
        ((5, 10), "There the key comes after the query"),
        ((15, 4), "Both positions must differ"),
        ((-1, -6), "Positions are whole numbers, 0 or more."),
        ((10.5, 5.5), "Positions are whole numbers, 0 or more."),
        (5, "The answer is two positions"),
    ],
}
