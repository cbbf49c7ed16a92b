"""SmolLM2 is the model that transformers runs, and its positions are an argument."""

import textwrap
from pathlib import Path

import pytest
import torch

from rope_book.real import __main__ as command
from rope_book.real.file import find_weights
from rope_doctor.clinic import BROKEN
from rope_edu import plain_rope
from rope_edu.attention.encoding import PositionEncoding, Rotary
from rope_edu.encodings import convert_projection
from rope_edu.fast import RotaryTable

PROMPT = "A good way to cook rice is to wash it first, then"
PROMPT_IDS = [49, 1123, 970, 288, 4857, 7341, 314, 288, 10310, 357, 808, 28, 965]
TEXT = "The cat sat on the mat, and the dog lay down beside it. " * 3
TEXTS = (
    TEXT,
    "It's 12,345.67 € in 2024",
    "  def f(x):\n\treturn x**2  # ½ ² ٣",
    "日本語 naïve <|im_start|>user\nhi<|im_end|>",
    "don't we'll I'VE\r\n\n\n x",
    "a" * 40 + " " * 9,
    "",
)


@pytest.fixture(scope="module")
def ids(model):
    return model.ids(TEXT)


@pytest.fixture(scope="module")
def right(model, ids):
    """Return the right logits after every token of TEXT."""
    return model.logits(ids)


@pytest.fixture(scope="module")
def peer(model):
    """Return transformers' Llama with the same weights, and the rows of W_q and W_k in its layout."""
    transformers = pytest.importorskip("transformers")
    sizes = model.model.sizes
    config = transformers.LlamaConfig(
        vocab_size=sizes.vocab_size,
        hidden_size=sizes.d_model,
        intermediate_size=sizes.d_ff,
        num_hidden_layers=sizes.n_layers,
        num_attention_heads=sizes.n_heads,
        num_key_value_heads=sizes.n_kv_heads,
        rms_norm_eps=sizes.eps,
        rope_theta=model.spec.base,
        max_position_embeddings=8192,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=None,
        pad_token_id=0,
    )
    names = {
        "embedding.": "model.embed_tokens.",
        "blocks.": "model.layers.",
        "norm.": "model.norm.",
        "norm_1": "input_layernorm",
        "norm_2": "post_attention_layernorm",
        "attention.w_": "self_attn.",
        "mlp.w_": "mlp.",
    }
    weights = {}
    for name, weight in model.model.state_dict().items():
        if name.endswith(("w_q.weight", "w_k.weight")):
            heads = sizes.n_heads if "w_q" in name else sizes.n_kv_heads
            weight = convert_projection(weight, heads, to="half_split")
        for ours, theirs in names.items():
            name = theirs + name.removeprefix(ours) if ours.endswith(".") and name.startswith(ours) else name
            name = name if ours.endswith(".") else name.replace(ours, theirs)
        for part in ("self_attn.", "mlp."):
            head, found, rest = name.partition(part)
            if found:
                letter, _, weight_name = rest.partition(".")
                name = f"{head}{part}{letter}_proj.{weight_name}"
        weights[name] = weight
    with torch.device("meta"):
        llama = transformers.LlamaForCausalLM(config)
    missing, unknown = llama.load_state_dict(weights, strict=False, assign=True)
    assert (missing, unknown) == (["lm_head.weight"], [])
    llama.tie_weights()
    llama.model.rotary_emb = type(llama.model.rotary_emb)(config)  # its frequencies were on the meta device
    return llama.eval()


def test_logits_are_those_of_transformers(model, peer, ids, right):
    with torch.inference_mode():
        theirs = peer(torch.tensor([ids])).logits[0]
    assert (right - theirs).abs().max() < 1e-3
    exchanged = model.logits(ids, model.spec.replace(layout="half_split"))
    assert (exchanged - theirs).abs().max() > 10


@pytest.mark.nightly
def test_perplexity_is_that_of_llama_cpp(model):
    """llama.cpp rounds activations, which moves a token's loss by 0.05 nats on average and the mean hardly.

    On 512 tokens of Python 3.11's textwrap.py it has 11.94, and ours is 11.97. Run it by hand, for the package is
    compiled for ten minutes or more: `pip install llama-cpp-python==0.3.36`, then
    `python -m pytest tests/book/real/test_real_model.py -k llama_cpp`.
    """
    llama_cpp = pytest.importorskip("llama_cpp")
    ids = model.ids(Path(textwrap.__file__).read_text("utf-8"))[:512]
    peer = llama_cpp.Llama(str(find_weights()), n_ctx=512, logits_all=True, verbose=False)
    peer.eval(ids)
    logs = torch.as_tensor(peer.scores[:511].copy()).log_softmax(-1)
    theirs = -logs.gather(-1, torch.tensor(ids[1:])[:, None]).mean()
    assert theirs.exp().item() == pytest.approx(model.perplexity(ids), rel=0.02)


@pytest.mark.nightly
def test_tokens_are_those_of_llama_cpp(model):
    """transformers 5.23 splits "½ ² ٣" in another way when it converts the file. Run it by hand, as above."""
    llama_cpp = pytest.importorskip("llama_cpp")
    peer = llama_cpp.Llama(str(find_weights()), vocab_only=True, verbose=False)
    for text in filter(None, TEXTS):
        assert model.ids(text) == peer.tokenize(text.encode(), add_bos=False, special=True)


@pytest.mark.nightly
def test_it_writes_the_same_64_tokens_as_transformers(model, peer):
    ids = model.ids(PROMPT)
    with torch.inference_mode():
        theirs = peer.generate(
            torch.tensor([ids]), attention_mask=torch.ones(1, len(ids)), max_new_tokens=64, do_sample=False
        )
    assert model.greedy(PROMPT, 64) == model.text(theirs[0, len(ids) :].tolist())


@pytest.mark.parametrize("text", TEXTS)
def test_text_is_split_and_joined_again(model, text):
    assert model.text(model.ids(text)) == text


def test_tokens_are_those_of_the_model(model):
    """These ids are what transformers 5.23 returns for its own conversion of the file."""
    assert model.ids(PROMPT) == PROMPT_IDS
    digits = model.ids("12,345")
    assert [model.text([token]) for token in digits] == ["1", "2", ",", "3", "4", "5"]
    assert model.ids("<|im_start|>") == [1]


def test_the_cache_changes_no_logit(model):
    class WithoutCache(Rotary):
        cache_problem = "for this test"

    ways = [Rotary(model.spec), WithoutCache(model.spec)]
    cached, whole = (torch.stack(list(model.steps(PROMPT_IDS, 4, way))) for way in ways)
    assert torch.allclose(cached, whole, atol=1e-3)


def test_only_distances_count(model, ids, right):
    moved = model.logits(ids, positions=range(500, 500 + len(ids)))
    assert torch.allclose(moved, right, atol=5e-3)
    gap = [n + 40 * (n > 20) for n in range(len(ids))]
    changed = (model.logits(ids, positions=gap) - right).abs().amax(-1)
    assert changed[:21].max() < 5e-3 < 0.1 < changed[21:].max()


def test_every_kind_of_position_is_taken(model, ids, right):
    ids, right = ids[:12], right[:12]
    for same in (model.spec, RotaryTable(model.spec), Rotary(model.spec), plain_rope(64, 1e5)):
        assert torch.allclose(model.logits(ids, same), right, atol=1e-3)
    for other in ("none", "alibi", "sinusoidal", PositionEncoding(), plain_rope(64, 1e4)):
        assert (model.logits(ids, other) - right).abs().max() > 1


def test_a_broken_rotation_of_the_clinic_is_taken(model, ids):
    ids = ids[:12]
    backwards = model.logits(ids, rotate=BROKEN["turns_backwards"](model.spec))
    as_spec = model.logits(ids, model.spec.replace(inv_freq=-model.spec.inv_freq))
    assert torch.allclose(backwards, as_spec, atol=1e-3)
    still = model.greedy(PROMPT, 2, rotate=BROKEN["no_position"](model.spec))
    assert still == model.greedy(PROMPT, 2, "none")


def test_losses_are_those_of_the_logits_and_rows_of_a_batch_are_texts(model, ids):
    # a softmax over 49,152 tokens in float32 keeps four digits, whatever the order of its sum
    rows = torch.tensor([ids[:13], PROMPT_IDS])
    logs = model.logits(rows).log_softmax(-1)
    expected = -logs[:, :-1].gather(-1, rows[:, 1:, None])[..., 0]
    assert torch.allclose(model.losses(rows), expected, atol=1e-3)
    assert torch.allclose(model.losses(rows[1]), expected[1], atol=1e-3)
    assert model.perplexity(rows[1]) == pytest.approx(expected[1].mean().exp().item(), rel=1e-3)


def test_wrong_arguments_get_sentences(model):
    with pytest.raises(ValueError, match="not both"):
        model.logits([1], model.spec, rotate=BROKEN["no_position"](model.spec))
    with pytest.raises(ValueError, match="0 to 49151, got 49152"):
        model.logits([49152])
    with pytest.raises(ValueError, match="seq ≥ 1"):
        model.logits([])
    with pytest.raises(ValueError, match="one for each of the 2 tokens, got 3"):
        model.logits([1, 2], positions=[0, 1, 2])
    with pytest.raises(ValueError, match="heads of 64"):
        model.greedy("x", 1, plain_rope(32))


def test_a_reader_breaks_it_in_one_line(model, capsys, monkeypatch):
    monkeypatch.setattr(command, "load", lambda path: model)
    assert command.main([PROMPT, "--tokens", "3"]) == 0
    right = capsys.readouterr().out
    assert right.strip() == PROMPT + model.greedy(PROMPT, 3)
    assert command.main([PROMPT, "--tokens", "3", "--layout", "half_split"]) == 0
    assert capsys.readouterr().out != right
    assert command.main([PROMPT, "--mistake", "nonsense"]) == 2
    assert "mistake must be one of" in capsys.readouterr().err
