"""Where models leave layers without position, the reader names the layers in which they rotate."""

import importlib
import json

import pytest

from rope_doctor.config import read_config

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from tiny import small_config  # noqa: E402

pytestmark = pytest.mark.long

LAYERS = 8
FAMILIES = [
    *("afmoe", "cohere2", "cohere2_moe", "exaone4", "exaone_moe", "flint", "granite_swa", "kolibri1"),
    *("llama4_text", "muse_glimmer_text", "muse_spark_text", "smollm3"),
]


def layers_that_rotate(config, monkeypatch):
    """The layers of the model, as it runs, in which its function that rotates is called."""
    model = transformers.AutoModel.from_config(config).eval()
    modeling, running, found = importlib.import_module(type(model).__module__), [], set()

    def watched(rotate):
        return lambda *args, **options: (found.add(running[-1]), rotate(*args, **options))[1]

    for name in ("apply_rotary_pos_emb", "apply_rotary_emb"):
        if hasattr(modeling, name):
            monkeypatch.setattr(modeling, name, watched(getattr(modeling, name)))
    lists = (part for part in model.modules() if isinstance(part, torch.nn.ModuleList))
    for index, layer in enumerate(next(each for each in lists if len(each) == LAYERS)):
        layer.register_forward_pre_hook(lambda *_, index=index: running.append(index))
    model(torch.arange(12)[None])
    return found


def layers_as_read(file):
    """The layers that rotate by what the reader says of the file."""
    listed = file.get("no_rope_layers") or file["layer_types"]
    labels = {1: None, 0: "nope"} if file.get("no_rope_layers") else {kind: kind for kind in listed}
    turns = {key: read_config(file, layer_type=label).spec.kind != "nope" for key, label in labels.items()}
    return {index for index, key in enumerate(listed) if turns[key]}


@pytest.mark.parametrize("family", FAMILIES)
def test_the_reader_leaves_out_the_layers_in_which_the_model_does_not_rotate(family, monkeypatch):
    config = small_config(family, num_hidden_layers=LAYERS)
    file = json.loads(config.to_json_string())
    rotating = layers_that_rotate(config, monkeypatch)
    assert layers_as_read(file) == rotating
    assert (len(rotating) < LAYERS) == (family != "granite_swa")  # whose file has to ask for it


@pytest.mark.parametrize("asked", [True, False])
def test_zamba2_rotates_if_it_is_asked_to_and_by_the_width_of_its_attention(asked):
    config = transformers.Zamba2Config(use_mem_rope=asked)
    file = json.loads(config.to_json_string())
    if not asked:
        with pytest.raises(ValueError, match="use_mem_rope"):
            read_config(file)
        return
    modeling = importlib.import_module("transformers.models.zamba2.modeling_zamba2")
    theirs = modeling.Zamba2RotaryEmbedding(config).inv_freq.double().numpy()
    spec = read_config(file).spec
    assert 2 * len(theirs) == spec.rotary_dim == config.attention_head_dim
    assert spec.inv_freq == pytest.approx(theirs, rel=2e-6)  # float32


@pytest.mark.parametrize("share", [1.0, 0.5])
def test_nomic_rotates_the_share_that_rotary_emb_fraction_states(share):
    file = {"model_type": "nomic_bert", "n_embd": 768, "n_head": 12, "rotary_emb_base": 1000}
    spec = read_config(file | {"rotary_emb_fraction": share}).spec
    assert (spec.head_dim, spec.rotary_dim) == (64, 64 * share)
    assert spec.inv_freq[1] == pytest.approx(1000 ** (-2 / (64 * share)))
