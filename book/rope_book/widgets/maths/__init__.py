"""Mathematics that only the figures need, such as word vectors, made-up tables and candidate derivations.

The modules need only NumPy. Most have a counterpart with the same name in ``js/maths`` and are tested against it.
"""
