"""The values of NumPy and torch for the engine that trains in the page: calls and values, as in ``golden``."""

import base64
import itertools
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

import rope_edu
from rope_book.training.loop import TrainingConfig, learning_rate
from rope_book.widgets.maths import draws
from rope_book.widgets.maths import page_training as page
from rope_edu.encodings import alibi_bias, alibi_slopes, plain_rope, scaling, t5_bucket
from rope_edu.nn import Encoding

from . import torch_training
from .golden import Call, room
from .torch_training import CASES, SETTINGS, spec_of

RNG = np.random.default_rng(1412)
TYPED = "Float64Array.from"


def tensor(array: Any) -> torch.Tensor:
    return torch.tensor(np.asarray(array), requires_grad=True)


@room
def of_steady() -> Iterator[Call]:
    for x in [-800.0, -700.0, -40.3, -1.0, -1e-9, 0.0, 0.3466, 1.0, 20.5]:
        yield Call("steadyExp", [x], float(np.exp(x)))
    for x in [1e-9, 0.3, 0.7, 1.0, 1.41, 1.42, 17.0, 5e5, 1e9]:
        yield Call("steadyLog", [x], float(np.log(x)))
    for base, power in itertools.product([2.0, 100.0, 1e4, 5e5], [-1.0, -0.875, -0.125, 0.0]):
        yield Call("steadyPower", [base, power], base**power)
    quarters = [n * np.pi / 2 + 0.1 for n in range(-9, 10)]
    for angle in [0.0, 0.7853, 0.7854, -1.0, 1.5708, 3.0, 77.7, -256.0, 4096.0, *quarters]:
        yield Call("steadyTurn", [angle], [np.cos(angle), np.sin(angle)])
    x = tensor(np.concatenate([RNG.normal(size=300) * 4, [-9.0, 9.0, -30.0, 30.0, 0.0, 8.9999]]))
    active = torch.nn.functional.gelu(x)
    (slope,) = torch.autograd.grad(active.sum(), x)
    both = f"""(values) => {{ const x = {TYPED}(values); const [out, slope] = [x.slice(), x.slice()];
        geluAll(x, out, slope, x.length); return [Array.from(out), Array.from(slope)]; }}"""
    yield Call(both, [x.detach().numpy()], np.stack([active.detach().numpy(), slope.numpy()]))


@room
def of_draws() -> Iterator[Call]:
    for x in [0, 1, 2**31, 2**32 - 1, 12345]:
        yield Call("mixed", [x], int(draws.mixed(np.uint32(x))), exactly=True)
    for keys in [[], [0], [1, 2, 3], [1007, 99], [0, 5, 700, 96, 3]]:
        yield Call("streamOf", [keys], int(draws.stream_of(keys)), exactly=True)
        count = "(keys, count) => Array.from({ length: count }, (_, n) => "
        yield Call(
            f"{count} uniformAt(streamOf(keys), n))", [keys, 40], draws.uniform(keys, 40), exactly=True
        )
        yield Call(
            f"{count} wholeAt(streamOf(keys), n, 7))", [keys, 40], draws.whole(keys, 40, 7), exactly=True
        )
        yield Call(f"{count} normalAt(streamOf(keys), n))", [keys, 40], draws.normal(keys, 40), exactly=True)


HOLD = Call("(text) => holdProse(text) ?? 0", [page.PROSE.read_text(encoding="ascii")], 0, exactly=True)


@room
def of_page_tasks() -> Iterator[Call]:
    yield HOLD
    drawn = """(...all) => { const { tokens, targets, counts } = drawTexts(...all);
        return [tokens, targets, counts].map((part) => Array.from(part)); }"""
    for task, split, length in itertools.product(page.VOCABULARY, page.SPLITS, [9, 24]):
        yield Call("placesOf", [task, length], page.places_of(task, length), exactly=True)
        for seed, step in [(0, 0), (3, 511)]:
            texts = page.draw_texts(task, split, seed, step, 5, length)
            given = [task, {"split": split, "seed": seed, "step": step}, 5, length]
            expected = [part.astype(int).ravel().tolist() for part in texts]
            yield Call(drawn, given, expected, exactly=True)
    for task in page.VOCABULARY:
        right, loss = page.guess_of(task)
        yield Call("guessOf", [task], {"right": right, "loss": loss})
    facts = "(task) => { const { vocab, steps } = pageTask(task); return [vocab, steps]; }"
    for task in page.VOCABULARY:
        yield Call(facts, [task], [page.VOCABULARY[task], page.PLANNED[task]], exactly=True)


@room
def of_page_prose() -> Iterator[Call]:
    numbers, alphabet = page.prose()
    assert len(alphabet) + 1 == page.VOCABULARY["text"]
    held = """(text) => {
        holdProse(text);
        const { alphabet, numbers } = prose();
        return [alphabet, Array.from(numbers)]; }"""
    yield Call(held, [page.PROSE.read_text()], [alphabet, numbers.tolist()], exactly=True)
    for split in page.SPLITS:
        yield Call("(split) => Array.from(partOf(split))", [split], page.part_of(split), exactly=True)
    train = page.part_of("train")
    shares = np.bincount(train, minlength=len(alphabet)) / len(train)
    yield Call("() => prose().shares", [], shares)


@room
def of_page_look() -> Iterator[Call]:
    sway = f"(qkv, seq, head) => Array.from(swayOfPairs({TYPED}(qkv), seq, head))"
    for seq, head in [(2, 0), (5, 1), (9, 0)]:
        qkv = RNG.normal(size=(seq, 3, page.HEADS, page.WIDTH // page.HEADS))
        expected = page.sway_of_pairs(qkv[:, 0, head], qkv[:, 1, head])
        yield Call(sway, [qkv.ravel(), seq, head], expected)
    inside = f"""(of, encoding, which, rope) => {{
        for (const name in of) of[name] = {TYPED}(of[name]);
        const model = {{ weights: {{ of }}, encoding, base: 10000 }};
        const {{ seq, weights, pairs }} = lookInside(model, which, rope);
        return [seq, ...weights, ...pairs]; }}"""
    for case, head in [("rotary", 1), ("t5", 2), ("copy in two layers", 2)]:
        settings = SETTINGS | CASES[case]
        model = torch_training.make_model(settings)
        weights, pairs = torch_training.inside(model, settings, head)
        of = {name: weight.detach().numpy().ravel() for name, weight in model.state_dict().items()}
        rope = {"invFreq": spec_of(settings).inv_freq, "attentionFactor": 1}
        which = {"task": settings["task"], "length": settings["length"], "head": head}
        expected = np.concatenate([[len(weights)], weights.ravel(), pairs])
        yield Call(inside, [of, settings["encoding"], which, rope], expected)


@room
def of_page_file() -> Iterator[Call]:
    again = f"(numbers) => Array.from(unpacked(packed({TYPED}(numbers))))"
    for count in (0, 1, 2, 3, 50):
        numbers = RNG.normal(size=count)
        yield Call(again, [numbers], numbers, exactly=True)
        text = base64.b64encode(numbers.astype("<f8").tobytes()).decode()
        yield Call(f"(numbers) => packed({TYPED}(numbers))", [numbers], text, exactly=True)
    whole = f"""(size) => {{
        const list = {TYPED}({{ length: size }}, (_, i) => i / 7);
        const kept = {{ step: 2, losses: [2.5, 2.25], weights: list, means: list, squares: list }};
        const read = readFile(fileOf({{ task: "back" }}, kept), () => size);
        return [read.settings.task, read.kept.step, read.kept.losses, Array.from(read.kept.squares)]; }}"""
    yield Call(whole, [5], ["back", 2, [2.5, 2.25], (np.arange(5) / 7).tolist()], exactly=True)
    yield from _of_files_as_readers_keep_them()


def _of_files_as_readers_keep_them() -> Iterator[Call]:
    """A file of version 1, built here; a reader who saved one must be able to continue from it."""
    lists = {name: RNG.normal(size=3) for name in ("weights", "means", "squares")}
    coded = {name: base64.b64encode(each.astype("<f8").tobytes()).decode() for name, each in lists.items()}
    file = {"format": "rope-book model of the page", "version": 1, "settings": {"task": "back"}}
    file |= {"losses": [2.5, 2.25]} | coded
    write = f"""(settings, losses, lists) => fileOf(settings, {{ losses,
        ...Object.fromEntries(Object.entries(lists).map(([name, each]) => [name, {TYPED}(each)])) }})"""
    text = json.dumps(file, indent=1)
    yield Call(write, [file["settings"], file["losses"], lists], text, exactly=True)
    read = """(text) => { try { const { settings, kept } = readFile(text, () => 3);
            return [settings, kept.step, kept.losses.length, Array.from(kept.means)]; }
        catch (error) { return error.message; } }"""
    yield Call(read, [text], [file["settings"], 2, 2, lists["means"].tolist()], exactly=True)
    most = json.dumps(file | {"losses": [1.0] * 2000})
    yield Call(read, [most], [file["settings"], 2000, 2000, lists["means"].tolist()], exactly=True)
    infinite = base64.b64encode(np.array([1, 2, np.inf]).tobytes()).decode()
    broken = "This file is broken: its "
    for change, sentence in [
        ({"format": "another"}, "This file does not hold a model of this page."),
        ({"version": 2}, "This file has version 2; this page reads version 1."),
        ({"version": 0}, "This file has version 0; this page reads version 1."),
        ({"losses": [1.0] * 2001}, f"{broken}losses must be at most 2000 numbers."),
        ({"losses": ["1"]}, f"{broken}losses must be at most 2000 numbers."),
        ({"losses": None}, f"{broken}losses must be at most 2000 numbers."),
        ({"means": coded["means"][:16]}, f"{broken}means are no numbers, not 3."),
        ({"means": coded["means"][:8] + "?" + coded["means"][9:]}, f"{broken}means are no numbers, not 3."),
        ({"weights": base64.b64encode(bytes(16)).decode()}, f"{broken}weights are 2 numbers, not 3."),
        ({"squares": infinite}, f"{broken}squares are not all finite."),
    ]:
        yield Call(read, [json.dumps(file | change)], sentence, exactly=True)
    no_json = "This file is not JSON: choose one that “Save the model” wrote."
    yield Call(read, [text[:-1]], no_json, exactly=True)


@room
def of_layers() -> Iterator[Call]:
    yield from linear()
    yield from norms()


def linear() -> Iterator[Call]:
    forward = f"""(x, weight, bias, tokens) => {{
        const layer = {{ weight: {TYPED}(weight), bias: bias && {TYPED}(bias) }};
        const out = new Float64Array((tokens * weight.length * tokens) / x.length);
        linearAll(out, {TYPED}(x), layer, tokens);
        return Array.from(out); }}"""
    back = f"""(x, weight, from, tokens) => {{
        const [into, w] = [{TYPED}(x), {TYPED}(weight)];
        const gradients = {{ weight: w.slice(), bias: new Float64Array(from.length / tokens) }};
        linearBack(into, {TYPED}(from), {TYPED}(x), {{ weight: w }}, gradients, tokens);
        return [into, gradients.weight, gradients.bias].flatMap((part) => Array.from(part)); }}"""
    for tokens, rows, columns in [(4, 8, 5), (5, 7, 3), (1, 3, 2), (2, 4, 1), (3, 17, 32), (6, 5, 4)]:
        x, weight = RNG.normal(size=(tokens, columns)), RNG.normal(size=(rows, columns))
        bias, slope = RNG.normal(size=rows), RNG.normal(size=(tokens, rows))
        given, out = [x.ravel(), weight.ravel()], x @ weight.T
        yield Call(forward, [*given, None, tokens], out.ravel())
        yield Call(forward, [*given, bias, tokens], (out + bias).ravel())
        expected = np.concatenate([(slope @ weight).ravel(), (slope.T @ x).ravel(), slope.sum(0)])
        yield Call(back, [*given, slope.ravel(), tokens], expected)
        yield Call("dotAt", [weight[-1], 0, x[0], 0, columns], float(weight[-1] @ x[0]))


def norms() -> Iterator[Call]:
    for _ in range(4):
        x, bias = RNG.normal(size=(6, 5)), RNG.normal(size=5)
        given, gain, shift, back = (
            tensor(x),
            tensor(bias),
            tensor(RNG.normal(size=5)),
            RNG.normal(size=(6, 5)),
        )
        out = torch.nn.functional.layer_norm(given, (5,), gain, shift)
        gradients = torch.autograd.grad(out, [given, gain, shift], torch.tensor(back))
        both = f"""(...all) => {{ const [x, weight, bias, from] = all.map((part) => {TYPED}(part));
            const stored = {{ out: x.slice(), normed: x.slice(), scale: new Float64Array(6) }};
            normAll(x, {{ weight, bias }}, stored, 6);
            const [into, gradients] = [new Float64Array(30), {{ weight: weight.slice(), bias: bias.slice() }}];
            normBack(into, from, {{ weight }}, stored, gradients, 6);
            return [stored.out, into, gradients.weight, gradients.bias].flatMap((part) => Array.from(part)); }}"""
        expected = np.concatenate([part.detach().numpy().ravel() for part in (out, *gradients)])
        yield Call(both, [x.ravel(), bias, shift.detach().numpy(), back.ravel()], expected)


@room
def of_attend() -> Iterator[Call]:
    both = f"""(numbers, gradient, shape, doors) => {{
        const {"{ rows, seq, heads, wide }"} = shape;
        for (const name in doors) doors[name] = {TYPED}(doors[name]);
        const qkv = {TYPED}(numbers);
        const room = (size) => new Float64Array(rows * heads * seq * size);
        const [weights, mixed] = [room(seq), room(wide)];
        turnAll(qkv, doors, shape, 1);
        attendAll(qkv, weights, mixed, doors, shape);
        const last = new Float64Array(heads * wide); // of the first text
        for (let head = 0; head < heads; head++)
            attendOne(qkv, seq - 1, head, new Float64Array(seq), last, shape, doors.bias.subarray(head * seq));
        const [into, biasGradient] = [new Float64Array(qkv.length), new Float64Array(heads * seq)];
        attendBack(into, {TYPED}(gradient), {{ qkv, weights, biasGradient }}, shape);
        turnAll(into, doors, shape, -1);
        return [mixed, last, into, biasGradient].flatMap((part) => Array.from(part)); }}"""
    for rows, seq, heads, wide in [(1, 4, 1, 2), (2, 5, 2, 4), (3, 7, 2, 16), (2, 6, 3, 2)]:
        numbers, gradient = (
            RNG.normal(size=(rows, seq, 3, heads, wide)),
            RNG.normal(size=(rows, seq, heads * wide)),
        )
        angles, bias = 9 * RNG.random((seq, wide // 2)), RNG.normal(size=(heads, seq))
        qkv, table = tensor(numbers), tensor(bias)
        q, k, v = (part.transpose(1, 2) for part in qkv.unbind(2))
        q, k = (rope_edu.apply_rope(x, torch.tensor(angles), layout="half_split") for x in (q, k))
        distance = np.subtract.outer(np.arange(seq), np.arange(seq))
        mask = torch.tensor(distance < 0)
        scores = q @ k.mT / wide**0.5 + table[:, torch.tensor(distance.clip(0))]
        weights = scores.masked_fill(mask, -torch.inf).softmax(-1)
        mixed = (weights @ v).transpose(1, 2).reshape(rows, seq, heads * wide)
        back = torch.autograd.grad(mixed, [qkv, table], torch.tensor(gradient))
        parts = (mixed, mixed[0, -1], *back)
        expected = np.concatenate([part.detach().numpy().ravel() for part in parts])
        doors = {"cos": np.cos(angles).ravel(), "sin": np.sin(angles).ravel(), "bias": bias.ravel()}
        shape = {"rows": rows, "seq": seq, "heads": heads, "wide": wide}
        yield Call(both, [numbers.ravel(), gradient.ravel(), shape, doors], expected)


@room
def of_page_weights() -> Iterator[Call]:
    constants = [page.WIDTH, page.HEADS, page.HIDDEN, page.BUCKETS]
    yield Call("() => [WIDTH, HEADS, HIDDEN, BUCKETS]", [], constants, exactly=True)
    for case in ("rotary", "learned", "text"):
        settings = SETTINGS | CASES[case]
        yield Call("sizeOf", [settings], page_size(settings), exactly=True)
    listed = "(...all) => weightsOf(...all).map(({ name, rows, columns }) => [name, rows * columns])"
    drawn = """(task, encoding, layers, length, seed) => {
        const { all, of } = drawWeights(weightsOf(task, encoding, layers, length), seed);
        return [Array.from(all), ...Object.values(of).map((part) => part.length)]; }"""
    room_for = (
        "(...of) => { const { all } = roomFor(weightsOf(...of)); return [all.length, Math.max(...all)]; }"
    )
    cases = [("back", "rotary", 1, 8), ("copy", "learned", 2, 6), ("recall", "t5", 1, 9)]
    for case in cases:
        weights = page.draw_weights(*case, 5)
        sizes = [[name, weight.size] for name, weight in weights.items()]
        yield Call(listed, list(case), sizes, exactly=True)
        values = np.concatenate([weight.ravel() for weight in weights.values()])
        yield Call(f"(...all) => ({drawn})(...all)[0]", [*case, 5], values)
        yield Call(room_for, list(case), [values.size, 0], exactly=True)


@room
def of_page_doors() -> Iterator[Call]:
    listed = "(...all) => Array.from("
    for base in (50.0, 1e4, 5e5):
        yield Call("steadyFreq", [16, base], rope_edu.inv_freq(16, base))
        yield Call(f"{listed} addedTo(...all))", ["sinusoidal", base, 30], sinusoids(base).ravel())
    yield Call("(...all) => addedTo(...all) === undefined", ["rotary", 1e4, 9], True, exactly=True)
    turns = "(...all) => { const { cos, sin } = turnsOfPlaces(...all); return [Array.from(cos), Array.from(sin)]; }"
    between = {"encoding": "p-rope", "p": 0.3}  # 2.4 of 8 pairs: two turn
    for changed in ({}, CASES["p-rope"], between, CASES["another base and fewer pairs"]):
        case = SETTINGS | changed
        spec = spec_of(case)
        given = {"invFreq": spec.inv_freq, "attentionFactor": 1.2}
        yield Call("trainedRope", [case], {"invFreq": spec.inv_freq, "attentionFactor": 1})
        angles = np.outer(np.arange(97), spec.inv_freq)
        yield Call(
            turns,
            [case["encoding"], given, 97],
            1.2 * np.stack([np.cos(angles), np.sin(angles)]).reshape(2, -1),
        )
    for rule, times in [
        ("none", 4),
        ("pi", 1),
        ("pi", 3),
        ("ntk-aware", 4),
        ("yarn", 2),
        ("by-parts", 4),
        ("llama3", 3),
        ("abf", 2),
    ]:
        state = SETTINGS | {"rule": rule, "times": times, "abf_base": 500_000.0}
        yield Call("readingRope", [state, 24], turning(rule, times))
    bias = alibi_bias(page.HEADS, 40, 40)[:, -1, ::-1]
    yield Call(f"{listed} biasOfDistances(...all))", ["alibi", 40], bias.ravel())
    assert (bias[:, 1] == -np.asarray(alibi_slopes(page.HEADS))).all()
    table = RNG.normal(size=(page.BUCKETS, page.HEADS))
    bucket = t5_bucket(-np.arange(200), bidirectional=False)
    by_t5 = f"(table) => Array.from(biasOfDistances('t5', 200, {TYPED}(table)))"
    yield Call(by_t5, [table.ravel()], table[bucket].T.ravel())
    gradients, back = RNG.normal(size=(page.HEADS, 200)), np.zeros_like(table)
    np.add.at(back, bucket, gradients.T)
    summed = f"""(gradients) => {{ const table = new Float64Array({table.size});
        bucketsBack(table, {TYPED}(gradients), 200); return Array.from(table); }}"""
    yield Call(summed, [gradients.ravel()], back.ravel())


def sinusoids(base: float) -> np.ndarray:
    return np.asarray(rope_edu.sinusoidal(np.arange(30), page.WIDTH, base))


def turning(rule: str, times: float) -> dict[str, Any]:
    ramp = {"beta_slow": 0.5, "beta_fast": 2.0, "ramp": "turns"}
    spec = {
        "none": lambda: plain_rope(16),
        "pi": lambda: scaling.position_interpolation(16, times),
        "ntk-aware": lambda: scaling.ntk_aware(16, times),
        "yarn": lambda: scaling.yarn(16, times, 24, **ramp),
        "by-parts": lambda: scaling.ntk_by_parts(16, times, 24, beta_fast=2.0, beta_slow=0.5),
        "llama3": lambda: scaling.llama3(
            16, times, 24, low_freq_factor=0.5, high_freq_factor=2.0, base=10_000.0
        ),
        "abf": lambda: plain_rope(16, 500_000.0),
    }[rule]()
    return {"invFreq": spec.inv_freq, "attentionFactor": spec.attention_factor}


@room
def of_block() -> Iterator[Call]:
    both = f"""(of, numbers, from, rows, seq) => {{
        for (const name in of) of[name] = {TYPED}(of[name]);
        const gradients = Object.fromEntries(Object.entries(of).map(([name, part]) => [name, part.slice()]));
        const space = new Workspace(of, {{ rows, seq, heads: 2, wide: 16 }}, gradients);
        const [x, into] = [{TYPED}(numbers), {TYPED}(from)];
        blockForward(space, "blocks.0", x);
        blockBack(space, "blocks.0", into, into.slice());
        return [x, into, ...Object.values(gradients)].flatMap((part) => Array.from(part)); }}"""
    for rows, seq in [(1, 1), (1, 6), (2, 5), (3, 4)]:
        block = torch_training.make_model(SETTINGS | {"encoding": "none"}).blocks[0]
        named = {f"blocks.0.{name}": weight for name, weight in block.named_parameters()}
        for weight in named.values():
            torch.nn.init.normal_(weight, std=0.4)  # gains and biases too
        x, back = tensor(RNG.normal(size=(rows, seq, page.WIDTH))), RNG.normal(size=(rows, seq, page.WIDTH))
        out = block(x, Encoding(), range(seq))
        gradients = torch.autograd.grad(out, [x, *named.values()], torch.tensor(back))
        expected = np.concatenate([part.detach().numpy().ravel() for part in (out, *gradients)])
        weights = {name: weight.detach().numpy().ravel() for name, weight in named.items()}
        yield Call(both, [weights, x.detach().numpy().ravel(), back.ravel(), rows, seq], expected)


@room
def of_back() -> Iterator[Call]:
    for each in (norms, of_attend, of_block):
        yield from each()


@room
def of_network() -> Iterator[Call]:
    made = f"""(of, encoding, words, rope) => {{
        for (const name in of) of[name] = {TYPED}(of[name]);
        const model = {{ weights: {{ of }}, encoding, base: 10000 }};
        const network = new Network(model, words.length, words[0].length, rope);
        return Array.from(network.forward(Int32Array.from(words.flat()))); }}"""
    for case in ("rotary", "learned", "t5", "sinusoidal", "copy in two layers"):
        settings = SETTINGS | CASES[case]
        model, words = torch_training.make_model(settings), RNG.integers(17, size=(2, 9))
        weights = {name: weight.detach().numpy().ravel() for name, weight in model.state_dict().items()}
        rope = {"invFreq": spec_of(settings).inv_freq, "attentionFactor": 1}
        with torch.no_grad():
            logits = model(torch.tensor(words)).numpy().ravel()
        yield Call(made, [weights, settings["encoding"], words, rope], logits)


@room
def of_page_plan() -> Iterator[Call]:
    config = TrainingConfig("back", steps=400, learning_rate=0.007)
    for step in (1, 39, 40, 41, 220, 400):
        yield Call("rateOf", [0.007, step, 400], learning_rate(config, step))
    yield Call("rateOf", [0.007, 700, 400], 0.0007)
    same = "(a, b) => runName(a) === runName(b)"
    yield Call(same, [SETTINGS, SETTINGS | {"times": 4, "rule": "pi", "steps": 9}], True, exactly=True)
    yield Call(same, [SETTINGS, SETTINGS | {"seed": 1}], False, exactly=True)


@room
def of_page_run() -> Iterator[Call]:
    again = """(settings, until, more) => {
        const [run, other] = [new Run(settings), new Run(settings)];
        for (let n = 0; n < until; n++) run.train();
        other.restore(run.kept());
        for (let n = 0; n < more; n++) for (const each of [run, other]) each.train();
        const same = other.weights.all.every((weight, i) => weight === run.weights.all[i]);
        return [other.step, same, other.losses.every((loss, n) => loss === run.losses[n])]; }"""
    for case in ("rotary", "learned", "copy in two layers"):
        yield Call(again, [SETTINGS | CASES[case], 3, 3], [6, True, True], exactly=True)
    inside = """(settings) => {
        const { seq, weights, pairs } = new Run(settings).inside({ times: 1, rule: "none", head: 2 });
        const sums = Array.from({ length: seq }, (_, i) => weights.slice(i * seq, (i + 1) * seq));
        return [seq, pairs.length, ...sums.map((row) => row.reduce((sum, part) => sum + part, 0))]; }"""
    yield Call(inside, [SETTINGS], [25, 8, *[1.0] * 25])
    right = """(settings, reading) => {
        const run = new Run(settings);
        for (let i = 0; i < 3; i++) run.train();
        return [run.step, run.right(reading).length, run.losses.length]; }"""
    for task, times, places in [("back", 1, 25), ("copy", 2, 97), ("recall", 4, 97)]:
        reading = {"times": times, "rule": "none"}
        yield Call(right, [SETTINGS | {"task": task}, reading], [3, places, 3], exactly=True)
    still = """(settings, reading) => { const run = new Run(settings);
        run.weights.all.fill(0); // all logits are 0, and the first of them counts as said
        return Array.from(run.right(reading), (share) => (share >= 0 ? share : -1)); }"""
    for task, times in [("back", 1), ("copy", 2), ("recall", 1)]:
        settings = SETTINGS | {"task": task}
        texts = page.draw_texts(task, "test", 0, 0, 32, times * settings["length"])
        asked = texts.counts.sum(0)
        shares = (texts.counts & (texts.targets == 0)).sum(0) / np.maximum(asked, 1)
        yield Call(still, [settings, {"times": times, "rule": "none"}], np.where(asked > 0, shares, -1))


def page_size(settings: dict[str, Any]) -> int:
    named = page.weights_of(*(settings[name] for name in ("task", "encoding", "layers", "length")))
    return sum(int(np.prod(shape)) for _, shape, _, _ in named)


@room
def of_page_answer() -> Iterator[Call]:
    asked = """(settings, untils) => untils.map((until) => {
        const { step, losses, right } = answer({ settings, until, look: until > 2 });
        return [step, losses.length, right ? right.length : 0]; })"""
    state = SETTINGS | {"times": 2, "rule": "none"}
    yield Call(asked, [state, [1, 3, 3, 2]], [[1, 1, 0], [3, 3, 49], [3, 3, 49], [2, 2, 0]], exactly=True)
    kept = """(settings) => {
        const { kept } = answer({ settings, until: 2, keep: true });
        const { inside, step } = answer({ settings: { ...settings, head: 1 }, until: 2, look: true, kept });
        return [kept.losses.length, kept.weights.length, inside.seq, step]; }"""
    yield Call(kept, [state], [2, page_size(state), 25, 2], exactly=True)
    again = """(settings) => {
        const ask = (until) => answer({ settings, until, look: true });
        const whole = ask(4);
        const back = [2, 3, 4].map(ask).at(-1);
        return JSON.stringify(whole) === JSON.stringify(back); }"""
    for case in ("rotary", "t5", "recall"):
        yield Call(again, [state | CASES[case]], True, exactly=True)
