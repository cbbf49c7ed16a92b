"""What the tests with Colab's packages share: the environment, made once, and a Chromium."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import address
import pytest

from tests.colab.environment import (
    BRINGS,
    CPU_BUILDS,
    GITHUB,
    HERE,
    ROOT,
    Colab,
    answers,
    needs_torch,
    pins,
    setup_cells,
    torch_for,
)
from tests.pages.conftest import browser  # noqa: F401 (a fixture)


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
