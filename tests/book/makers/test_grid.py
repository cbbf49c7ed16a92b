"""The grid and its file: resumable run by run, whole at every moment, refused when it is not what it should be."""

import itertools
import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from makers import grid
from makers.grid import GRID_TASKS
from rope_book.results import best_setting, load_grid, load_predictions, sign_flip_p, spread
from rope_book.results.grid import FORMAT, RUN_OF, parse_grid
from rope_book.training import TrainingConfig, make_task
from rope_book.training.loop import make_model
from rope_edu.nn import ENCODINGS

MACHINE = {"machine": {"cpu": "a processor", "cores": 2, "gpu": None}, "jobs": 1, "threads_per_job": 1}


def run(
    task="back",
    encoding="rotary",
    seed=0,
    accuracies=(0.1, 0.9, 1.0),
    tests=((32, 0.1, 1.0), (64, 1.0, 0.5)),
    learning_rate=3e-3,
    own_rate=1.0,
):
    curve = [[10 * n, 1.0 - a, a, 0.5 * n] for n, a in enumerate(accuracies)]
    parts = {"task": task, "encoding": encoding, "seed": seed, "parameters": 7, "seconds": 1.0}
    rates = {"learning_rate": learning_rate, "own_rate": own_rate}
    return {**parts, **rates, "curve": curve, "tests": [list(row) for row in tests]}


def tuned(loss, learning_rate=3e-3, own_rate=1.0, task="back", encoding="t5", seed=1000):
    names = {"task": task, "encoding": encoding, "seed": seed}
    return {**names, "learning_rate": learning_rate, "own_rate": own_rate, "loss": loss}


def text(*runs, **changes):
    meta = {**grid.describe_settings("small"), **MACHINE}
    return json.dumps({"format": FORMAT, "meta": meta, "runs": list(runs), "tuning": [], **changes})


def trainer(trained, stop=None):
    """Take the place of `grid.results`: note what would be trained, and stop after so many runs."""

    def fake(configs, jobs):
        for config in configs:
            if len(trained) == stop:
                raise KeyboardInterrupt
            trained.append(config)
            names = {name: getattr(config, name) for name in RUN_OF}
            yield run(**names, accuracies=(0.1, 1 - config.learning_rate))  # the highest rate wins

    return fake


def test_a_stopped_grid_goes_on_with_what_it_lacks(tmp_path, monkeypatch):
    path, first = tmp_path / "g.json", []
    options = "--tasks back copy --encodings rotary none --seeds 2 --out"
    arguments = [*options.split(" "), str(path)]
    monkeypatch.setattr(grid, "results", trainer(first, stop=9))
    with pytest.raises(KeyboardInterrupt):
        grid.main(arguments)
    found = load_grid(path)
    assert (len(found.tuning), len(found.runs)) == (6, 3)
    then = []
    monkeypatch.setattr(grid, "results", trainer(then))
    grid.main(arguments)
    found = load_grid(path)
    assert (len(found.tuning), len(found.runs)) == (12, 8)
    keys = [tuple(getattr(config, name) for name in RUN_OF) for config in first + then]
    assert len(keys) == len(set(keys)) == 20
    again = []
    monkeypatch.setattr(grid, "results", trainer(again))
    grid.main(arguments)
    assert again == []


def test_tuning_comes_first_and_shares_neither_seeds_nor_texts_with_what_is_reported(tmp_path, monkeypatch):
    trained = []
    monkeypatch.setattr(grid, "results", trainer(trained))
    grid.main(["--tasks", "back", "--out", str(tmp_path / "g.json")])
    settings = sum(len(grid.tuning_settings(name)) for name in ENCODINGS)
    tuning, reported = trained[:settings], trained[settings:]
    assert {config.evaluate_on for config in tuning} == {"tune"}
    assert {config.evaluate_on for config in reported} == {"test"}
    assert len(reported) == 8 * len(ENCODINGS)
    assert not {config.seed for config in tuning} & {config.seed for config in reported}


def test_every_reported_run_takes_the_rates_that_were_best_in_tuning(tmp_path, monkeypatch):
    def fake(configs, jobs):
        for config in configs:
            names = {name: getattr(config, name) for name in RUN_OF}
            wanted = (1e-2, 10.0) if config.encoding == "t5" else (1e-3, 1.0)
            best = (config.learning_rate, config.own_rate) == wanted
            yield run(**names, accuracies=(0.1, 0.9 if best else 0.5))

    monkeypatch.setattr(grid, "results", fake)
    options = "--tasks back --encodings t5 rotary --seeds 2 --out"
    grid.main([*options.split(" "), str(tmp_path / "g.json")])
    found = load_grid(tmp_path / "g.json")
    assert {(r.learning_rate, r.own_rate) for r in found.select("back", "t5")} == {(1e-2, 10.0)}
    assert {(r.learning_rate, r.own_rate) for r in found.select("back", "rotary")} == {(1e-3, 1.0)}


def test_every_encoding_is_tuned_over_the_same_rates_and_those_with_parameters_over_two_of_their_own():
    rates = {name: {setting["learning_rate"] for setting in grid.tuning_settings(name)} for name in ENCODINGS}
    assert all(found == set(grid.LEARNING_RATES) for found in rates.values())
    for name in ENCODINGS:
        model = make_model(TrainingConfig("copy", name, d_model=16, n_heads=2, d_ff=16))
        own = {setting["own_rate"] for setting in grid.tuning_settings(name)}
        has = any(parameter.startswith("encodings") for parameter, _ in model.named_parameters())
        assert (len(own) == 2) == has


def test_the_best_setting_has_the_lowest_mean_loss_over_the_tuning_seeds():
    table = [
        tuned(0.5, 1e-3, seed=1000),
        tuned(0.6, 1e-3, seed=1001),
        tuned(0.1, 3e-3, seed=1000),
        tuned(2.0, 3e-3, seed=1001),
        tuned(0.0, 1e-2, encoding="rotary"),
        tuned(0.0, 1e-2, task="copy"),
    ]
    assert best_setting(table, "back", "t5") == {"learning_rate": 1e-3, "own_rate": 1.0}
    with pytest.raises(ValueError, match="no tuning run of task 'clock' with encoding 't5'"):
        best_setting(table, "clock", "t5")


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_the_sign_flip_test_counts_all_signs(n):
    differences = np.random.default_rng(n).normal(0.3, 1, n).round(2)
    sums = [abs(np.dot(signs, differences)) for signs in itertools.product((1, -1), repeat=n)]
    expected = np.mean([s >= abs(differences.sum()) - 1e-9 for s in sums])
    assert sign_flip_p(differences) == expected
    assert sign_flip_p(-differences) == expected
    assert sign_flip_p(100 * differences) == expected


def test_the_sign_flip_test_at_its_ends():
    assert [sign_flip_p([0.1] * n) for n in (5, 7, 8)] == [2 / 32, 2 / 128, 2 / 256]
    assert sign_flip_p([0.0] * 8) == 1
    assert sign_flip_p([1, -1, 1, -1]) == 1
    for wrong in ([], [1] * 21):
        with pytest.raises(ValueError, match="1 to 20 numbers"):
            sign_flip_p(wrong)


def test_where_nothing_differs_the_sign_flip_test_is_rarely_below_a_hundredth():
    rng = np.random.default_rng(0)
    shared = rng.normal(size=(4000, 1, 8))  # what both runs of a seed have in common
    first, second = shared + rng.normal(size=(4000, 2, 8)).swapaxes(0, 1)[:, :, None]
    found = [sign_flip_p(difference) for difference in (first - second)[:, 0]]
    assert np.mean(np.array(found) < 0.01) < 0.01 + 3 * np.sqrt(0.01 / 4000)  # three standard errors


def test_encodings_are_paired_by_seed():
    runs = [run(seed=s, tests=((32, 0, 0.1 * s + 0.05), (64, 0, 0.5))) for s in range(8)]
    runs += [run("back", "t5", seed=s, tests=((32, 0, 0.1 * s), (64, 0, 0.5))) for s in reversed(range(8))]
    found = parse_grid(text(*runs))
    assert found.paired_p("back", "rotary", "t5") == 2 / 256
    assert found.paired_p("back", "rotary", "t5", 64) == 1


def test_within_a_task_all_encodings_have_the_same_setting():
    for task in GRID_TASKS:
        settings = [vars(grid.make_config(task, name, 0)) | {"encoding": ""} for name in ENCODINGS]
        assert all(setting == settings[0] for setting in settings)


def test_a_file_of_other_settings_is_not_continued(tmp_path, capsys):
    path = tmp_path / "g.json"
    grid.GridFile(path, grid.describe_settings("small"), MACHINE).add("runs", run(), 1.0)
    with pytest.raises(SystemExit):
        grid.main(["--size", "large", "--out", str(path)])
    assert "other settings (size, tasks, config, tuning)" in capsys.readouterr().err


def test_a_real_run_ends_in_the_file_with_versions_and_machine_and_no_names(tmp_path, monkeypatch):
    tiny = {"d_model": 8, "n_layers": 1, "n_heads": 1, "d_ff": 8, "batch_size": 2, "rows": 2, "test_rows": 2}
    monkeypatch.setattr(grid, "LEARNING_RATES", (1e-3,))
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
    assert path.stat().st_size < 5000


def test_help_names_every_choice():
    words = subprocess.run(
        [sys.executable, "-m", "makers.grid", "--help"],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(grid.__file__).parents[1],
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
        ("[]", "must have the format 'rope_book grid 2', got 'list'"),
        (text(format="other"), "got 'other'"),
        (text(runs={}), "must hold 'runs', a JSON list"),
        (text(tuning=None), "must hold 'tuning', a JSON list"),
        (text(tuning=[{"task": "back", "loss": 1}]), "tuning run 0 lacks encoding, seed"),
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
    for name in ("tasks", "encodings", "encoding_options", "config", "tuning"):
        assert found.meta[name] == settings[name]
    for task in GRID_TASKS:
        assert found.test_lengths(task) == make_task(task).test_lengths
        for encoding in ENCODINGS:
            runs = found.select(task, encoding)
            assert [run.seed for run in runs] == list(range(8))
            chosen = best_setting(found.tuning, task, encoding)
            assert all({name: getattr(run, name) for name in chosen} == chosen for run in runs)
            settings = [row for row in found.tuning if (row["task"], row["encoding"]) == (task, encoding)]
            assert len(settings) == len(grid.tuning_settings(encoding))
    assert all(np.diff(run.curve["cpu_seconds"]).min() >= 0 for run in found.runs)


def test_the_predictions_are_there_and_name_tasks_of_the_grid():
    found = load_predictions()
    assert list(found) == list(range(1, 13))
    assert all(any(f"*{task}*" in words for task in GRID_TASKS) for words in found.values())


def test_reading_results_needs_no_torch():
    code = "import rope_book.results, sys; print('torch' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "False"
