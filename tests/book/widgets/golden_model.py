"""The values of torch in float64 for the model that runs in the page: calls and values, as in ``golden``."""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from rope_book.results import load_page_models
from rope_book.results.page_models import packed, read_page_models, unpacked
from rope_book.training.restore import restore
from rope_book.training.transformer import TinyTransformer
from rope_book.widgets.maths import long_text
from rope_edu.attention import split_heads
from rope_edu.encodings import RopeSpec

from .golden import RNG, Call, room

MODELS = load_page_models()
SETTINGS = [
    {},
    {"times": 4, "factor": 4.0, "first_pair": 2, "last_pair": 9},
    {"times": 16, "factor": 2.5, "ramp_from": 1.0, "ramp_to": 32.0, "base": 3e5, "attention_factor": 1.3},
    {"first_pair": 5, "last_pair": 0},
]
RULES = ["none", "pi", "ntk-aware", "dynamic-ntk", "by-parts", "yarn", "llama3", "abf"]
LOGITS = """(task, tokens, rope) => {
    const reader = new Reader(pageModel(task).model, rope);
    return tokens.map((token) => Array.from(reader.read(token))); }"""
TINY = {"d_model": 8, "n_layers": 2, "n_heads": 2, "d_ff": 12}


def turning(spec: RopeSpec) -> dict[str, Any]:
    return {"invFreq": spec.inv_freq, "attentionFactor": spec.attention_factor}


def weights_of(model: TinyTransformer) -> dict[str, np.ndarray]:
    """Return the weights as the scripts take them: flat, row by row."""
    return {name: weight.flatten().numpy() for name, weight in model.state_dict().items()}


@torch.no_grad()
def logits_of(model: TinyTransformer, tokens: np.ndarray) -> np.ndarray:
    return model(torch.as_tensor(tokens)[None])[0].numpy()


@torch.no_grad()
def attention_of(model: TinyTransformer, tokens: np.ndarray, layer: int) -> np.ndarray:
    """Return the attention weights of a layer's heads, `(heads, seq, seq)`."""
    module, caught = model.blocks[layer].attention, []
    hook = module.w_qkv.register_forward_hook(lambda *call: caught.append(call[-1]))
    logits_of(model, tokens)
    hook.remove()
    q, k, _ = (split_heads(part[0], module.n_heads) for part in caught[0].chunk(3, dim=-1))
    q, k = (model.encodings[0].rotate_q(x, range(len(tokens))) for x in (q, k))
    scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(
        ~torch.ones(len(tokens), len(tokens)).tril().bool(), -torch.inf
    )
    return scores.softmax(-1).numpy()


@room
def of_transformer() -> Iterator[Call]:
    read = "for (const name in weights) weights[name] = Float64Array.from(weights[name]);"
    read += "const reader = new Reader({ of: weights, heads: 2 }, rope);"
    read += "const out = tokens.map((token) => [...reader.read(token)]);"
    logits = f"(weights, tokens, rope) => {{ {read} return out; }}"
    weights = (
        f"(weights, tokens, rope, layer, head, n) => {{ {read} return [...reader.weights(layer, head, n)]; }}"
    )
    for seed, a, rates in itertools.product([0, 1], [1.0, 1.3], [[1.0, 0.1], [0.7, 0.0]]):
        torch.manual_seed(seed)
        spec = RopeSpec(rates, a, "half_split")
        model = TinyTransformer(6, encoding=spec, **TINY).double().eval()
        for weight in model.parameters():
            torch.nn.init.normal_(weight)  # gains and biases too
        tokens = RNG.integers(6, size=40)
        given = [weights_of(model), tokens, turning(spec)]
        yield Call(logits, given, logits_of(model, tokens))
        for layer, head, n in [(0, 0, 0), (0, 1, 39), (1, 0, 17)]:
            expected = attention_of(model, tokens, layer)[head, n, : n + 1]
            yield Call(weights, [*given, layer, head, n], expected)


@room
def of_packed() -> Iterator[Call]:
    values = "(stored) => Array.from(unpacked(stored))"
    for shape in [(3, 4), (5,), (64, 60)]:
        given = packed(RNG.normal(size=shape))
        yield Call(values, [given], unpacked(given).ravel())
    yield Call(values, [packed(np.zeros((2, 2)))], np.zeros(4))


@room
def of_page_models() -> Iterator[Call]:
    stored = read_page_models()["models"]
    facts = "(task) => { const { texts, answers, length, headDim, base } = pageModel(task); "
    for task, model in MODELS.items():
        text = stored[task]["texts"][0]
        yield Call("tokensOf", [text, model.alphabet], model.texts[0], exactly=True)
        yield Call(f"{facts} return texts; }}", [task], model.texts, exactly=True)
        yield Call(f"{facts} return answers; }}", [task], model.answers, exactly=True)
        numbers = [model.length, model.head_dim, model.base]
        yield Call(f"{facts} return [length, headDim, base]; }}", [task], numbers)
        for rule, settings in [("none", {}), ("yarn", SETTINGS[1])]:
            spec = long_text.page_rope(rule, model.length, model.head_dim, model.base, **settings)
            tokens = model.texts[0][: 2 * model.length + 1]
            logits = logits_of(restore(model, spec), tokens)
            yield Call(LOGITS, [task, tokens, turning(spec)], logits)


@room
def of_long_text() -> Iterator[Call]:
    for rule, settings, length in itertools.product(RULES, SETTINGS, [32, 64]):
        spec = long_text.page_rope(rule, length, 32, 10_000.0, **settings)
        given = [rule, length, 32, 10_000.0, long_text.SETTINGS | settings]
        yield Call("pageRope", given, turning(spec))
        yield Call("turnsWithin", [spec.inv_freq, 97], long_text.turns_within(spec.inv_freq, 97))
    for length, times in itertools.product([32, 64], range(1, 17)):
        yield Call("binSize", [length, times], long_text.bin_size(length, times), exactly=True)
    rows = RNG.normal(size=(3, 20))
    rows[:, 8:12], rows[1, 3] = np.nan, np.nan
    call = "(rows, size) => means(rows.map((row) => row.map(Number)), size)"  # NaN arrives as a word
    for size in (1, 4, 7, 20):
        yield Call(call, [rows, size], long_text.means(rows, size))
    for scale in (1.0, 30.0, 1000.0):
        logits = scale * RNG.normal(size=17)
        yield Call("lossOf", [logits, 3], long_text.loss_of(logits, 3))
        yield Call("likeliest", [logits], int(logits.argmax()), exactly=True)


def of_own_text(made: TinyTransformer, rope: dict, alphabet: str) -> Iterator[Call]:
    """Texts that a reader may type, shorter and longer than those of the training."""
    read = "const own = ownTextOf('text', rope, text); for (const _ of own.steps());"
    for text in ("T", "The dog", "Does it matter where a word is? It does: " * 4):
        tokens = np.array([len(alphabet) - 1, *map(alphabet.index, text)])
        said = logits_of(made, tokens).argmax(-1)
        right = [n > 0 and bool(said[n] == token) for n, token in enumerate(tokens[1:])]
        yield Call(f"(rope, text) => {{ {read} return own.said; }}", [rope, text], said, exactly=True)
        call = f"(rope, text) => {{ {read} return own.foretold().map(Number); }}"
        yield Call(call, [rope, text], np.array(right, dtype=int), exactly=True)


@room
def of_reading() -> Iterator[Call]:
    read = "const reading = readingOf(task, rope); for (const _ of reading.steps(places, 1, 0));"
    start = f"(task, rope, places) => {{ {read}"
    for task, model in MODELS.items():
        spec = long_text.page_rope("by-parts", model.length, model.head_dim, model.base, **SETTINGS[0])
        made, places = restore(model, spec), 3 * model.length + 1
        given = [task, turning(spec), places]
        texts, answers = model.texts[:, :places], model.answers[:, :places]
        logits = np.stack([logits_of(made, text) for text in texts])
        known = [np.where(row >= 0, row, np.nan)[1:] for row in answers]
        right = [
            np.where(np.isnan(k), k, each.argmax(-1)[1:] == k) for k, each in zip(known, logits, strict=True)
        ]
        lost = np.array(
            [
                [long_text.loss_of(each, max(a, 0)) for each, a in zip(*row, strict=True)]
                for row in zip(logits, answers, strict=True)
            ]
        )
        loss = [np.where(np.isnan(k), k, each[1:]) for k, each in zip(known, lost, strict=True)]
        listed = "map((row) => Array.from(row))"
        yield Call(f'{start} return reading.rows("right", places).{listed}; }}', given, np.array(right))
        yield Call(f'{start} return reading.rows("loss", places).{listed}; }}', given, np.array(loss))
        yield Call(f"{start} return reading.said; }}", given, logits[0].argmax(-1), exactly=True)
        weights = attention_of(made, texts[0], 1)[0]
        row = f"{start} return Array.from(reading.attention(1, 0, places - 9)); }}"
        yield Call(row, given, weights[places - 9, : places - 8])
        size = -(-places // 128)
        field = f"{start} return Array.from(reading.field(places, 1, 0).values); }}"
        yield Call(field, given, long_text.pooled(weights, size).ravel())
        if task == "text":
            yield from of_own_text(made, turning(spec), model.alphabet)
        again = f"{start} return new Reading(task, rope).attention(0, 0, 0) === undefined; }}"
        yield Call(again, given, True, exactly=True)
