"""The mathematics that only figures need: words as vectors, made-up tables, candidate derivations.

NumPy only. ``js/maths`` has a file of the same name for each, as for the library's files, and is tested against it.
"""
