"""Each row of the page "What we found in released libraries", in its smallest form, with its version."""

import re
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from rope_edu.clinic import check_decoder, check_model  # noqa: E402
from rope_edu.clinic.decoder import of_transformers  # noqa: E402

from .test_models_in_field import ARCHITECTURES  # noqa: E402
from .tiny import tiny  # noqa: E402

PAGE = (Path(__file__).resolve().parents[2] / "book" / "found.md").read_text(encoding="utf-8")
DYNAMIC = {"rope_type": "dynamic", "rope_theta": 1e4, "factor": 2.0}
LONGROPE = {
    "rope_type": "longrope",
    "rope_theta": 1e4,
    "short_factor": [1.0] * 8,
    "long_factor": [2.0 + pair for pair in range(8)],
    "factor": 4.0,
}


def cosines(model, length):
    """Cosines of positions 0 to length − 1."""
    return model.model.rotary_emb(torch.zeros(1, 1, 1), torch.arange(length)[None])[0][0]


def source(line):
    """The line of transformers that the page names."""
    found = re.search(rf"`([\w/]+\.py):(\d+)`[^|]*{re.escape(line)}", PAGE)
    assert found, line
    text = (Path(transformers.__file__).parent / found[1]).read_text(encoding="utf-8")
    return text.splitlines()[int(found[2]) - 1]


def test_the_page_names_the_version_that_is_tested_and_the_number_of_architectures():
    assert f"transformers {transformers.__version__}" in PAGE
    assert f"{len(ARCHITECTURES)} architectures" in PAGE


def test_dynamic_ntk_keeps_frequencies_of_a_longer_text():
    model = tiny("llama", rope_parameters=DYNAMIC, max_position_embeddings=128)
    before = {length: cosines(model, length) for length in (128, 256)}
    cosines(model, 512)
    assert float((cosines(model, 256) - before[256]).abs().max()) > 0.5
    assert float((cosines(model, 128) - before[128]).abs().max()) > 0.5  # exactly the trained length
    assert torch.equal(cosines(model, 127), before[128][:127])  # one token less is right
    assert "seq_len < self.original_max_seq_len" in source("seq_len < self.original_max_seq_len")


@pytest.mark.parametrize(("name", "rule"), [("llama", DYNAMIC), ("phi3", LONGROPE)])
def test_cached_keys_keep_the_frequencies_of_before(name, rule):
    model = tiny(name, rope_parameters=rule, max_position_embeddings=128)
    assert check_decoder(model).of("across the trained length").outcome == "differs"


@pytest.mark.parametrize("name", ["gptj", "codegen"])
def test_a_table_made_in_bfloat16_has_frequencies_of_eight_bits(name, tmp_path):
    made = tiny(name, width=torch.bfloat16)
    assert check_model(made).right is False
    tiny(name).save_pretrained(tmp_path)
    loaded = transformers.AutoModelForCausalLM.from_pretrained(tmp_path, dtype=torch.bfloat16)
    assert check_model(loaded).right is True
    assert "torch.arange(0, dim, 2, dtype=torch.int64) / dim" in source(
        "torch.arange(0, dim, 2, dtype=torch.int64)"
    )


def test_to_bfloat16_casts_the_frequencies():
    model = tiny("llama").to(torch.bfloat16)
    report = check_model(model)
    assert "it was cast to bfloat16 with the model" in str(report)


@pytest.mark.parametrize(
    ("turning", "relative"), [([1, 0], True), ([0, 1], True), ([1, 1], True), ([0, 0], None)]
)
def test_a_model_is_relative_if_one_of_its_layers_turns(turning, relative):
    made = of_transformers(tiny("smollm3", no_rope_layers=turning))
    assert made.relative is relative


@pytest.mark.parametrize("width", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("base", [1e4, 1e6, 5e8])
def test_frequencies_cast_to_16_bits_are_told_at_any_base(width, base):
    """Float16 keeps steps of 6e-8 at its lower end: the slowest frequencies are off by more than its digits say."""
    model = tiny("llama", rope_parameters={"rope_type": "default", "rope_theta": base})
    model.model.rotary_emb.inv_freq = model.model.rotary_emb.inv_freq.to(width)
    assert f"it was cast to {str(width).removeprefix('torch.')} with the model" in str(check_model(model))


def test_nanochat_turns_clockwise_and_the_tool_knows_it():
    assert check_model(tiny("nanochat")).right is True
    assert "(x2, -x1)" in source("torch.cat((x2, -x1), dim=-1)")


@pytest.mark.parametrize(("name", "error"), [("dbrx", AttributeError), ("cohere_compass_text", KeyError)])
def test_defaults_that_make_no_model(name, error):
    small = {"n_layers": 1, "d_model": 64, "n_heads": 4} if name == "dbrx" else {"num_hidden_layers": 1}
    with pytest.raises(error):
        tiny(name, vocab_size=32, **small)


@pytest.mark.parametrize("flash", [True, False])
def test_x_transformers_is_right_whole_and_step_by_step(flash):
    x_transformers = pytest.importorskip("x_transformers")
    layers = x_transformers.Decoder(
        dim=64, depth=2, heads=4, attn_dim_head=16, rotary_pos_emb=True, attn_flash=flash
    )
    model = x_transformers.TransformerWrapper(
        num_tokens=60, max_seq_len=256, use_abs_pos_emb=False, attn_layers=layers
    ).eval()
    report = check_model(model, {"model_type": "gptj", "head_dim": 16, "rotary_dim": 8})
    assert report.right is True

    def decoder(tokens, *, mask=None, cache=None):
        tokens = torch.tensor(tokens)
        before, kept = (tokens[:, :0], None) if cache is None else cache
        found = []
        for size in [tokens.shape[1]] if kept is None else [1] * tokens.shape[1]:  # it takes one at a time
            done = sum(each.shape[1] for each in found)
            before = torch.cat((before, tokens[:, done : done + size]), dim=1)
            given = {} if mask is None else {"mask": torch.tensor(mask[:, : before.shape[1]]).bool()}
            with torch.no_grad():
                logits, kept = model(before, return_intermediates=True, cache=kept, **given)
            found.append(logits[:, -size:].numpy())
        return np.concatenate(found, axis=1), (before, kept)

    checked = check_decoder(decoder, relative=True)
    assert checked.right is True
    assert checked.of("rows at length 1").outcome == "same"
