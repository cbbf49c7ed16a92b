"""What the README says to type works as it stands."""

import re
import shutil
import subprocess
import sys
import threading
import tomllib
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import numpy as np
import pytest

import rope_edu

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PACKAGES = {"rope_edu": ROOT, "rope_doctor": ROOT / "doctor", "rope_book": ROOT / "book"}
CODE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_readme_can_be_read_in_three_minutes():
    assert len(README.split()) <= 600
    assert len((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split()) <= 1300
    assert len((ROOT / "book" / "decisions.md").read_text(encoding="utf-8").split()) <= 2500


def test_its_twenty_lines_are_rope():
    (code,) = CODE.findall(README)
    names: dict = {}
    exec(code, names)
    q, k, angles = names["q"], names["k"], names["rope_angles"](np.arange(16) + 100, names["inv_freq"](64))
    far = names["apply_rope"](q, angles) @ names["apply_rope"](k, angles).T
    np.testing.assert_allclose(far, names["scores"], atol=1e-11)  # 64 terms of size 10, angles to 115 rad
    ours = rope_edu.apply_rope(q, rope_edu.rope_angles(range(16), rope_edu.inv_freq(64)))
    np.testing.assert_allclose(names["apply_rope"](q, names["angles"]), ours, atol=1e-13)


def test_its_picture_is_there_light_and_dark():
    pictures = re.findall(r'(?:srcset|src)="([^"]+)"', README)
    assert pictures == [".github/rail-dark.svg", ".github/rail-light.svg"]
    assert all((ROOT / name).read_text(encoding="utf-8").startswith("<svg") for name in pictures)


def test_what_it_says_of_folders_is_there_in_a_dozen_lines():
    named = re.findall(r"^ {4}(\w+/) {2,}\S", README.partition("## Where things are")[2], re.MULTILINE)
    assert 5 <= len(named) <= 12
    assert all((ROOT / name).is_dir() for name in named)


def test_every_link_within_the_repository_leads_somewhere():
    for page in (README, (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")):
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page):
            assert (ROOT / target).exists(), target


@pytest.mark.parametrize("package", PACKAGES)
def test_the_readme_of_a_wheel_has_no_link_that_breaks_elsewhere(package):
    folder = PACKAGES[package]
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    text = (folder / project["readme"]).read_text(encoding="utf-8")
    assert text.startswith(f"# {project['name']}\n")
    assert not re.search(r"\]\((?!https?:)|(?:src|href)=\"(?!https?:)", text)


def test_the_readme_of_the_library_runs_when_it_is_pasted():
    names: dict = {}
    for code in CODE.findall((ROOT / "rope_edu" / "README.md").read_text(encoding="utf-8")):
        exec(code, names)
    assert names["q"].shape == names["k"].shape == (8, 16, 64)


@pytest.mark.parametrize("folder", ["doctor", "book"])
def test_what_a_folders_readme_names_is_there(folder):
    text = (ROOT / folder / "README.md").read_text(encoding="utf-8")
    named = re.findall(r"^ {4}([\w./]+(?:/|\.py)) {2,}\S", text, re.MULTILINE)
    assert len(named) >= 7
    assert all((ROOT / folder / name).exists() for name in named), named


@pytest.mark.parametrize("room", ["rope_edu", "doctor/rope_doctor", "book/rope_book"])
def test_the_docstring_of_a_package_names_each_of_its_rooms(room):
    folder = ROOT / room
    named = set(re.findall(r"^(\w+)(?:/|\.py) ", (folder / "__init__.py").read_text("utf-8"), re.MULTILINE))
    there = {
        path.stem for path in folder.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert named == there - {"__init__", "__main__"}


@pytest.mark.parametrize("folder", ["makers", "tools", "extensions"])
def test_the_readme_of_a_folder_of_scripts_has_a_line_for_each(folder):
    there = {path.name for path in (ROOT / "book" / folder).glob("*.py")} - {"__init__.py"}
    text = (ROOT / "book" / folder / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^- `(\w+\.py)`", text, re.MULTILINE)) == there


def test_every_make_target_that_is_named_exists():
    targets = set(
        re.findall(r"^([a-z]+):.*##", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    )
    pages = README + (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = set(re.findall(r"(?:`|^ {4})make ([a-z]+)", pages, re.MULTILINE))
    assert {"serve", "test", "lab", "check"} <= named <= targets


class Index(BaseHTTPRequestHandler):
    """Answers like an index of packages."""

    def do_GET(self):
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        """Say nothing."""


def planned(index: str, *path: Path) -> str:
    """Return the commands with which make would install what the tests need."""
    tools = ":".join([*map(str, path), "/usr/bin", "/bin"])
    command = [
        "make",
        "--dry-run",
        "--always-make",
        f"PYTHON={sys.executable}",
        f"CPU_BUILDS={index}",
        ".venv/test",
    ]
    run = subprocess.run(command, cwd=ROOT, env={"PATH": tools}, capture_output=True, text=True, check=True)
    return run.stdout


@pytest.mark.skipif(not shutil.which("make"), reason="needs make")
def test_make_offers_cpu_builds_of_torch_where_no_gpu_is_seen_and_the_index_answers(tmp_path):
    server = HTTPServer(("127.0.0.1", 0), Index)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    index = f"http://127.0.0.1:{server.server_port}"
    try:
        if not shutil.which("nvidia-smi", path="/usr/bin:/bin"):
            assert f"--extra-index-url {index} --editable" in planned(index)
        (tmp_path / "nvidia-smi").write_text("#!/bin/sh\n")
        (tmp_path / "nvidia-smi").chmod(0o755)
        assert index not in planned(index, tmp_path)
    finally:
        server.shutdown()
        server.server_close()
    assert index not in planned(index)  # nobody answers now
