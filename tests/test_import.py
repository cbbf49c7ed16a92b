"""The front door: what `import rope_edu` offers, and what it does not drag in."""

import importlib.metadata
import subprocess
import sys

import pytest

import rope_edu

HEAVY = ["torch", "numba", "matplotlib", "ipywidgets", "anywidget", "IPython", "transformers"]


def test_importing_the_library_brings_in_no_heavy_package():
    code = f"import rope_edu, sys; print([name for name in {HEAVY} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_importing_the_library_needs_numpy_and_array_api_compat_and_nothing_else():
    code = (
        "import sys; before = set(sys.modules); import rope_edu;"
        "new = {name.partition('.')[0] for name in set(sys.modules) - before};"
        "new = {name for name in new if getattr(sys.modules.get(name), '__file__', None)};"  # not built in
        "print(sorted(new - sys.stdlib_module_names))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "['array_api_compat', 'numpy', 'rope_edu']"
    assert "need NumPy and array-api-compat" in rope_edu.__doc__.replace("\n", " ")


def test_the_room_that_needs_torch_says_so_where_there_is_none():
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "try: import rope_edu.nn\nexcept ModuleNotFoundError as error: print(error)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.startswith("rope_edu.nn needs the torch extra (torch is missing): pip install")


def test_numpy_arrays_are_rotated_without_importing_torch():
    code = (
        "import numpy as np, rope_edu as r, sys;"
        "x = r.apply_rope(np.ones((3, 4)), r.rope_angles(range(3), r.inv_freq(4)));"
        "r.attention.attention(x, x, x, mask=r.causal_mask(3, 3)); print('torch' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "False"


def test_version_is_the_one_that_is_installed():
    assert rope_edu.__version__ == importlib.metadata.version("rope-edu")


@pytest.mark.parametrize("name", rope_edu.__all__)
def test_every_promised_name_is_there(name):
    assert hasattr(rope_edu, name)


def test_no_name_is_promised_twice():
    assert len(rope_edu.__all__) == len(set(rope_edu.__all__))


FIXED = (  # names that others rely on
    *("inv_freq", "wavelength", "rope_angles", "apply_rope", "RopeSpec"),
    *("sinusoidal", "t5_bucket", "alibi_slopes", "alibi_bias"),
)


def test_the_front_door_offers_what_others_rely_on_and_hardly_more_than_twenty_names():
    functions = [name for name in rope_edu.__all__ if callable(getattr(rope_edu, name))]
    assert set(FIXED) <= set(functions)
    assert len(functions) <= 25
    assert callable(rope_edu.clinic.diagnose)
    assert callable(rope_edu.fast.rotate)
    assert callable(rope_edu.fast.RotaryTable)


@pytest.mark.parametrize(
    "room", [rope_edu.encodings, rope_edu.attention, rope_edu.clinic], ids=lambda room: room.__name__
)
def test_every_public_name_of_a_room_is_there_has_a_doctest_and_names_its_chapter(room):
    for name in room.__all__:
        thing = getattr(room, name)
        if callable(thing):
            assert ">>>" in thing.__doc__, name
            assert "hapter" in thing.__doc__, name
