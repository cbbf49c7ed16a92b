"""The tiny transformer: incremental decoding, gradients, compilation, refusals."""

import pytest
import torch

from rope_book.training.transformer import TinyTransformer
from rope_edu.nn import ENCODINGS

EVERY = (*ENCODINGS, "dynamic-ntk")
SIZES = {"d_model": 16, "n_layers": 2, "n_heads": 2, "d_ff": 16, "max_len": 24}
COMPILES = pytest.mark.filterwarnings(
    "ignore::UserWarning", "ignore::DeprecationWarning"
)  # of torch's own parts


def make(name, vocab_size=7, **options):
    torch.manual_seed(0)
    model = TinyTransformer(vocab_size, encoding=name, **SIZES | options)
    for weight in model.encodings.parameters():
        torch.nn.init.normal_(weight, std=0.3) if weight.ndim > 1 else None
    return model


TOKENS = torch.randint(7, (2, 12), generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("name", ENCODINGS)
@pytest.mark.parametrize("pieces", [(1,) * 12, (5, 4, 3), (12,)])
def test_incremental_decoding_equals_the_full_forward_pass(name, pieces):
    model = make(name).double().eval()
    with torch.no_grad():
        cache = model.new_cache()
        logits = torch.cat([model(piece, cache) for piece in TOKENS.split(pieces, dim=1)], dim=1)
        torch.testing.assert_close(logits, model(TOKENS), rtol=0, atol=1e-12)
    assert [layer.seen for layer in cache] == [12, 12]


def test_dynamic_ntk_refuses_a_cache_with_the_reason():
    model = make("dynamic-ntk")
    assert model(TOKENS).shape == (2, 12, 7)
    for use in (model.new_cache, lambda: model(TOKENS, cache=make("rotary").new_cache())):
        with pytest.raises(ValueError, match=r"'dynamic-ntk' cannot use a cache: .*frequencies"):
            use()
    assert model.generate(TOKENS, 2).shape == (2, 14)  # without a cache


@pytest.mark.parametrize("name", EVERY)
def test_no_token_sees_later_tokens(name):
    model = (make(name) if name != "dynamic-ntk" else make(name, trained_length=64)).double()
    changed = TOKENS.clone()
    changed[:, 8:] = (changed[:, 8:] + 1) % 7
    torch.testing.assert_close(model(TOKENS)[:, :8], model(changed)[:, :8], rtol=0, atol=1e-12)
    assert not torch.allclose(model(TOKENS)[:, 8:], model(changed)[:, 8:], atol=1e-3)


@pytest.mark.parametrize("name", EVERY)
def test_every_parameter_gets_a_finite_nonzero_gradient(name):
    model = make(name, max_len=12)
    model(TOKENS).square().sum().backward()
    for label, weight in model.named_parameters():
        assert weight.grad is not None, label
        assert torch.isfinite(weight.grad).all(), label
        assert weight.grad.abs().max() > 0, label
    if name == "learned-rotary":
        assert (model.encodings[0].log_inv_freq.grad != 0).all()
    if name == "learned":
        assert (model.encodings[0].table.grad.abs().amax(-1) > 0).all()


@pytest.mark.sampled
@pytest.mark.long
@pytest.mark.parametrize("name", EVERY)
def test_gradients_equal_finite_differences_in_float64(name):
    sizes = {"d_model": 4, "n_layers": 1, "n_heads": 1, "d_ff": 4, "max_len": 4}
    model, tokens = make(name, vocab_size=3, **sizes).double(), torch.tensor([[0, 2, 1, 2]])
    names, weights = zip(*model.named_parameters(), strict=True)

    def forward(*values):
        return torch.func.functional_call(model, dict(zip(names, values, strict=True)), tokens)

    assert torch.autograd.gradcheck(forward, weights)


@pytest.mark.sampled
@pytest.mark.long
@COMPILES
@pytest.mark.parametrize("name", ["rotary", "learned-rotary"])
def test_the_rotary_path_compiles_as_one_graph_and_leaves_the_memoised_tables_alone(name):
    model = make(name).double()
    torch.compiler.reset()
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    logits = compiled(TOKENS)
    assert model.encodings[0].doors._last == (None, None)
    torch.testing.assert_close(logits, model(TOKENS), rtol=0, atol=1e-12)


@COMPILES
def test_the_rotary_path_compiled_by_inductor_equals_eager_forwards_and_backwards(monkeypatch):
    model = make("rotary", n_layers=1).double()
    torch.compiler.reset()
    monkeypatch.setattr(
        "torch._inductor.config.compile_threads", 1
    )  # starting workers takes longer than they save
    compiled = torch.compile(model, fullgraph=True, backend="inductor")
    gradients = []
    for run in (model, compiled):
        model.zero_grad()
        logits = run(TOKENS)
        logits.square().mean().backward()
        gradients.append([logits.detach(), *(weight.grad.clone() for weight in model.parameters())])
    for eager, other in zip(*gradients, strict=True):
        torch.testing.assert_close(eager, other, rtol=0, atol=1e-12)


@pytest.mark.parametrize("temperature", [0.0, 0.7])
def test_generating_with_and_without_a_cache_gives_the_same_tokens(temperature):
    model = make("rotary").double()  # float64, so that rounding decides no near tie
    options = {"temperature": temperature, "seed": 3}
    texts = [model.generate(TOKENS[:, :4], 6, use_cache=use, **options) for use in (True, False)]
    assert torch.equal(*texts)
    assert torch.equal(texts[0][:, :4], TOKENS[:, :4])
    assert texts[0].shape == (2, 10)


def test_greedy_generation_takes_the_most_likely_token_and_sampling_depends_on_its_seed_only():
    model = make("alibi")
    text = model.generate(TOKENS, 1)
    assert torch.equal(text[:, -1], model(TOKENS)[:, -1].argmax(-1))
    drawn = [model.generate(TOKENS, 8, temperature=5.0, seed=seed) for seed in (1, 1, 2)]
    assert torch.equal(drawn[0], drawn[1])
    assert not torch.equal(drawn[0], drawn[2])


def test_a_full_cache_is_an_error_or_forgets_the_oldest():
    model = make("rotary")
    with torch.no_grad(), pytest.raises(ValueError, match="capacity"):
        model(TOKENS, model.new_cache(8))
    cache = model.new_cache(8, when_full="evict")
    with torch.no_grad():
        for token in TOKENS.split(1, dim=1):
            model(token, cache)
    assert (cache[0].length, cache[0].seen) == (8, 12)


def test_the_same_seed_gives_the_same_weights_outside_the_encoding():
    first, second = make("rotary"), make("none")
    assert torch.equal(first.head.weight, second.head.weight)
    assert torch.equal(first.blocks[1].mlp[2].weight, second.blocks[1].mlp[2].weight)


def test_two_models_never_share_memoised_tables():
    fast, slow = make("rotary", base=10.0), make("rotary", base=1e6)
    assert not torch.allclose(fast(TOKENS), slow(TOKENS), atol=1e-3)


@pytest.mark.parametrize(
    ("tokens", "sentence"),
    [
        (torch.tensor([[0, 7]]), "tokens must be 0 to 6, the vocabulary, got 7"),
        (torch.tensor([[0, -1]]), "tokens must be 0 to 6, the vocabulary, got -1"),
        (torch.tensor([[0.5]]), "tokens must be ints"),
        (torch.empty(1, 0, dtype=torch.int64), "seq ≥ 1"),
    ],
)
def test_invalid_tokens_are_refused(tokens, sentence):
    with pytest.raises(ValueError, match=sentence):
        make("rotary")(tokens)


def test_only_a_learned_table_limits_the_length():
    tokens = torch.zeros(1, 25, dtype=torch.int64)
    with pytest.raises(ValueError, match="its 24 rows serve positions 0 to 23"):
        make("learned")(tokens)
    for name in ENCODINGS:
        if name != "learned":
            assert make(name)(tokens).isfinite().all()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [({"n_heads": 3}, "n_heads must divide d_model = 16, got 3"), ({"n_layers": 0}, "n_layers must be")],
)
def test_invalid_sizes_are_refused(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        make("rotary", **options)


@pytest.mark.parametrize(
    ("n", "temperature", "sentence"), [(0, 0, "n must be"), (1, -1, "temperature must be")]
)
def test_generation_refuses_invalid_arguments(n, temperature, sentence):
    with pytest.raises(ValueError, match=sentence):
        make("rotary").generate(TOKENS, n, temperature=temperature)


def test_weights_can_be_copied_and_stored():
    for name in EVERY:
        model, other = make(name), TinyTransformer(7, encoding=name, **SIZES)
        model(TOKENS)
        other.load_state_dict(model.state_dict())
        assert torch.equal(model(TOKENS), other(TOKENS))
