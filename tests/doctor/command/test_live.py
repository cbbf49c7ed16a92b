"""The commands `model` and `decode`: their exit statuses, JSON, and sentences."""

import json

import pytest

from rope_doctor.__main__ import main

pytest.importorskip("torch")

SOURCE = """
from rope_doctor.probes import Specimen
from rope_doctor.command.replays import FirstRowOnly
from rope_doctor.probes.little import Little, emptied


def right():
    return Little()


def empty():
    return emptied(Little())


def decoder():
    return Specimen().decoder()


def wrong():
    return FirstRowOnly().decoder()


def talks():
    print("loading 3 of 7")
    return emptied(Little())


def chats():
    print("loading")
    return decoder()


def fails():
    raise OSError("no such checkpoint")


def nothing():
    return 7


def absolute(tokens, *, positions):
    import numpy as np
    return np.cos(tokens[..., None] * np.arange(1, 6) + positions[..., None])
"""


@pytest.fixture
def folder(somebodys_module, tmp_path):
    somebodys_module("mine", SOURCE)
    llama = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "rope_theta": 1e4}
    (tmp_path / "config.json").write_text(json.dumps(llama))
    (tmp_path / "ids.txt").write_text("3 1 4 1 5 9 2 6 5 3 5\n8 9 7 9")
    (tmp_path / "words.txt").write_text("a text")
    (tmp_path / "large.txt").write_text("1 40")
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["model", "mine:right", "--config", "config.json"], 0, "The model rotates as its config states."),
        (["model", "mine:empty", "--config", "config.json"], 1, "numbers that cannot be frequencies"),
        (["model", "mine:right", "--config", "config.json", "--skip", "layers"], 2, "layers (skipped)"),
        (["model", "mine:right", "--config", "config.json", "--only", "frequencies"], 2, "layers (skipped)"),
        (
            ["model", "mine:right", "--config", "config.json", "--require", "coordinates"],
            2,
            "coordinates (the config",
        ),
        (
            ["model", "mine:right", "--config", "config.json", "--skip", "cache"],
            2,
            "'cache' is not a check of this",
        ),
        (["model", "mine:right"], 2, "Could not tell: the model has no config"),
        (["model", "mine:right", "--config", "nowhere"], 2, "no file and no preset called nowhere"),
        (["model", "mine:decoder", "--config", "config.json"], 2, "must be a torch module, got Decoder"),
        (["model", "mine:fails"], 2, "could not be made: OSError: no such checkpoint"),
        (["model", "mine"], 2, "must be written module:make"),
        (
            ["decode", "mine:decoder"],
            0,
            "All 8 central checks hold: the logits are the same up to 1,040 tokens.",
        ),
        (["decode", "mine:decoder", "--skip", "moved"], 2, "Not judged: moved (skipped)"),
        (["decode", "mine:decoder", "--only", "moved"], 2, "1 of 22 checks ran."),
        (["decode", "mine:decoder", "--require", "generate"], 2, "did not run (generate)"),
        (["decode", "mine:decoder", "--skip", "mvoed"], 2, "'mvoed' is not a check of this command"),
        (
            ["decode", "mine:decoder", "--window", "30", "--length", "64"],
            0,
            "64 tokens pass the window of 30.",
        ),
        (["decode", "mine:decoder", "--window", "70", "--length", "64"], 2, "`--length 86` passes it"),
        (["decode", "mine:decoder", "--length", "7"], 2, "length must be a whole number from 24 on, got 7"),
        (["decode", "mine:decoder", "--text", "ids.txt", "--length", "64"], 0, "up to 64 tokens"),
        (
            ["decode", "mine:decoder", "--text", "words.txt"],
            2,
            "must hold token ids separated by spaces, got 'a'",
        ),
        (["decode", "mine:decoder", "--text", "large.txt"], 2, "token ids must be from 0 to 39"),
        (["decode", "mine:wrong"], 1, "rows at length 1: differs."),
        (["decode", "mine:nothing"], 2, "a decoder must be a function or a model, got int"),
        (["decode", "mine:absent"], 2, "could not be made: AttributeError"),
        (["decode", "mine:absolute"], 2, "the decoder fails"),
    ],
)
def test_exit_statuses_and_words(folder, capsys, arguments, status, says):
    assert main(arguments) == status
    assert says in capsys.readouterr().out


def test_json_stands_alone_on_stdout_although_the_model_prints(folder, capsys):
    assert main(["model", "mine:talks", "--config", "config.json", "--json"]) == 1
    out, err = capsys.readouterr()
    assert json.loads(out)["right"] is False
    assert "loading 3 of 7" in err


def test_json_holds_the_verdict_the_parts_and_the_text(folder, capsys):
    assert main(["model", "mine:empty", "--config", "config.json", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["right"], found["status"]) == (False, 1)
    first = found["faults"][0]
    assert (first["where"], first["cause"]) == ("layers.0.rotary.inv_freq and 1 more", "never_filled")
    assert first["fix"].startswith("Compute it again after loading")
    checks = {check["name"]: check["outcome"] for check in found["verdict"]["checks"]}
    assert checks["frequencies"] == "differs"
    assert checks["coordinates"] == "not run"
    assert main(["decode", "mine:wrong", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    differs = [check["name"] for check in found["checks"] if check["outcome"] == "differs"]
    assert differs == ["left padding", "rows at length 1"]
    assert found["text"].startswith("The decoder's logits depend on")
    assert (found["status"], found["causes"][0]["name"]) == (1, "rows at length 1")
    central = [check["name"] for check in found["verdict"]["checks"] if check["central"]]
    assert central == [check["name"] for check in found["checks"] if check["central"]]
    assert len(central) == 8


def test_json_is_alone_on_stdout_whatever_a_model_prints(folder, capsys):
    assert main(["decode", "mine:chats", "--json", "--length", "64"]) == 0
    assert json.loads(capsys.readouterr().out)["right"] is True
