"""The command's exit statuses, its JSON, and what the pages show of it."""

import json
import re
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path

import pytest

from rope_doctor.__main__ import main
from rope_doctor.command.hand_out import TRIES
from rope_doctor.config import preset

from .written import written

PAGES = Path(__file__).resolve().parents[3] / "book"
ROTATE = """
from rope_edu import apply_rope, inv_freq, rope_angles


def rotate(x, positions, *, layout="interleaved", rotary_dim=128, base=1e4, attention_factor=1.0):
    angles = rope_angles(positions, inv_freq(rotary_dim, base))
    return apply_rope(x, angles, layout=layout, attention_factor=attention_factor)
"""


@pytest.fixture
def folder(somebodys_module, tmp_path):
    """A current folder with Llama 3.1's config, its GGUF without the rule, and somebody's rotation."""
    somebodys_module("mymodel", ROTATE)
    config = preset("Llama 3.1 8B").config
    (tmp_path / "config.json").write_text(json.dumps(config))
    written(tmp_path / "model.gguf", {name: config[name] for name in config if name != "rope_scaling"})
    return tmp_path


def session(page, after=""):
    """Return the last command of a page's first session, and the text that it says is printed."""
    text = (
        (PAGES / page).read_text("utf-8").partition(after)[2] if after else (PAGES / page).read_text("utf-8")
    )
    found = re.search(r"```sh\n(.*?)```\n\n```text\n(.*?)```", text, re.DOTALL)
    return found[1].splitlines()[-1].split(), found[2]


@pytest.fixture
def tried(somebodys_module, tmp_path, capsys):
    """A current folder with the examples."""
    somebodys_module("decoder", "")  # and forgotten afterwards
    (tmp_path / "decoder.py").unlink()
    assert main(["examples", "."]) == 0
    assert capsys.readouterr().out.startswith("12 files")
    assert len(TRIES) == 20


def test_the_page_of_the_tool_begins_with_a_real_session(tried, capsys):
    command, printed = session("tool.md")
    assert main(command[1:]) == 1
    assert capsys.readouterr().out == printed
    assert len((PAGES / "tool.md").read_text("utf-8").split()) <= 700


def test_the_session_of_a_decoder_is_what_the_command_prints(tried, capsys):
    command, printed = session("tool.md", "## A model as it runs")
    assert main(command[1:]) == 1
    assert printed in capsys.readouterr().out


def test_the_readme_shows_the_session_of_the_tool(tried):
    text = (PAGES.parent / "README.md").read_text("utf-8")
    lines, _, printed = text.partition("## Diagnose a model")[2].partition("it could not tell\n\n")
    command, wanted = session("tool.md")
    assert " ".join(command) in lines
    assert "rope-doctor examples ../try && cd ../try" in lines
    assert printed.startswith(textwrap.indent(wanted, "    "))


def test_the_example_of_the_page_by_symptom_is_what_the_command_prints(folder, capsys):
    command, printed = session("wrong.md")
    Path("config.json").write_text(json.dumps(preset("Llama 2 7B").config))
    assert main(command[1:]) == 1
    assert capsys.readouterr().out == printed


def test_read_says_what_files_state_as_text_and_as_json(folder, capsys):
    assert main(["read", "config.json", "model.gguf"]) == 0
    printed = capsys.readouterr().out
    assert "rule              llama3, base 500000, factor 8\n" in printed
    assert "model.gguf: GGUF, llama\n" in printed
    assert main(["read", ".", "--json"]) == 0  # a checkpoint's folder
    [found] = json.loads(capsys.readouterr().out)
    assert found["layers"][0]["rule"] == "llama3"
    assert len(found["layers"][0]["inv_freq"]) == 64


def test_a_file_that_cannot_be_read_is_status_2_and_the_others_are_read(folder, capsys):
    Path("broken.gguf").write_bytes(b"GGUF\3")
    assert main(["read", "broken.gguf", "config.json"]) == 2
    printed = capsys.readouterr().out
    assert "broken.gguf: could not be read" in printed
    assert "llama3" in printed
    assert main(["compare", "config.json", "nowhere.json"]) == 2
    assert "Could not tell" in capsys.readouterr().out
    assert main(["compare", "config.json", "broken.gguf", "--json"]) == 2
    assert "it is truncated" in json.loads(capsys.readouterr().out)["could_not_tell"]


def test_compare_is_status_0_for_the_same_and_1_for_another(folder, capsys):
    assert main(["compare", "config.json", "config.json"]) == 0
    assert capsys.readouterr().out == "They rotate alike, up to 131072 tokens.\n10 of 10 checks ran.\n"
    assert main(["compare", "config.json", "model.gguf", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["alike"], found["differences"][0]["pair"]) == (False, 29)


def test_diagnose_takes_a_gguf_and_prints_json(folder, capsys):
    right = preset("Llama 2 7B").config
    written(folder / "right.gguf", right)  # llama.cpp pairs neighbours, as this rotation does
    assert main(["diagnose", "mymodel:rotate", "--config", "right.gguf"]) == 0
    assert "No known mistake." in capsys.readouterr().out
    assert main(["diagnose", "mymodel:rotate", "--config", "model.gguf", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["mistakes"] == ["other_base"]
    assert main(["diagnose", "mymodel:turn", "--config", "model.gguf"]) == 2
    assert capsys.readouterr().out.startswith("Could not tell: mymodel:turn is not found")


def test_vectors_run_and_print_json(folder, capsys):
    assert main(["vectors", "mymodel:rotate"]) == 0
    capsys.readouterr()
    assert main(["vectors", "mymodel:rotate", "--json"]) == 0
    assert all(case["passed"] for case in json.loads(capsys.readouterr().out))


def test_kinds_of_layers_are_printed_and_those_that_do_not_rotate(folder, capsys):
    for name in (
        "Gemma 3 4B",
        "Cohere 2 (defaults)",
        "SmolLM3 3B (defaults)",
        "Qwen2.5-VL 3B",
        "DeepSeek-V3",
    ):
        Path("other.json").write_text(json.dumps(preset(name).config))
        assert main(["read", "other.json"]) == 0
    still = {"rope_type": "proportional", "partial_rotary_factor": 0.0, "rope_theta": 1e4}
    Path("other.json").write_text(json.dumps({"head_dim": 8, "rope_parameters": still}))
    assert main(["read", "other.json"]) == 0
    printed = capsys.readouterr().out
    for line in (
        "sliding_attention layers",
        "layers without position",
        "rotation          none",
        "16, 24, 24",
    ):
        assert line in printed


def test_the_command_is_installed_by_the_wheel_and_needs_numpy_alone():
    project = tomllib.loads((PAGES.parent / "doctor" / "pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]
    assert project["scripts"] == {"rope-doctor": "rope_doctor.__main__:main"}
    code = (
        "import sys; sys.argv[1:] = ['--help']\n"
        "from rope_doctor.__main__ import main\n"
        "try: main()\nexcept SystemExit as end: print(end.code, 'torch' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.startswith("usage: rope-doctor")
    assert run.stdout.endswith("0 False\n")
