"""The palette: each colour has one meaning throughout the book.

The colours are Okabe and Ito's, safe for common forms of colour blindness. Lines never rely on colour alone: every
series has a distinct dash pattern and marker, for print and greyscale.
"""

QUERY = "#0072B2"  # blue: queries, rotated or not
KEY = "#D55E00"  # vermilion: keys
POSITION = "#009E73"  # bluish green: positions and their angles
SCORE = "#CC79A7"  # reddish purple: attention scores and weights
VALUE = "#56B4E9"  # sky blue: values and attention outputs
NEUTRAL = "#6E6E6E"  # grey: axes, references, and everything without a role

# The colours of the context-extension rules, which are the same in the live figures.
RULES = {
    "rope": NEUTRAL,
    "pi": "#B87800",
    "ntk-aware": "#6A4FB3",
    "abf": "#7A5230",
    "ntk-by-parts": "#6B7A00",
    "yarn": "#A3123F",
    "llama3": "#00798C",
}

DARK_INK, LIGHT_INK = "#101010", "#f8f8f8"  # text on heatmaps, in every page theme

SEQUENTIAL = "viridis"  # heatmaps from low to high
DIVERGING = "PuOr_r"  # heatmaps of signed numbers; zero, in the middle, is blank

# Styles for series without a role: a colour that no role uses, a dash pattern and a marker.
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
# One per bar, to distinguish bars in greyscale. Dots would cost 35 kB in each plot.
HATCHES = ("", "//", "||", "xx", "\\\\", "--", "++", "/")

SMALL = (3.6, 2.9)  # in inches; 360 px at 100 dpi, the width of the narrowest supported page
FONT = 8  # in points; 11 px at 100 dpi
