"""The mathematics that only figures need: words as vectors, made-up tables and candidate derivations.

NumPy only. Like the library's files, each has a counterpart of the same name in ``js/maths``, tested against it.
"""
