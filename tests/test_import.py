"""The front doors: what each of the three packages offers, and what its import does not drag in."""

import importlib.metadata
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import rope_book
import rope_doctor
import rope_edu
from rope_doctor import clinic
from rope_edu import attention, encodings

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = {"rope-edu": rope_edu, "rope-doctor": rope_doctor, "rope-book": rope_book}
PROJECTS = {"rope-edu": ".", "rope-doctor": "doctor", "rope-book": "book"}
HEAVY = ["torch", "numba", "matplotlib", "ipywidgets", "anywidget", "IPython", "transformers"]


def said(code: str) -> str:
    """Return what a fresh Python prints."""
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()


@pytest.mark.parametrize("package", ["rope_edu", "rope_doctor", "rope_book"])
def test_importing_a_package_brings_in_no_heavy_one(package):
    assert said(f"import {package}, sys; print([name for name in {HEAVY} if name in sys.modules])") == "[]"


@pytest.mark.parametrize(
    ("package", "brings"),
    [
        ("rope_edu", ["array_api_compat", "numpy", "rope_edu"]),
        ("rope_doctor", ["array_api_compat", "numpy", "rope_doctor", "rope_edu"]),
    ],
)
def test_importing_library_or_doctor_needs_numpy_and_array_api_compat_and_nothing_else(package, brings):
    code = (
        f"import sys; before = set(sys.modules); import {package};"
        "new = {name.partition('.')[0] for name in set(sys.modules) - before};"
        "new = {name for name in new if getattr(sys.modules.get(name), '__file__', None)};"  # not built in
        "print(sorted(new - sys.stdlib_module_names))"
    )
    assert said(code) == str(brings)


def test_the_room_that_needs_torch_says_so_where_there_is_none():
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "try: import rope_edu.nn\nexcept ModuleNotFoundError as error: print(error)"
    )
    assert said(code).startswith("rope_edu.nn needs torch (torch is missing): pip install torch")


def test_the_figures_say_what_they_need_where_it_is_missing():
    code = (
        "import sys; sys.modules['anywidget'] = None\n"
        "try: import rope_book.widgets\nexcept ModuleNotFoundError as error: print(error)"
    )
    assert (
        said(code) == "live figures need anywidget, which is not installed: pip install anywidget ipywidgets"
    )


def test_no_message_names_a_package_of_ours_that_nobody_can_install_yet():
    for path in (
        path for package in PACKAGES.values() for path in Path(package.__file__).parent.rglob("*.py")
    ):
        assert 'pip install "rope' not in path.read_text(encoding="utf-8"), path


def test_numpy_arrays_are_rotated_without_importing_torch():
    code = (
        "import numpy as np, rope_edu as r, sys;"
        "x = r.apply_rope(np.ones((3, 4)), r.rope_angles(range(3), r.inv_freq(4)));"
        "r.attention.attention(x, x, x, mask=r.causal_mask(3, 3)); print('torch' in sys.modules)"
    )
    assert said(code) == "False"


@pytest.mark.parametrize("name", PACKAGES)
def test_the_three_packages_have_one_version_and_need_each_other_at_exactly_that(name):
    project = tomllib.loads((ROOT / PROJECTS[name] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    version = rope_edu.__version__
    assert PACKAGES[name].__version__ == project["version"] == importlib.metadata.version(name) == version
    ours = {need for need in project["dependencies"] if need.startswith("rope-")}
    order = list(PACKAGES)
    assert ours == {f"{other}=={version}" for other in order[: order.index(name)]}


@pytest.mark.parametrize("folder", ["doctor", "book"])
def test_each_package_carries_the_licence(folder):
    assert (ROOT / folder / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


@pytest.mark.parametrize("package", [rope_edu, rope_doctor], ids=lambda package: package.__name__)
def test_every_promised_name_is_there_and_promised_once(package):
    assert all(hasattr(package, name) for name in package.__all__)
    assert len(package.__all__) == len(set(package.__all__))


FIXED = (  # names that others rely on
    *("inv_freq", "wavelength", "rope_angles", "apply_rope", "RopeSpec"),
    *("sinusoidal", "t5_bucket", "alibi_slopes", "alibi_bias"),
)


def test_the_front_door_offers_what_others_rely_on_and_hardly_more_than_twenty_names():
    functions = [name for name in rope_edu.__all__ if callable(getattr(rope_edu, name))]
    assert set(FIXED) <= set(functions)
    assert len(functions) <= 25
    assert callable(rope_edu.fast.rotate)
    assert callable(rope_edu.fast.RotaryTable)
    assert {"read_config", "rope_from_config", "diagnose"} <= set(rope_doctor.__all__)


@pytest.mark.parametrize("room", [encodings, attention, clinic], ids=lambda room: room.__name__)
def test_every_public_name_of_a_room_is_there_has_a_doctest_and_names_its_chapter(room):
    for name in room.__all__:
        thing = getattr(room, name)
        if callable(thing):
            assert ">>>" in thing.__doc__, name
            assert "hapter" in thing.__doc__, name
