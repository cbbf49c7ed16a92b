"""Build the wheels of the three packages and of the test vectors from copies, leaving the repository unchanged.

python book/tools/wheels.py FOLDER [pip's options]
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from outline import ROOT

# package: its folder in the repository, and the parts of it that its pyproject.toml packs
PACKAGES = {
    "rope_edu": (".", ("rope_edu", "LICENSE")),
    "rope_doctor": ("doctor", ("rope_doctor", "rope_doctor_pytest.py", "README.md", "LICENSE")),
    "rope_book": ("book", ("rope_book", "README.md", "LICENSE")),
}


def copied(root: Path, package: str, target: Path) -> Path:
    """Copy the sources of one package into a folder; return the folder."""
    folder, names = PACKAGES[package]
    for name in ("pyproject.toml", *names):
        source = root / folder / name
        if source.is_dir():
            shutil.copytree(source, target / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            target.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target / name)
    return target


def build(source: Path, target: Path, *options: str) -> None:
    """Build the wheel of a source folder."""
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", *options]
    subprocess.run([*command, "--wheel-dir", target, source], check=True)


def wheels(
    root: Path, target: Path, *options: str, packages: tuple[str, ...] = tuple(PACKAGES)
) -> list[Path]:
    """Build the wheels of the packages; return their paths, dependencies first."""
    with tempfile.TemporaryDirectory() as folder:
        for package in packages:
            build(copied(root, package, Path(folder) / package), target, *options)
    return [next(target.glob(f"{package}-*.whl")) for package in packages]


def vectors_wheel(root: Path, target: Path, *options: str) -> None:
    """Build the wheel of the test vectors, which has no dependencies, from their data and ``book/adopt``."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "source"
        shutil.copytree(root / "book" / "adopt", source, ignore=shutil.ignore_patterns("__pycache__"))
        for data in (root / "doctor" / "rope_doctor" / "vectors").glob("*.json"):
            shutil.copy(data, source / "rope_vectors")
        for name in ("runner.c", "runner.mjs"):
            shutil.move(source / name, source / "rope_vectors")
        shutil.copy(root / "LICENSE", source)
        build(source, target, *options)


if __name__ == "__main__":
    wheels(ROOT, Path(sys.argv[1]), *sys.argv[2:])
