"""The files that the command hands out: written by the packages, each line as it says, also from wheels alone."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from wheels import wheels

from makers import examples
from rope_doctor.__main__ import main
from rope_doctor.command.examples import adapters
from rope_doctor.command.hand_out import TRIES, contents

ROOT = Path(__file__).resolve().parents[3]
NEEDS = ("numpy", "numpy.libs", "array_api_compat")  # where they are


@pytest.fixture
def handed_out(tmp_path, monkeypatch):
    """A current folder with the files."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert main(["examples", "."]) == 0
    yield tmp_path
    for name in ("rotation", "decoder", "live"):
        sys.modules.pop(name, None)


def status_of(line):
    try:
        return main(line.split())
    except SystemExit as end:  # argparse's own
        return end.code


def test_the_files_are_those_that_the_packages_write(tmp_path):
    """Where this fails, run `python -m makers.examples` in book/."""
    examples.write(tmp_path)
    made = {path.relative_to(tmp_path).as_posix(): path for path in tmp_path.rglob("*.*") if path.is_file()}
    kept = contents()
    assert {name for name in kept if not name.endswith(".py")} == set(made)
    for name, path in made.items():
        assert path.read_bytes() == kept[name], name
    assert sum(map(len, kept.values())) < 11_000


def test_every_command_has_lines_of_each_status():
    seen = {(line.split()[0], status) for line, status, _ in TRIES}
    commands = {"compare", "weights", "diagnose", "vectors", "decode", "model"}
    assert seen == {(name, status) for name in commands for status in (0, 1, 2)} | {("read", 0), ("read", 2)}


@pytest.mark.parametrize(("line", "status", "about"), TRIES, ids=[line for line, *_ in TRIES])
def test_a_line_has_the_status_that_is_printed_behind_it(line, status, about, handed_out):
    if line.startswith("model"):
        pytest.importorskip("torch")
    assert status_of(line) == status


def test_names_and_lines_are_printed_as_text_and_as_json(handed_out, capsys):
    assert main(["examples"]) == 0
    printed = capsys.readouterr().out
    assert all(f"  {name}\n" in printed for name in contents())
    assert all(f"  rope-doctor {line} " in printed for line, *_ in TRIES)
    assert main(["examples", "new", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["folder"], found["files"]) == ("new", list(contents()))
    assert [(each["line"], each["status"]) for each in found["try"]] == [
        (f"rope-doctor {line}", status) for line, status, _ in TRIES
    ]
    assert {path.name for path in Path("new").iterdir()} == {name.split("/")[0] for name in contents()}


def test_a_file_of_somebody_is_not_written_over(handed_out, capsys):
    assert main(["examples", "."]) == 0  # the same files once more
    Path("config.json").write_text("{}")
    Path("lost.gguf").unlink()
    assert main(["examples", "."]) == 2
    assert "config.json exists already" in capsys.readouterr().out
    assert Path("config.json").read_text() == "{}"
    assert not Path("lost.gguf").exists()


class Session:
    """A session whose model has one layer with a head of width 4, and which notes its positions and masks."""

    def __init__(self, fed):
        self.fed = fed

    def get_inputs(self):
        return [SimpleNamespace(name="past_key", shape=("batch", 1, "past", 4))]

    def run(self, names, feed):
        self.fed.append((feed["position_ids"].tolist(), feed["attention_mask"].tolist()))
        rows, tokens = feed["input_ids"].shape
        key = np.concatenate((feed["past_key"], np.zeros((rows, 1, tokens, 4))), axis=2)
        return np.zeros((rows, tokens, 5)), key


def in_jax(fed):
    def apply(tokens, positions, mask, cache):
        fed.append((np.asarray(positions).tolist(), mask.tolist()))
        return np.zeros((*tokens.shape, 5)), {"count": cache["count"] + tokens.shape[1]}

    return apply, lambda rows: {"count": 0}


@pytest.mark.parametrize(
    "made",
    [
        lambda fed: adapters.of_onnxruntime(Session(fed), vocabulary=5),
        lambda fed: adapters.of_jax(*in_jax(fed), vocabulary=5),
    ],
    ids=["ONNX Runtime", "JAX"],
)
def test_an_adapted_decoder_gets_positions_that_go_on_after_its_cache_unless_they_are_given(made):
    fed = []
    decoder = made(fed).call
    _, cache = decoder(np.zeros((2, 3), int))
    decoder(np.zeros((2, 1), int), cache=cache)
    decoder(np.zeros((2, 1), int), cache=cache, positions=[[7], [8]])
    assert fed == [(2 * [[0, 1, 2]], 2 * [3 * [1]]), (2 * [[3]], 2 * [4 * [1]]), ([[7], [8]], 2 * [4 * [1]])]


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """An environment with the wheels of library and doctor and what these depend on: NumPy and array-api-compat."""
    made = tmp_path_factory.mktemp("made")
    two = wheels(ROOT, made, "--no-build-isolation", "--no-index", packages=("rope_edu", "rope_doctor"))
    venv.create(made / "env", symlinks=os.name != "nt")
    scripts = made / "env" / ("Scripts" if os.name == "nt" else "bin")
    pip = [sys.executable, "-m", "pip", "--quiet", "--python", scripts / "python", "install", "--no-compile"]
    subprocess.run([*pip, "--no-deps", "--no-index", *two], check=True)
    [site] = (made / "env").rglob("site-packages")
    there = Path(importlib.util.find_spec("numpy").origin).parents[1]
    for name in NEEDS:
        if (there / name).exists():
            try:
                (site / name).symlink_to(there / name, target_is_directory=True)
            except OSError:  # on Windows this is a privilege
                shutil.copytree(there / name, site / name)
    return scripts / "rope-doctor", made


@pytest.mark.nightly
def test_each_command_runs_on_an_example_from_the_wheels_alone(alone):
    command, folder = alone
    bare = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COV"))}

    def run(line, where="files"):
        done = subprocess.run(
            [command, *line.split()], cwd=folder / where, env=bare, capture_output=True, text=True
        )
        assert "Traceback" not in done.stderr, done.stderr
        return done.returncode, done.stdout

    assert run("--help", "")[1].startswith("usage: rope-doctor")
    assert run("examples files", "")[0] == 0
    for line, status, _ in TRIES:
        found, printed = run(line)
        if line.startswith("model"):
            assert (found, "No module named 'torch'" in printed) == (2, True)
            break  # the others are the same
        assert found == status, line
