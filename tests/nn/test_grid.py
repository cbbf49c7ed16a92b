"""The grid and its file: resumable run by run, whole at every moment, refused when it is not what it should be."""

import json
import math
import subprocess
import sys

import numpy as np
import pytest

from rope_edu.nn import ENCODINGS, TASKS, grid, make_task
from rope_edu.results import load_grid, spread
from rope_edu.results.grid import FORMAT, parse_grid

MACHINE = {"machine": {"cpu": "a processor", "cores": 2, "gpu": None}, "jobs": 1, "threads_per_job": 1}


def run(
    task="back", encoding="rotary", seed=0, accuracies=(0.1, 0.9, 1.0), tests=((32, 0.1, 1.0), (64, 1.0, 0.5))
):
    curve = [[10 * n, 1.0 - a, a, 0.5 * n] for n, a in enumerate(accuracies)]
    parts = {"task": task, "encoding": encoding, "seed": seed, "parameters": 7, "seconds": 1.0}
    return {**parts, "curve": curve, "tests": [list(row) for row in tests]}


def text(*runs, **changes):
    meta = {**grid.describe_settings("small"), **MACHINE}
    return json.dumps({"format": FORMAT, "meta": meta, "runs": list(runs), **changes})


def test_a_stopped_grid_goes_on_with_what_it_lacks(tmp_path, monkeypatch):
    trained = []

    def fake(configs, jobs):
        for config in configs:
            if len(trained) == 3:
                raise KeyboardInterrupt
            trained.append((config.task, config.encoding, config.seed))
            yield run(*trained[-1])

    monkeypatch.setattr(grid, "results", fake)
    options = "--tasks back copy --encodings rotary none --seeds 2 --out"
    arguments = [*options.split(" "), str(tmp_path / "g.json")]
    with pytest.raises(KeyboardInterrupt):
        grid.main(arguments)
    assert len(load_grid(tmp_path / "g.json").runs) == 3
    trained[:] = [None] * 4  # past the third, where it was stopped
    grid.main(arguments)
    assert trained[4:] == [
        ("copy", "none", 0),
        *[(t, e, 1) for t in ("back", "copy") for e in ("rotary", "none")],
    ]
    assert len(load_grid(tmp_path / "g.json").runs) == 8
    trained.clear()
    grid.main(arguments)
    assert trained == []


def test_the_first_seed_of_every_combination_comes_first(tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(grid, "results", lambda configs, jobs: seen.extend(configs) or iter(()))
    grid.main(["--seeds", "2", "--out", str(tmp_path / "g.json")])
    assert len(seen) == 2 * len(TASKS) * len(ENCODINGS)
    assert {config.seed for config in seen[: len(seen) // 2]} == {0}


def test_within_a_task_all_encodings_have_the_same_setting():
    for task in TASKS:
        settings = [vars(grid.make_config((task, name, 0))) | {"encoding": ""} for name in ENCODINGS]
        assert all(setting == settings[0] for setting in settings)


def test_a_file_of_other_settings_is_not_continued(tmp_path, capsys):
    path = tmp_path / "g.json"
    grid.GridFile(path, grid.describe_settings("small"), MACHINE).add(run(), 1.0)
    with pytest.raises(SystemExit):
        grid.main(["--size", "large", "--out", str(path)])
    assert "other settings (size, tasks, config)" in capsys.readouterr().err


def test_a_real_run_ends_in_the_file_with_versions_and_machine_and_no_names(tmp_path, monkeypatch):
    tiny = {"d_model": 8, "n_layers": 1, "n_heads": 1, "d_ff": 8, "batch_size": 2, "rows": 2, "test_rows": 2}
    monkeypatch.setitem(grid.SIZES, "small", tiny)
    monkeypatch.setattr(grid, "results", lambda configs, jobs: map(grid._work, configs))
    path = tmp_path / "g.json"
    grid.main(["--tasks", "back", "--encodings", "t5", "--seeds", "1", "--device", "cpu", "--out", str(path)])
    found = load_grid(path)
    assert found.accuracy("back", "t5").n == 1
    assert found.test_lengths("back") == make_task("back").test_lengths
    assert set(found.meta["versions"]) == {"python", "torch", "numpy", "rope_edu"}
    assert set(found.meta["machine"]) == {"cpu", "cores", "gpu"}
    assert len(found.runs[0].curve["step"]) <= 20
    assert path.stat().st_size < 4000


def test_help_names_every_choice():
    words = subprocess.run(
        [sys.executable, "-m", "rope_edu.nn.grid", "--help"], capture_output=True, text=True, check=True
    ).stdout
    for option in (
        "--tasks",
        "--encodings",
        "--seeds",
        "--jobs",
        "--device",
        "--out",
        "--size",
        "learned-rotary",
    ):
        assert option in words


def test_spread_is_median_range_and_quartiles():
    assert spread([4, 1, 2, 3, 10]) == (3, 1, 10, 2, 4, 5)
    with pytest.raises(ValueError, match="at least one"):
        spread([])


def test_a_grid_answers_by_task_encoding_and_length():
    runs = [
        run(seed=seed, accuracies=(0.1, a, 1.0), tests=((32, 0, a), (64, 1, 0)))
        for seed, a in enumerate((0.3, 0.9, 0.5))
    ]
    found = parse_grid(text(*runs, run("copy", "none")))
    assert found.tasks == ("copy", "back")
    assert found.encodings == ("none", "rotary")
    assert found.accuracy("back", "rotary")[:3] == (0.5, 0.3, 0.9)
    assert found.accuracy("back", "rotary", 64).median == 0
    assert found.loss("back", "rotary", 64).median == 1
    curve = found.curve("back", "rotary")
    assert curve["median"].tolist() == [0.1, 0.5, 1.0]
    assert curve["low"].tolist() == [0.1, 0.3, 1.0]
    assert curve["cpu_seconds"].tolist() == [0, 0.5, 1]
    assert found.reached("back", "rotary", 0.9) == [20, 10, 20]
    assert found.reached("back", "rotary", 0.9, "cpu_seconds") == [1, 0.5, 1]
    assert found.reached("copy", "none", 1.1) == [math.inf]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("{", "is no JSON"),
        ("[]", "must have the format 'rope_edu grid 1', got 'list'"),
        (text(format="other"), "got 'other'"),
        (text(runs={}), "must hold 'runs', a JSON list"),
        (text({"task": "back"}), "run 0 lacks encoding, seed"),
        (text(run(), run()), r"holds runs twice: \[\('back', 'rotary', 0\)\]"),
        (text(run(accuracies=(0.1, 1.2))), "accuracies in curve must be 0 to 1"),
        (text(run(tests=((32, math.nan, 0.5),))), "tests must be rows of length, loss, accuracy, all finite"),
        (text({**run(), "curve": [[1, 1, 1, 1], [1, 1, 1, 1]]}), "the steps of the curve must rise"),
    ],
)
def test_a_file_that_is_no_grid_is_refused(content, sentence):
    with pytest.raises(ValueError, match=sentence):
        parse_grid(content)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda g: g.accuracy("sort", "rotary"), "no run of task 'sort'.*tasks back"),
        (lambda g: g.accuracy("back", "none"), "encoding 'none'.*encodings rotary"),
        (lambda g: g.accuracy("back", "rotary", 33), "tested at the lengths 32, 64, got 33"),
        (lambda g: g.curve("back", "rotary", "speed"), "column must be one of loss, accuracy"),
    ],
)
def test_a_grid_refuses_what_it_does_not_hold(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call(parse_grid(text(run())))


def test_the_grid_of_the_library_is_complete_and_belongs_to_the_tasks_of_today():
    found = load_grid()
    settings = grid.describe_settings("small")
    for name in ("tasks", "encodings", "encoding_options", "config"):
        assert found.meta[name] == settings[name]
    for task in TASKS:
        assert found.test_lengths(task) == make_task(task).test_lengths
        for encoding in ENCODINGS:
            assert [run.seed for run in found.select(task, encoding)] == [0, 1, 2, 3, 4]
    assert all(np.diff(run.curve["cpu_seconds"]).min() >= 0 for run in found.runs)


def test_reading_results_needs_no_torch():
    code = "import rope_edu.results, sys; print('torch' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "False"
