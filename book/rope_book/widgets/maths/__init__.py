"""The mathematics that only figures need: words as vectors, made-up tables and candidate derivations.

NumPy only. As in the library, each module has a counterpart with the same name in ``js/maths``, which is tested
against it.
"""
