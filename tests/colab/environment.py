"""An environment like Colab's, and the setup cells as a reader's notebook has them."""

import json
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import address

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


@dataclass
class Colab:
    """An environment as Colab has it, without our packages: its Python, and whether torch is there."""

    python: Path
    torch: str | None

    @property
    def variables(self) -> dict[str, str]:
        """Return the variables with which this Python does not see the working tree."""
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "MPL"))}
        return kept | {"PYTHONNOUSERSITE": "1"}

    def run(self, *arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess:
        """Run this environment's Python, out of sight of the working tree."""
        command = [str(self.python), *arguments]
        return subprocess.run(command, cwd=cwd, env=self.variables, capture_output=True, text=True)

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
