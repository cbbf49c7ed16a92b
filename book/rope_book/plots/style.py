"""The palette: one colour, one meaning, through the whole book.

The colours are Okabe and Ito's, which people with the common colour-blindnesses tell apart. Lines never
rely on colour alone: each also has a dash pattern and a marker of its own, for print and greyscale.
"""

QUERY = "#0072B2"  # blue: queries, rotated or not
KEY = "#D55E00"  # vermilion: keys
POSITION = "#009E73"  # bluish green: positions and their angles
SCORE = "#CC79A7"  # reddish purple: attention scores and weights
VALUE = "#56B4E9"  # sky blue: values, and what attention puts out
NEUTRAL = "#6E6E6E"  # grey: axes, references, and all that has no role

# Each rule that stretches a context, by its name in figures, which take the same colours.
RULES = {
    "rope": NEUTRAL,
    "pi": "#B87800",
    "ntk-aware": "#6A4FB3",
    "abf": "#7A5230",
    "ntk-by-parts": "#6B7A00",
    "yarn": "#A3123F",
    "llama3": "#00798C",
}

DARK_INK, LIGHT_INK = "#101010", "#f8f8f8"  # numbers on a field, whatever the theme of the page

SEQUENTIAL = "viridis"  # fields from low to high
DIVERGING = "PuOr_r"  # numbers with a sign: zero, in the middle, is blank

# Series without a role: colours that no role uses, each with its own dash pattern and marker.
SERIES = (
    ("#000000", "-", "o"),
    ("#E69F00", "--", "s"),
    (NEUTRAL, "-.", "^"),
    ("#000000", ":", "D"),
    ("#E69F00", (0, (5, 1, 1, 1, 1, 1)), "v"),
    (NEUTRAL, (0, (1, 1)), "x"),
    ("#000000", (0, (7, 3)), "P"),
    ("#E69F00", (0, (3, 1, 1, 1)), "*"),
)
HATCHES = ("", "//", "..", "xx", "\\\\", "oo", "--", "++")  # for bars, as dashes are for lines

SMALL = (3.6, 2.9)  # inches: 360 px wide at 100 dots an inch, the narrowest page that we serve
FONT = 8  # points: 11 px at 100 dots an inch
