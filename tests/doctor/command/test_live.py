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
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["model", "mine:right", "--config", "config.json"], 0, "The model rotates as its config states."),
        (["model", "mine:empty", "--config", "config.json"], 1, "numbers that cannot be frequencies"),
        (["model", "mine:right", "--config", "config.json", "--skip", "layers"], 2, "layers (skipped)"),
        (["model", "mine:right", "--config", "config.json", "--only", "frequencies"], 2, "layers (skipped)"),
        (["model", "mine:right", "--config", "config.json", "--require", "coordinates"], 2, "coordinates (the config"),
        (["model", "mine:right", "--config", "config.json", "--skip", "cache"], 2, "'cache' is not a check of this"),
        (["model", "mine:right"], 2, "Could not tell: the model has no config"),
        (["model", "mine:right", "--config", "nowhere"], 2, "no file and no preset called nowhere"),
        (["model", "mine:decoder", "--config", "config.json"], 2, "must be a torch module, got Decoder"),
        (["model", "mine:fails"], 2, "could not be made: OSError: no such checkpoint"),
        (["model", "mine"], 2, "must be written module:make"),
        (["decode", "mine:decoder"], 0, "The decoder gives the same logits however it is called."),
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
