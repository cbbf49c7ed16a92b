"""The front door: what `import rope_edu` offers, and what it does not drag in."""

import importlib.metadata
import subprocess
import sys

import pytest

import rope_edu

HEAVY = ["torch", "matplotlib", "ipywidgets", "anywidget", "IPython", "transformers"]


def test_importing_the_library_brings_in_no_heavy_package():
    code = f"import rope_edu, sys; print([name for name in {HEAVY} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


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


@pytest.mark.parametrize("name", [name for name in rope_edu.__all__ if callable(getattr(rope_edu, name))])
def test_every_public_function_has_a_doctest_and_names_its_chapter(name):
    text = getattr(rope_edu, name).__doc__
    assert ">>>" in text
    assert "hapter" in text
