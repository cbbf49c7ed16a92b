"""Training is reproducible from a seed, unaffected by a kill, and learns."""

import subprocess
import sys

import pytest
import torch

from rope_book.training import TrainingConfig, make_task, train
from rope_book.training.loop import learning_rate, make_model, make_optimizer
from rope_edu.nn import ENCODINGS

SMALL = {"d_model": 16, "n_heads": 2, "d_ff": 16, "batch_size": 8, "rows": 8, "test_rows": 8, "points": 3}


def weights_of(result):
    return list(result.model.state_dict().values())


def same_weights(first, second):
    return all(torch.equal(a, b) for a, b in zip(weights_of(first), weights_of(second), strict=True))


@pytest.mark.parametrize("encoding", ["learned-rotary", "shaw"])
def test_a_seed_determines_everything_except_times(encoding):
    config = TrainingConfig("copy", encoding, seed=1, steps=6, **SMALL)
    torch.manual_seed(0)
    first = train(config, progress=False)
    torch.manual_seed(99)
    second = train(config, progress=False)
    assert same_weights(first, second)
    assert first.tests == second.tests
    assert [p.loss for p in first.history] == [p.loss for p in second.history]
    assert not same_weights(
        first, train(TrainingConfig("copy", encoding, seed=2, steps=6, **SMALL), progress=False)
    )


def test_a_model_learns_to_look_back_and_the_result_has_its_cost():
    result = train(TrainingConfig("back", "rotary", steps=90, length=16, points=5), progress=False)
    assert result.history[-1].accuracy > 0.9
    assert result.history[0].accuracy < 0.2
    assert [point.step for point in result.history] == [0, 18, 36, 54, 72, 90]
    cpu = [point.cpu_seconds for point in result.history]
    assert cpu == sorted(cpu)
    assert cpu[-1] > 0
    assert list(result.tests) == [16, 32, 64]
    assert result.parameters == sum(weight.numel() for weight in result.model.parameters())


# One process imports torch and forks the children to kill: an import per child would cost seconds.
KILLER = """
import os, random, signal, sys, time
import torch
torch.set_num_threads(1)
from rope_book.training import TrainingConfig, train
config = TrainingConfig("recall", "t5", steps=150, checkpoint_every=1, **{small})
path, kills, rng = sys.argv[1], 0, random.Random(int(sys.argv[2]))
def fork(target):
    child = os.fork()
    if child == 0:
        status = 1
        try:
            target()
            status = 0
        finally:
            os._exit(status)
    return child
def resume():
    torch.save(train(config, path, progress=False).model.state_dict(), path + ".done")
while kills < 200:
    child = fork(resume)
    if kills < 6:
        time.sleep(rng.uniform(0.05, 0.35))
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status):
        print(kills, os.WEXITSTATUS(status))
        break
    kills += 1
"""


@pytest.mark.nightly
@pytest.mark.skipif(sys.platform == "win32", reason="needs fork")
def test_a_run_killed_at_random_ends_with_the_bits_of_an_uninterrupted_run(tmp_path):
    path = tmp_path / "run.pt"
    script = KILLER.replace("{small}", repr(SMALL))
    done = subprocess.run(
        [sys.executable, "-c", script, str(path), "5"], capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0, done.stderr
    kills, status = map(int, done.stdout.split())
    assert status == 0, done.stderr
    assert kills >= 3
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    whole = train(TrainingConfig("recall", "t5", steps=150, **SMALL), progress=False)
    torch.set_num_threads(threads)
    resumed = torch.load(path.with_name("run.pt.done"))
    assert all(torch.equal(a, b) for a, b in zip(weights_of(whole), resumed.values(), strict=True))


@pytest.mark.parametrize("stop", [1, 7, 9])
def test_a_run_stopped_after_any_step_ends_with_the_bits_of_an_uninterrupted_run(tmp_path, monkeypatch, stop):
    from rope_book.training import loop

    config = TrainingConfig("copy", "shaw", steps=9, checkpoint_every=1, **SMALL)
    whole, path, save = train(config, progress=False), tmp_path / "run.pt", loop._Run.save

    def save_and_die(run, path):
        save(run, path)
        if run.step == stop:
            raise KeyboardInterrupt

    monkeypatch.setattr(loop._Run, "save", save_and_die)
    with pytest.raises(KeyboardInterrupt):
        train(config, path, progress=False)
    monkeypatch.setattr(loop._Run, "save", save)
    resumed = train(config, path, progress=False)
    assert same_weights(whole, resumed)
    assert whole.tests == resumed.tests
    rounds = [[(p.step, p.loss, p.accuracy) for p in result.history] for result in (whole, resumed)]
    assert rounds[0] == rounds[1]


def test_a_finished_run_is_not_trained_again(tmp_path):
    config, path = TrainingConfig("copy", "none", steps=2, **SMALL), tmp_path / "run.pt"
    first = train(config, path, progress=False)
    content = path.read_bytes()
    assert same_weights(first, train(config, path, progress=False))
    assert path.read_bytes() == content


def test_a_failed_write_leaves_the_old_checkpoint(tmp_path, monkeypatch):
    config, path = TrainingConfig("copy", "none", steps=3, checkpoint_every=1, **SMALL), tmp_path / "run.pt"
    train(TrainingConfig("copy", "none", steps=3, checkpoint_every=1, **SMALL), path, progress=False)
    before = path.read_bytes()
    path.unlink()
    path.write_bytes(before)

    def full(descriptor):
        raise OSError("no space left on device")

    monkeypatch.setattr("os.fsync", full)
    from rope_book.training.loop import write_atomically

    with pytest.raises(OSError, match="no space"):
        write_atomically(path, b"half")
    assert path.read_bytes() == before
    monkeypatch.undo()
    assert train(config, path, progress=False).history[-1].step == 3


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "text", "foreign", "number"])
def test_a_damaged_or_foreign_checkpoint_is_refused(tmp_path, damage):
    config, path = TrainingConfig("copy", "none", steps=2, **SMALL), tmp_path / "run.pt"
    train(config, path, progress=False)
    content = path.read_bytes()
    damaged = {"cut": content[: len(content) // 2], "empty": b"", "text": b"not a checkpoint"}
    if damage in damaged:
        path.write_bytes(damaged[damage])
    elif damage == "flipped":
        middle = content.index(b"PK\x01\x02")  # the archive's table of contents
        path.write_bytes(content[:middle] + b"\0\0\0\0" + content[middle + 4 :])
    else:
        torch.save({"weights": 1} if damage == "foreign" else 3, path)
    with pytest.raises(ValueError, match=r"damaged or is not a checkpoint|must have the format"):
        train(config, path, progress=False)


def test_a_checkpoint_of_another_run_is_refused_with_the_differences(tmp_path):
    path = tmp_path / "run.pt"
    train(TrainingConfig("copy", "none", steps=2, **SMALL), path, progress=False)
    with pytest.raises(
        ValueError, match="encoding is 'none' there and 'alibi' here; seed is 0 there and 1 here"
    ):
        train(TrainingConfig("copy", "alibi", seed=1, steps=2, **SMALL), path, progress=False)
    train(TrainingConfig("copy", "none", steps=2, checkpoint_every=7, **SMALL), path, progress=False)


def test_the_learning_rate_rises_linearly_and_falls_to_a_tenth():
    config = TrainingConfig("copy", steps=200, warmup=20, learning_rate=2e-3)
    rates = [learning_rate(config, step) for step in range(1, 201)]
    assert rates[9] == pytest.approx(1e-3)
    assert max(rates) == rates[19] == pytest.approx(2e-3)
    assert rates[-1] == pytest.approx(2e-4)
    assert rates[19:] == sorted(rates[19:], reverse=True)


def test_only_the_encodings_own_parameters_learn_at_their_own_rate():
    def after_a_step(own_rate):
        config = TrainingConfig("back", "t5", steps=1, warmup=1, own_rate=own_rate, weight_decay=0.0, **SMALL)
        return train(config, progress=False).model.state_dict()

    slow, fast = after_a_step(1.0), after_a_step(10.0)
    own = [name for name in slow if name.startswith("encodings")]
    assert len(own) == 1
    assert all(torch.equal(slow[name], fast[name]) for name in slow if name not in own)
    torch.testing.assert_close(fast[own[0]], 10 * slow[own[0]])


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_every_parameter_is_in_one_group_of_the_optimizer(encoding):
    config = TrainingConfig("copy", encoding, **SMALL).resolved()
    model = make_model(config)
    trained = [weight for group in make_optimizer(model, config).param_groups for weight in group["params"]]
    assert sorted(map(id, trained)) == sorted(map(id, model.parameters()))


def test_a_bias_from_zero_moves_by_little_more_than_the_sum_of_the_learning_rates():
    config = TrainingConfig("back", "t5", steps=60, weight_decay=0.0, **SMALL).resolved()
    total = sum(learning_rate(config, step) for step in range(1, config.steps + 1))
    moved = train(config, progress=False).model.encodings[0].table.abs().max().item()
    assert total / 4 < moved < 1.3 * total


def test_texts_longer_than_in_training_are_scored_at_new_positions_only(monkeypatch):
    seen = []

    def loss(logits, batch):
        seen.append(batch.weights.clone())
        return answer_loss(logits, batch)

    from rope_book.training import loop

    answer_loss = loop.answer_loss
    monkeypatch.setattr(loop, "answer_loss", loss)
    train(TrainingConfig("clock", "none", steps=1, **SMALL), progress=False)
    task = make_task("clock")
    trained, twice, fourfold = seen[-3:]
    assert [len(weights[0]) for weights in seen[-3:]] == [33, 65, 129]
    assert trained[:, 1:].min() == 1
    for weights in (twice, fourfold):
        assert weights[:, : task.trained_places].max() == 0
        assert weights[:, task.trained_places :].min() == 1


def test_a_tuning_run_never_sees_test_texts(monkeypatch):
    from rope_book.training.tasks import Task

    batch, splits = Task.batch, []

    def spy(self, *arguments, split="train"):
        splits.append(split)
        return batch(self, *arguments, split=split)

    monkeypatch.setattr(Task, "batch", spy)
    for evaluate_on in ("tune", "test"):
        splits.clear()
        train(TrainingConfig("text", "none", steps=1, evaluate_on=evaluate_on, **SMALL), progress=False)
        assert set(splits) == {"train", evaluate_on}


def test_models_of_one_seed_differ_only_in_the_encoding():
    models = [make_model(TrainingConfig("back", name)) for name in ("learned", "t5", "rotary")]
    states = [
        {k: v for k, v in model.state_dict().items() if not k.startswith("encodings")} for model in models
    ]
    assert states[0].keys() == states[1].keys() == states[2].keys()
    assert all(torch.equal(states[0][k], other[k]) for other in states[1:] for k in states[0])


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"task": "sort"}, "task must be one of"),
        ({"encoding": "rope"}, "encoding must be .*got 'rope'"),
        ({"seed": -1}, "seed must be a whole number from 0, got -1"),
        ({"steps": 0}, "steps must be"),
        ({"learning_rate": 0.0}, "learning_rate must be"),
        ({"device": "tpu"}, "device must be .*got 'tpu'"),
        ({"own_rate": 0}, "own_rate must be"),
        ({"evaluate_on": "train"}, "evaluate_on must be .*got 'train'"),
    ],
)
def test_an_invalid_configuration_is_refused(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        TrainingConfig(**{"task": "copy", **options})


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_missing_gpu_is_an_error_and_auto_uses_the_cpu():
    with pytest.raises(ValueError, match="torch sees no GPU"):
        train(TrainingConfig("copy", "none", steps=1, device="cuda", **SMALL), progress=False)
    assert next(make_model(TrainingConfig("copy", "none")).parameters()).device.type == "cpu"


def test_the_progress_bar_can_be_switched_off(capsys):
    train(TrainingConfig("copy", "none", steps=2, **SMALL), progress=False)
    assert capsys.readouterr().err == ""
    train(TrainingConfig("copy", "none", steps=2, **SMALL))
    assert "copy · none · seed 0" in capsys.readouterr().err
