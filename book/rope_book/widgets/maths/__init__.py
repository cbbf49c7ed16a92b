"""Numbers that figures need and the library does not: words as vectors, made-up tables, ideas on trial.

NumPy only. ``js/maths`` has a file of the same name for each, as for the library's files, and is held to them.
"""
