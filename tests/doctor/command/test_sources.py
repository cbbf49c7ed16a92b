"""Files come from pipes, folders and the hub; hostile ones get a sentence soon, and no terminal obeys them."""

import contextlib
import http.server
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import rope_doctor.config.sources as sources
from rope_doctor.__main__ import main
from rope_doctor.config import preset
from rope_doctor.config.values import visible

LLAMA = preset("Llama 3.1 8B").config
EXAMPLES = Path(sources.__file__).parents[1] / "command" / "examples"
RUN = [sys.executable, "-W", "ignore", "-m", "rope_doctor"]


def run(*arguments, **given):
    """Run the command as a process; return its status and what it printed to stdout."""
    done = subprocess.run([*RUN, *map(str, arguments)], capture_output=True, timeout=60, **given)
    return done.returncode, done.stdout.decode()


@pytest.mark.parametrize("content", [json.dumps(LLAMA).encode(), (EXAMPLES / "model.gguf").read_bytes()])
def test_a_file_on_standard_input_is_read(content):
    status, printed = run("read", "-", input=content)
    assert status == 0
    assert printed.startswith("-: ")
    assert "base 500000" in printed


def test_a_pipe_is_read(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    threading.Thread(target=lambda: pipe.write_text(json.dumps(LLAMA)), daemon=True).start()
    status, printed = run("compare", pipe, EXAMPLES / "model.gguf")
    assert (status, printed.splitlines()[0]) == (0, "They rotate alike, up to 131072 tokens.")


def test_a_pipe_that_nobody_feeds_is_given_up(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sources, "SILENCE", 0.5)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    begun = time.monotonic()
    assert main(["read", str(pipe)]) == 2
    assert time.monotonic() - begun < 3
    assert "could not be read to its end: nothing arrived for 0 seconds" in capsys.readouterr().out


def test_a_pipe_that_drips_is_given_up(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sources, "LONGEST", 0.5)
    pipe, stopped = tmp_path / "pipe", threading.Event()
    os.mkfifo(pipe)

    def drip():
        with contextlib.suppress(BrokenPipeError), pipe.open("wb", buffering=0) as file:
            while not stopped.wait(0.1):
                file.write(b" ")

    threading.Thread(target=drip, daemon=True).start()
    assert main(["read", str(pipe)]) == 2
    stopped.set()
    assert "it did not end within" in capsys.readouterr().out


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="this system has no endless file")
@pytest.mark.parametrize("command", [["read"], ["compare", str(EXAMPLES / "config.json")]])
def test_a_file_without_end_is_refused_soon(command, capsys):
    begun = time.monotonic()
    assert main([*command, "/dev/zero"]) == 2
    assert time.monotonic() - begun < 5
    assert "it has more than 8 MiB and is not a GGUF" in capsys.readouterr().out


FORGED = "\x1b[2J\x1b[HThey rotate alike.\nThey rotate alike.\r\u202eRTL\ud800"


def test_control_characters_of_a_file_are_shown_and_not_sent(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    kinds = {
        FORGED: {"rope_type": "default", "rope_theta": 1e4},
        "b": {"rope_type": FORGED, "rope_theta": 9.0},
    }
    forged = LLAMA | {"model_type": FORGED, f"rope_{FORGED}": 7, "layer_types": [FORGED, "b"]}
    for rope in (LLAMA["rope_scaling"], {"rope_type": FORGED}, kinds, kinds | {"b": kinds[FORGED]}):
        Path("a.json").write_text(json.dumps(forged | {"rope_scaling": None, "rope_parameters": rope}))
        Path("b.json").write_text(json.dumps(LLAMA))
        for line in (["read", "a.json"], ["compare", "a.json", "b.json"], ["compare", "b.json", "a.json"]):
            for more in ([], ["--json"], ["--format", "github"]):
                main([*line, *more])
                printed = capsys.readouterr().out
                assert visible(printed.replace("\n", "")) == printed.replace("\n", "")
                if not more:
                    assert not any(said.startswith("They rotate alike.") for said in printed.splitlines())


def test_json_is_alone_on_stdout_whatever_a_model_prints(tmp_path):
    loud = "import os\nprint('hello')\nos.write(1, b'from C')\n"
    called = "def right(*a, **k):\n    print('called')\n    return _right(*a, **k)\n\n\ndef _right("
    module = (EXAMPLES / "decoder.py").read_text().replace("def right(", called)
    (tmp_path / "loud.py").write_text(loud + module)
    status, printed = run("decode", "loud:right", "--json", cwd=tmp_path)
    assert json.loads(printed)
    assert status in (0, 1, 2)


def test_github_shows_an_annotation(capsys, monkeypatch):
    monkeypatch.chdir(EXAMPLES)
    assert main(["compare", "config.json", "lost.gguf", "--format", "github"]) == 1
    [line] = capsys.readouterr().out.splitlines()
    assert line.startswith("::error title=rope-doctor compare,file=lost.gguf::They do not rotate alike.%0A")
    assert main(["compare", "config.json", "model.gguf", "--format", "github"]) == 0
    assert capsys.readouterr().out.startswith("::notice title=rope-doctor compare,file=model.gguf::")
    assert main(["compare", "config.json", "cut.gguf", "--format", "github"]) == 2
    assert capsys.readouterr().out.startswith("::warning title=rope-doctor compare,file=cut.gguf::")


def test_a_skipped_central_check_is_2_and_a_required_one_counts(capsys, monkeypatch):
    monkeypatch.chdir(EXAMPLES)
    line = ["compare", "config.json", "model.gguf"]
    assert main([*line, "--skip", "layout"]) == 2
    assert "Not judged: layout (skipped)." in capsys.readouterr().out
    assert main([*line, "--require", "loading"]) == 0
    assert main(["compare", "config.json", "lost.gguf", "--skip", "frequencies"]) == 2
    assert main(["compare", "config.json", "lost.gguf", "--only", "frequencies, layout"]) == 1
    capsys.readouterr()
    assert main([*line, "--skip", "nothing", "--json"]) == 2
    assert "its checks are kinds, windows" in json.loads(capsys.readouterr().out)["could_not_tell"]


def test_json_names_every_check(capsys, monkeypatch):
    monkeypatch.chdir(EXAMPLES)
    assert main(["compare", "config.json", "model.gguf", "--json"]) == 0
    checks = json.loads(capsys.readouterr().out)["verdict"]["checks"]
    assert {check["outcome"] for check in checks} == {"holds"}
    central = [check["name"] for check in checks if check["central"]]
    assert {"frequencies", "layout", "attention-factor", "softmax-scale", "kinds", "windows"} <= set(central)


def test_the_version_is_printed(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["--version"])
    assert capsys.readouterr().out.startswith("rope-doctor ")


def test_weights_name_the_config_beside_them(tmp_path, capsys):
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    for name in ("model.safetensors", "pytorch_model.bin", "model.safetensors.index.json"):
        (tmp_path / name).write_bytes(b"{}")
        assert main(["read", str(tmp_path / name)]) == 0
        assert "config.json: config.json, llama" in capsys.readouterr().out
    (tmp_path / "config.json").unlink()
    assert main(["read", str(tmp_path / "model.safetensors")]) == 2
    assert "must have a config.json or one GGUF beside its weights" in capsys.readouterr().out
    (tmp_path / "model.gguf").write_bytes((EXAMPLES / "model.gguf").read_bytes())
    assert main(["read", str(tmp_path)]) == 0


REVISION = "0123456789abcdef0123456789abcdef01234567"


class Hub(http.server.BaseHTTPRequestHandler):
    """A hub with one model of one revision."""

    def do_HEAD(self):
        self.answer(body=False)

    def do_GET(self):
        self.answer(body=True)

    def answer(self, body):
        if self.path not in (
            f"/owner/name/resolve/{REVISION}/config.json",
            "/owner/name/resolve/v2/config.json",
        ):
            self.send_response(404)
            self.send_header("X-Error-Code", "RevisionNotFound")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        content = json.dumps(LLAMA).encode()
        self.send_response(200)
        for name, value in (("ETag", '"abc"'), ("X-Repo-Commit", REVISION), ("Content-Length", len(content))):
            self.send_header(name, str(value))
        self.end_headers()
        if body:
            self.wfile.write(content)

    def log_message(self, *_):
        """Print nothing."""


@pytest.fixture
def hub(tmp_path):
    pytest.importorskip("huggingface_hub")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    place = f"http://127.0.0.1:{server.server_port}"
    yield os.environ | {"HF_ENDPOINT": place, "HF_HOME": str(tmp_path / "cache"), "HF_HUB_OFFLINE": "0"}
    server.shutdown()


# huggingface_hub leaves its connection open until the interpreter ends
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_model_of_the_hub_is_read_at_its_revision(hub, tmp_path):
    status, printed = run("compare", "owner/name@v2", EXAMPLES / "config.json", env=hub, cwd=tmp_path)
    assert (status, printed.splitlines()[0]) == (0, "They rotate alike, up to 131072 tokens.")
    status, printed = run("read", "owner/name@gone", env=hub, cwd=tmp_path)
    assert (status, len(printed.splitlines())) == (2, 1)
    assert "owner/name could not be fetched: RevisionNotFoundError" in printed
