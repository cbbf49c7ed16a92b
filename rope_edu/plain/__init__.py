"""The whole subject as plain functions of at most ten lines on NumPy arrays; read the files in this order.

frequencies.py   how fast each pair of features turns, and its angle at each position
absolute.py      add a vector for each position to the word's vector: from a learned table, or sinusoids
relative.py      add a term to each score by distance: Shaw, T5, ALiBi, KERPLE, FIRE, Transformer-XL
rotary.py        RoPE: one pair rotated, then a head in three equal ways, and the score as a function of distance
dot_product.py   softmax attention with four doors for position, in heads, with a cache
layouts.py       the other choice of pairs, and how to convert vectors and weights to it
partial.py       rotate some features, or keep the slow pairs still
xpos.py          rotate, and let far keys count less
spatial.py       rotate by height and width of an image, or by time, height and width in a video
scaling.py       frequencies for texts longer than any in training: PI, ABF, NTK, YaRN, Llama 3, LongRoPE
rerope.py        cap the distance at a window instead
base_bound.py    the smallest base for a context
linear.py        linear attention with RoPE: a sum that is carried along replaces the softmax
latent.py        MLA: content and position in separate keys

A head of attention compares a query q with each key k, both of head_dim features: their dot product is a score, a
softmax turns scores into weights, and the weights mix the values v. Each docstring is the equation and its source.
There m is the query's position and n the key's (i and j in relative.py), d is head_dim, b the base, θ_i the
frequency of pair i (`inv_freq` in code), R_m the rotation by m θ_i in each pair; in scaling.py s is the factor and
L the trained length. Comments give shapes: seq tokens, pairs = head_dim / 2. Positions count from 0, angles are
radians, counter-clockwise, and a pair is two neighbouring features unless a name says half_split. Nothing is
checked here: `rope_edu.encodings` and `rope_edu.attention` add checks, options and PyTorch.
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
