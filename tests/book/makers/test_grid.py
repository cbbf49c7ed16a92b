"""The grid and its file: resumable run by run, complete at every moment, never mixed with other settings."""

import itertools
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from makers import grid, stretch
from makers.grid import GRID_TASKS
from rope_book.results import best_setting, load_grid, load_predictions, sign_flip_p, spread
from rope_book.results.grid import RUN_KEY, make_grid
from rope_book.training import TrainingConfig, make_task
from rope_book.training.loop import make_model
from rope_edu.nn import ENCODINGS

pytestmark = pytest.mark.makers

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


def grid_of(*runs):
    meta = {**grid.describe_settings("small"), **MACHINE}
    return make_grid({"meta": meta, "runs": runs, "tuning": []})


def trainer(trained, stop=None):
    """Replacement for `grid.results` that records configurations and is interrupted after `stop` runs."""

    def fake(configs, jobs):
        for config in configs:
            if len(trained) == stop:
                raise KeyboardInterrupt
            trained.append(config)
            names = {name: getattr(config, name) for name in RUN_KEY}
            yield run(**names, accuracies=(0.1, 1 - config.learning_rate))  # the highest rate wins

    return fake


def test_an_interrupted_grid_resumes_with_the_missing_runs(tmp_path, monkeypatch):
    path, first = tmp_path / "g.json", []
    options = "--tasks back copy --encodings rotary none --seeds 2 --out"
    arguments = [*options.split(" "), str(path)]
    monkeypatch.setattr(grid, "results", trainer(first, stop=9))
    with pytest.raises(KeyboardInterrupt):
        grid.main(arguments)
    stored = load_grid(path)
    assert (len(stored.tuning), len(stored.runs)) == (6, 3)
    second = []
    monkeypatch.setattr(grid, "results", trainer(second))
    grid.main(arguments)
    stored = load_grid(path)
    assert (len(stored.tuning), len(stored.runs)) == (12, 8)
    keys = [tuple(getattr(config, name) for name in RUN_KEY) for config in first + second]
    assert len(keys) == len(set(keys)) == 20
    third = []
    monkeypatch.setattr(grid, "results", trainer(third))
    grid.main(arguments)
    assert third == []


def test_tuning_comes_first_and_shares_neither_seeds_nor_texts_with_reported_runs(tmp_path, monkeypatch):
    trained = []
    monkeypatch.setattr(grid, "results", trainer(trained))
    grid.main(["--tasks", "back", "--out", str(tmp_path / "g.json")])
    settings = sum(len(grid.tuning_settings(name)) for name in ENCODINGS)
    tuning, reported = trained[:settings], trained[settings:]
    assert {config.evaluate_on for config in tuning} == {"tune"}
    assert {config.evaluate_on for config in reported} == {"test"}
    assert len(reported) == 8 * len(ENCODINGS)
    assert not {config.seed for config in tuning} & {config.seed for config in reported}


def test_every_reported_run_has_the_best_tuned_rates(tmp_path, monkeypatch):
    def fake(configs, jobs):
        for config in configs:
            names = {name: getattr(config, name) for name in RUN_KEY}
            wanted = (1e-2, 10.0) if config.encoding == "t5" else (1e-3, 1.0)
            best = (config.learning_rate, config.own_rate) == wanted
            yield run(**names, accuracies=(0.1, 0.9 if best else 0.5))

    monkeypatch.setattr(grid, "results", fake)
    options = "--tasks back --encodings t5 rotary --seeds 2 --out"
    grid.main([*options.split(" "), str(tmp_path / "g.json")])
    stored = load_grid(tmp_path / "g.json")
    assert {(r.learning_rate, r.own_rate) for r in stored.select("back", "t5")} == {(1e-2, 10.0)}
    assert {(r.learning_rate, r.own_rate) for r in stored.select("back", "rotary")} == {(1e-3, 1.0)}


def test_all_encodings_are_tuned_over_the_same_rates_and_those_with_parameters_over_two_own_rates():
    rates = {name: {setting["learning_rate"] for setting in grid.tuning_settings(name)} for name in ENCODINGS}
    assert all(tuned == set(grid.LEARNING_RATES) for tuned in rates.values())
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
    p_values = [sign_flip_p(difference) for difference in (first - second)[:, 0]]
    assert np.mean(np.array(p_values) < 0.01) < 0.01 + 3 * np.sqrt(0.01 / 4000)  # three standard errors


def test_encodings_are_paired_by_seed():
    runs = [run(seed=s, tests=((32, 0, 0.1 * s + 0.05), (64, 0, 0.5))) for s in range(8)]
    runs += [run("back", "t5", seed=s, tests=((32, 0, 0.1 * s), (64, 0, 0.5))) for s in reversed(range(8))]
    races = grid_of(*runs)
    assert races.paired_p("back", "rotary", "t5") == 2 / 256
    assert races.paired_p("back", "rotary", "t5", 64) == 1


def test_all_encodings_of_a_task_have_the_same_settings():
    for task in GRID_TASKS:
        settings = [vars(grid.make_config(task, name, 0)) | {"encoding": ""} for name in ENCODINGS]
        assert all(setting == settings[0] for setting in settings)


def test_a_file_of_other_settings_is_not_continued(tmp_path, capsys):
    path = tmp_path / "g.json"
    grid.GridFile(path, grid.describe_settings("small"), MACHINE).add("runs", run(), 1.0)
    content = path.read_bytes()
    with pytest.raises(SystemExit):
        grid.main(["--size", "large", "--out", str(path)])
    assert "other settings (size, tasks, config, tuning)" in capsys.readouterr().err
    assert path.read_bytes() == content


@pytest.mark.parametrize("maker", [grid, stretch])
@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"format": "tea 1", "meta": {}}'])
def test_a_file_of_something_else_is_neither_continued_nor_overwritten(tmp_path, capsys, maker, content):
    path = tmp_path / "g.json"
    path.write_text(content)
    with pytest.raises(SystemExit):
        maker.main(["--out", str(path)])
    assert f"must have the format '{maker.FORMAT}', got" in capsys.readouterr().err
    assert path.read_text() == content


def test_a_real_run_is_stored_with_versions_and_machine_but_no_host_name(tmp_path, monkeypatch):
    tiny = {"d_model": 8, "n_layers": 1, "n_heads": 1, "d_ff": 8, "batch_size": 2, "rows": 2, "test_rows": 2}
    monkeypatch.setattr(grid, "LEARNING_RATES", (1e-3,))
    monkeypatch.setitem(grid.SIZES, "small", tiny)
    monkeypatch.setattr(grid, "results", lambda configs, jobs: map(grid._work, configs))
    path = tmp_path / "g.json"
    grid.main(["--tasks", "back", "--encodings", "t5", "--seeds", "1", "--device", "cpu", "--out", str(path)])
    stored = load_grid(path)
    assert stored.accuracy("back", "t5").n == 1
    assert stored.test_lengths("back") == make_task("back").test_lengths
    assert set(stored.meta["versions"]) == {"python", "torch", "numpy", "rope_edu"}
    assert set(stored.meta["machine"]) == {"cpu", "cores", "gpu"}
    assert len(stored.runs[0].curve["step"]) <= 20
    assert path.stat().st_size < 5000


def test_help_lists_every_option():
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


def test_a_grid_is_queried_by_task_encoding_and_length():
    runs = [
        run(seed=seed, accuracies=(0.1, a, 1.0), tests=((32, 0, a), (64, 1, 0)))
        for seed, a in enumerate((0.3, 0.9, 0.5))
    ]
    stored = grid_of(*runs, run("copy", "none"))
    assert stored.tasks == ("copy", "back")
    assert stored.encodings == ("none", "rotary")
    assert stored.accuracy("back", "rotary")[:3] == (0.5, 0.3, 0.9)
    assert stored.accuracy("back", "rotary", 64).median == 0
    assert stored.loss("back", "rotary", 64).median == 1
    curve = stored.curve("back", "rotary")
    assert curve["median"].tolist() == [0.1, 0.5, 1.0]
    assert curve["low"].tolist() == [0.1, 0.3, 1.0]
    assert curve["cpu_seconds"].tolist() == [0, 0.5, 1]
    assert stored.reached("back", "rotary", 0.9) == [20, 10, 20]
    assert stored.reached("back", "rotary", 0.9, "cpu_seconds") == [1, 0.5, 1]
    assert stored.reached("copy", "none", 1.1) == [math.inf]


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda g: g.accuracy("sort", "rotary"), "no run of task 'sort'.*tasks back"),
        (lambda g: g.accuracy("back", "none"), "encoding 'none'.*encodings rotary"),
        (lambda g: g.accuracy("back", "rotary", 33), "tested at the lengths 32, 64, got 33"),
        (lambda g: g.curve("back", "rotary", "speed"), "column must be one of loss, accuracy"),
    ],
)
def test_a_grid_refuses_unknown_queries(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call(grid_of(run()))


def test_the_committed_grid_is_complete_and_has_the_current_settings():
    stored = load_grid()
    settings = grid.describe_settings("small")
    for name in ("tasks", "encodings", "encoding_options", "config", "tuning"):
        assert stored.meta[name] == settings[name]
    for task in GRID_TASKS:
        assert stored.test_lengths(task) == make_task(task).test_lengths
        for encoding in ENCODINGS:
            runs = stored.select(task, encoding)
            assert [run.seed for run in runs] == list(range(8))
            chosen = best_setting(stored.tuning, task, encoding)
            assert all({name: getattr(run, name) for name in chosen} == chosen for run in runs)
            settings = [row for row in stored.tuning if (row["task"], row["encoding"]) == (task, encoding)]
            assert len(settings) == len(grid.tuning_settings(encoding))
    assert all(np.diff(run.curve["cpu_seconds"]).min() >= 0 for run in stored.runs)


def test_all_predictions_name_tasks_of_the_grid():
    sentences = load_predictions()
    assert list(sentences) == list(range(1, 13))
    assert all(any(f"*{task}*" in words for task in GRID_TASKS) for words in sentences.values())


def test_reading_results_needs_no_torch():
    code = "import rope_book.results, sys; print('torch' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "False"
