"""The commands `ask` and `reach`: exit statuses, JSON, and sentences."""

import json
from pathlib import Path

import numpy as np
import pytest
from serving import DecodesAtZero, Server, course, over_loopback

from rope_doctor.__main__ import main

SHORT = ["--model", "mine", "--length", "300", "--seed", "3", "--skip", "context"]
MODULE = """
from rope_doctor.probes import Specimen


def decoder():
    return Specimen().decoder()
"""


@pytest.fixture
def folder(somebodys_module, tmp_path):
    somebodys_module("mine", MODULE)
    config = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "rope_theta": 1e4}
    (tmp_path / "config.json").write_text(json.dumps(config | {"max_position_embeddings": 1500}))
    (tmp_path / "ids.txt").write_text(" ".join(map(str, np.random.default_rng(0).integers(8, 40, size=900))))
    (tmp_path / "words.txt").write_text("a text")
    (tmp_path / "losses.json").write_text(json.dumps({"losses": course(3000).tolist(), "context": 2000}))
    (tmp_path / "rising.json").write_text(json.dumps(course(3000, rise=3.0).tolist()))
    (tmp_path / "broken.json").write_text('{"loss": [1, 2]}')
    return tmp_path


def test_a_server_on_loopback_is_asked(folder, capsys, monkeypatch):
    monkeypatch.setenv("ROPE_DOCTOR_KEY", "secret")
    with over_loopback(Server(), key="secret") as url:
        assert main(["ask", url, *SHORT, "--json"]) == 0
        facts = json.loads(capsys.readouterr().out)
        assert (facts["status"], facts["right"]) == (0, True)
        assert facts["requests"] > 30
        assert "secret" not in json.dumps(facts)
        assert main(["ask", url, *SHORT, "--require", "context"]) == 2
        assert "context (skipped)" in capsys.readouterr().out
        assert main(["ask", url, *SHORT, "--key", "NOBODY_SET_THIS"]) == 2
        printed = capsys.readouterr().out
        assert printed.startswith("Could not tell: the server cannot be asked: /completions answered 400")
    with over_loopback(DecodesAtZero()) as url:
        assert main(["ask", url, *SHORT, "--format", "github"]) == 1
        assert capsys.readouterr().out.startswith(
            "::error title=rope-doctor ask::The server's log probabilities"
        )


def test_a_rehearsal_prints_the_requests_and_asks_nothing(capsys):
    assert main(["ask", "http://nowhere.invalid", *SHORT, "--dry-run"]) == 2
    first, *lines = capsys.readouterr().out.splitlines()
    assert first.startswith(f"Nothing was asked. A run makes {len(lines)} requests of about ")
    assert first.endswith(" in at most 900 seconds. A check that differs is repeated up to twice.")
    assert all(line.startswith("POST /v1/") for line in lines)
    assert main(["ask", "http://nowhere.invalid", *SHORT, "--dry-run", "--json"]) == 2
    plan = json.loads(capsys.readouterr().out)
    assert len(plan) == len(lines)
    with over_loopback(Server()) as url:
        main(["ask", url, *SHORT, "--json"])
    assert json.loads(capsys.readouterr().out)["requests"] == len(plan)


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["--losses", "losses.json"], 0, "The loss keeps its level"),
        (["--losses", "losses.json", "--context", "4000"], 2, "ends at token 3,000 of the 4,000 claimed"),
        (["--losses", "losses.json", "--only", "level"], 2, "claim (skipped)"),
        (["--losses", "rising.json"], 2, "no claimed context is known"),
        (["--losses", "rising.json", "--context", "2900"], 1, "leaves its level at token"),
        (["--losses", "rising.json", "--config", "config.json"], 0, "It claims 1,500 tokens."),
        (["--losses", "broken.json"], 2, "broken.json holds no losses: KeyError"),
        (["--losses", "losses.json", "--text", "words.txt"], 2, "not both"),
        (["mine:decoder"], 2, "give a model and --text FILE"),
        (["mine:decoder", "--text", "words.txt"], 2, "words.txt must hold token ids"),
        (["mine:decoder", "--text", "ids.txt", "--context", "899"], 0, "keeps its level"),
        (["nowhere.gguf", "--text", "words.txt"], 2, "transformers"),
    ],
)
def test_reach_is_earned(folder, capsys, arguments, status, says):
    assert main(["reach", *arguments]) == status
    assert says in capsys.readouterr().out


def test_losses_are_saved_and_read_again(folder, capsys):
    arguments = ["reach", "mine:decoder", "--text", "ids.txt", "--context", "899", "--save", "kept.json"]
    assert main([*arguments, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["verdict"]["said"] == "holds"
    assert len(json.loads(Path("kept.json").read_text())["losses"]) == 899
    assert main(["reach", "--losses", "kept.json"]) == 0


def test_a_checkpoint_is_loaded_by_transformers(folder, capsys):
    transformers = pytest.importorskip("transformers")
    tokenizers = pytest.importorskip("tokenizers")
    config = transformers.LlamaConfig(
        vocab_size=40, hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2,
        num_key_value_heads=2, max_position_embeddings=1000,
    )  # fmt: skip
    transformers.LlamaForCausalLM(config).save_pretrained("little")
    words = {f"w{n}": n for n in range(40)}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="w0"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer).save_pretrained("little")
    Path("long.txt").write_text(" ".join(f"w{n % 40}" for n in range(1100)))
    assert main(["reach", "little", "--text", "long.txt"]) == 0
    assert "It claims 1,000 tokens." in capsys.readouterr().out
