"""The whole subject in plain NumPy functions of at most ten lines. Read the files in this order:

frequencies.py   how fast each pair of features turns, and its angle at each position
absolute.py      a vector for each position, added to the token's embedding: a learned table, or sinusoids
relative.py      a term added to the score for each distance: Shaw, T5, ALiBi, KERPLE, FIRE, Transformer-XL
rotary.py        RoPE: rotate one pair, then a head in three equivalent ways; the score as a function of distance
dot_product.py   softmax attention with four doors for position, in heads, with a cache
layouts.py       the other way to pair features, and how to convert vectors and weights to it
partial.py       rotate only some features, or only the fast pairs
xpos.py          rotate, and weaken the scores of distant keys
spatial.py       rotate by the height and width of an image, or the time, height and width of a video
scaling.py       frequencies for texts longer than those in training: PI, ABF, NTK, YaRN, Llama 3, LongRoPE
rerope.py        keep the frequencies, and cap the distance at a window
base_bound.py    the smallest base for a given context length
linear.py        linear attention with RoPE: running sums replace the softmax
latent.py        MLA: separate keys for content and position

An attention head compares a query q with every key k, both with head_dim features: their dot product is a score, a
softmax turns the scores into weights, and the output is the weighted sum of the values v. Each docstring is an
equation and its source. In it, m is the query's position and n the key's (i and j in relative.py), d is head_dim, b
is the base, θ_i is the frequency of pair i (`inv_freq` in code), and R_m rotates pair i by m θ_i; in scaling.py s
is the factor and L the trained length. Comments give shapes: seq tokens, pairs = head_dim / 2. Positions count from
0, and angles are in radians, counter-clockwise. A pair is two neighbouring features unless a name says half_split.
These functions check nothing: `rope_edu.encodings` and `rope_edu.attention` add checks, options and PyTorch.
"""

from rope_edu.plain.absolute import *
from rope_edu.plain.base_bound import *
from rope_edu.plain.dot_product import *
from rope_edu.plain.frequencies import *
from rope_edu.plain.latent import *
from rope_edu.plain.layouts import *
from rope_edu.plain.linear import *
from rope_edu.plain.partial import *
from rope_edu.plain.relative import *
from rope_edu.plain.rerope import *
from rope_edu.plain.rotary import *
from rope_edu.plain.scaling import *
from rope_edu.plain.spatial import *
from rope_edu.plain.xpos import *
