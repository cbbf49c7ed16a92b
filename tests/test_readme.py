"""What the README says to type works as it stands."""

import re
import shutil
import subprocess
import sys
import textwrap
import threading
import tomllib
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
    "optional-dependencies"
]
BLOCKS = re.findall(r"(?:^ {6}.*\n|^\n(?= {6}))+", README, flags=re.MULTILINE)
EXAMPLES = [block for block in map(textwrap.dedent, BLOCKS) if "import " in block]


def test_the_readme_has_its_two_examples():
    assert len(EXAMPLES) == 2


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda text: text.split("from ")[-1].split()[0])
def test_an_example_runs_when_it_is_pasted(example):
    names = {}
    exec(example, names)
    assert names["q"].shape == names["k"].shape == (8, 16, 64)


def mapped() -> list[str]:
    """Paths that the file map names, by its indents."""
    lines = re.findall(r"^ {4}( *)([\w./]+) {2,}\S", README.partition("## Where things are")[2], re.MULTILINE)
    paths, folders = [], {}
    for indent, name in lines:
        folders[len(indent)] = name.rstrip("/")
        paths.append("/".join(folders[depth] for depth in sorted(folders) if depth <= len(indent)))
        folders = {depth: folder for depth, folder in folders.items() if depth <= len(indent)}
    return paths


@pytest.mark.parametrize("path", mapped())
def test_what_the_file_map_names_is_there(path):
    assert (ROOT / path).exists()


def test_the_file_map_has_every_module_of_the_library():
    library = ("plain", "encodings", "attention", "config", "clinic", "vectors", "fast", "nn")
    for room in (*library, "probes", "command"):
        for file in (ROOT / "rope_edu" / room).glob("*.py"):
            assert file.stem == "__init__" or f"rope_edu/{room}/{file.name}" in mapped(), file.name


def test_every_extra_that_is_named_exists():
    named = {extra for extras in re.findall(r'"\.\[([a-z,]+)\]"', README) for extra in extras.split(",")}
    assert {"notebooks", "book", "test"} <= named
    assert named <= set(EXTRAS)


def test_the_extra_for_notebooks_brings_what_opens_them():
    assert any(package.startswith("jupyterlab") for package in EXTRAS["notebooks"])


def test_every_make_target_that_is_named_exists():
    targets = set(
        re.findall(r"^([a-z]+):.*##", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    )
    named = set(re.findall(r"(?:`|^ {4})make ([a-z]+)", README, re.MULTILINE))
    assert {"serve", "test", "bench"} <= named <= targets
    listed = re.search(r"Makefile +(help · .+)", README)[1].split(" · ")
    assert targets - {"all"} <= set(listed) | {"help"}
    assert set(listed) <= targets


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
