"""The model that the page trains, in torch: the transformer and the training loop of Python, in float64."""

from typing import Any

import numpy as np
import torch

from rope_book.training.loop import TrainingConfig, answer_loss, learning_rate, make_optimizer
from rope_book.training.tasks import Batch
from rope_book.training.transformer import TinyTransformer
from rope_book.widgets.maths import page_training as page
from rope_edu import apply_rope, rope_angles
from rope_edu.encodings import RopeSpec, p_rope, plain_rope

ROWS = 16
SETTINGS: dict[str, Any] = {
    "task": "back",
    "encoding": "rotary",
    "base": 10_000.0,
    "first_pair": 1,
    "last_pair": 8,
    "p": 0.75,
    "length": 24,
    "learning_rate": 0.005,
    "layers": 1,
    "seed": 0,
}
CASES = {
    **{
        name: {"encoding": name}
        for name in ("none", "learned", "sinusoidal", "alibi", "t5", "rotary", "p-rope")
    },
    "another base and fewer pairs": {"base": 300.0, "first_pair": 2, "last_pair": 6, "seed": 3},
    "sinusoids of another base": {"encoding": "sinusoidal", "base": 50.0, "seed": 1},
    "copy in two layers": {"task": "copy", "layers": 2, "length": 12},
    "recall": {"task": "recall", "encoding": "t5", "length": 20, "seed": 7},
    "text": {"task": "text", "seed": 4},
    "text with learned vectors": {"task": "text", "encoding": "learned", "length": 30},
}


def spec_of(settings: dict[str, Any]) -> RopeSpec:
    """Return the rotation of the training."""
    width = page.WIDTH // page.HEADS
    if settings["encoding"] == "p-rope":
        return p_rope(width, settings["p"], settings["base"], layout="half_split")
    spec = plain_rope(width, settings["base"], layout="half_split")
    number = np.arange(1, width // 2 + 1)
    turns = (settings["first_pair"] <= number) & (number <= settings["last_pair"])
    return RopeSpec(np.where(turns, spec.inv_freq, 0.0), layout="half_split")


def make_model(settings: dict[str, Any]) -> TinyTransformer:
    """Return the model with the weights of its seed."""
    task, encoding, layers, length = (settings[name] for name in ("task", "encoding", "layers", "length"))
    rotates = encoding in ("rotary", "p-rope")
    options = {"base": settings["base"]} if encoding == "sinusoidal" else {}
    model = TinyTransformer(
        page.VOCABULARY[task],
        encoding=spec_of(settings) if rotates else encoding,
        d_model=page.WIDTH,
        n_layers=layers,
        n_heads=page.HEADS,
        d_ff=page.HIDDEN,
        max_len=page.places_of(task, page.LONGEST * length),
        **options,
    ).double()
    drawn = page.draw_weights(task, encoding, layers, length, settings["seed"])
    model.load_state_dict({name: torch.tensor(weight) for name, weight in drawn.items()})
    return model


def batch_of(settings: dict[str, Any], step: int) -> Batch:
    """Return the batch of a step."""
    drawn = page.draw_texts(settings["task"], "train", settings["seed"], step, ROWS, settings["length"])
    tokens, targets, counts = (torch.tensor(part.astype(np.int64)) for part in drawn)
    return Batch(tokens, targets, counts.double())


def first_gradients(settings: dict[str, Any]) -> tuple[float, dict[str, np.ndarray]]:
    """Return the loss of the first batch and the gradient of each weight."""
    model = make_model(settings)
    batch = batch_of(settings, 0)
    loss = answer_loss(model(batch.tokens), batch)
    loss.backward()
    return loss.item(), {name: weight.grad.numpy() for name, weight in model.named_parameters()}


def inside(model: TinyTransformer, settings: dict[str, Any], head: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a head's weights in the last block on the first test text, and each pair's influence on its scores."""
    drawn = page.draw_texts(settings["task"], "test", 0, 0, 1, settings["length"])
    attention, kept = model.blocks[-1].attention, {}
    hook = attention.w_qkv.register_forward_hook(lambda module, given, out: kept.update(qkv=out))
    with torch.no_grad():
        model(torch.tensor(drawn.tokens.astype(np.int64)))
    hook.remove()
    seq = drawn.tokens.shape[1]
    q, k, _ = kept["qkv"][0].reshape(seq, 3, page.HEADS, -1)[:, :, head - 1].unbind(1)
    if settings["encoding"] == "rotary":
        angles = rope_angles(torch.arange(seq), torch.tensor(spec_of(settings).inv_freq))
        q, k = (apply_rope(x, angles, layout="half_split") for x in (q, k))
    scores = q @ k.T / q.shape[-1] ** 0.5  # T5's biases are 0 before training
    scores = scores.masked_fill(torch.ones(seq, seq, dtype=torch.bool).triu(1), -torch.inf)
    return scores.softmax(-1).numpy(), page.sway_of_pairs(q.numpy(), k.numpy())


def losses(settings: dict[str, Any], steps: int) -> list[float]:
    """Return the loss before each step, with the loop's own optimizer, rates and clipping.

    On one thread: a model this small is slower on two, and far slower on a busy machine.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return _losses(settings, steps)
    finally:
        torch.set_num_threads(threads)


def _losses(settings: dict[str, Any], steps: int) -> list[float]:
    model = make_model(settings)
    planned = page.PLANNED[settings["task"]]
    config = TrainingConfig(settings["task"], steps=planned, learning_rate=settings["learning_rate"])
    optimizer, found = make_optimizer(model, config), []
    for step in range(steps):
        batch = batch_of(settings, step)
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(config, step + 1)
        optimizer.zero_grad()
        loss = answer_loss(model(batch.tokens), batch)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), config.clip)
        optimizer.step()
        found.append(loss.item())
    return found
