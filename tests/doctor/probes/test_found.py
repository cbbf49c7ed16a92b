"""Each row of the page "What we found in released libraries", in its smallest form, with its version."""

import json

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

import found  # noqa: E402

from makers.round_trips import BASE, DATA, old_file, trips  # noqa: E402
from rope_doctor.clinic import diagnose  # noqa: E402
from rope_doctor.command import compare  # noqa: E402
from rope_doctor.probes import check_decoder, check_model  # noqa: E402
from rope_doctor.probes.causal_model import of_transformers  # noqa: E402

from .tiny import tiny  # noqa: E402
from .wholes import behind_a_picture, whole  # noqa: E402

pytestmark = pytest.mark.long

PAGE = found.PAGE.read_text(encoding="utf-8")
TRIPS = json.loads(DATA.read_text(encoding="utf-8"))
TEXT = np.random.default_rng(0).integers(20, 96, (1, 8))
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


def test_the_page_is_made_from_its_data():
    """Where this fails, run `python book/tools/found.py`, and read what changed."""
    if transformers.__version__ != TRIPS["transformers"]:
        pytest.skip(f"the page names lines of transformers {TRIPS['transformers']}")
    assert found.page() == PAGE
    for name, version in found.versions().items():
        assert f"{name} {version}" in PAGE
    assert TRIPS["transformers"] == transformers.__version__


@pytest.mark.parametrize("name", ["bailing_hybrid", "cohere2_moe", "cwm", "gemma3_text", "gpt_neox", "llama"])
def test_a_config_is_saved_and_loaded_as_the_file_of_round_trips_has_it(name):
    outcomes = trips(name)
    assert list(outcomes) == TRIPS["tried"][name]
    other = {
        label: differing
        for label, ways in outcomes.items()
        if (differing := {way: outcome for way, outcome in ways.items() if outcome != "same"})
    }
    assert other == TRIPS["not the same"].get(name, {})


def test_no_config_rotates_otherwise_after_it_is_saved():
    assert len(TRIPS["tried"]) > 190
    for labels in TRIPS["not the same"].values():
        for ways in labels.values():
            assert not {"dict", "saved", "saved twice"} & set(ways)


def test_a_base_at_the_top_is_dropped_where_the_defaults_have_a_rule():
    dropped = [
        name
        for name, labels in TRIPS["not the same"].items()
        if labels.get("default", {}).get("as version 4 wrote it") == "differs"
    ]
    assert len(dropped) == 11
    bases = {}
    for name in dropped:
        kind = transformers.CONFIG_MAPPING[name]
        bases[name] = old_file(kind, {"rope_theta": BASE, "rope_scaling": None}).rope_parameters["rope_theta"]
    taken = {name for name in dropped if bases[name] == BASE}  # and yet the rule of the defaults stays
    assert taken == {"gpt_oss", "openai_privacy_filter"}
    assert all(
        bases[name] == transformers.CONFIG_MAPPING[name]().rope_parameters["rope_theta"]
        for name in set(dropped) - taken
    )
    assert transformers.CwmConfig(rope_theta=BASE).rope_parameters["rope_theta"] == 1e6


def test_cohere_2_moe_ignores_the_rule_of_an_old_file():
    kind = transformers.CONFIG_MAPPING["cohere2_moe"]
    config = kind(rope_theta=BASE, rope_scaling={"rope_type": "linear", "factor": 4.0})
    assert config.rope_parameters == {"rope_type": "default", "rope_theta": BASE}


@pytest.mark.parametrize(("name", "usual"), [("bailing_hybrid", 6_000_000), ("cohere2_moe", 10_000)])
def test_a_saved_file_states_two_bases_and_the_command_refuses_it(name, usual, tmp_path):
    kind = transformers.CONFIG_MAPPING[name]
    kind(rope_parameters={"rope_type": "default", "rope_theta": BASE}).save_pretrained(tmp_path)
    words = f"rope_parameters.rope_theta is 123456, but rope_theta is {usual}: they contradict each other"
    with pytest.raises(ValueError, match=words):
        compare(tmp_path, tmp_path)


@pytest.mark.parametrize(("name", "pairs"), [("gemma4_text", 256), ("mistral4", 64), ("llama", 64)])
def test_a_share_is_ignored_under_the_rule_default(name, pairs):
    from makers.round_trips import modules, state

    kind = transformers.CONFIG_MAPPING[name]
    plain = {"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.5}
    kinds = dict.fromkeys(("sliding_attention", "full_attention"), plain)
    config = kind(rope_parameters=kinds if name == "gemma4_text" else plain)
    widths = [len(each) for each in state(next(modules(kind)), config).values() if each.ndim]
    assert max(widths) == pairs  # all of them, where the share is a half


@pytest.mark.parametrize(("rule", "honoured"), [("default", False), ("linear", True)])
def test_the_command_says_where_a_share_is_ignored(rule, honoured):
    share = {"rope_type": rule, "rope_theta": 1e4, "factor": 2.0, "partial_rotary_factor": 0.5}
    model = tiny("llama", rope_parameters={key: share[key] for key in share if honoured or key != "factor"})
    assert (model.model.rotary_emb.inv_freq.shape == (4,)) is honoured  # of eight
    report = check_model(model)
    assert report.right is (None if honoured else False)  # where it is honoured, attention itself fails
    assert ("size of tensor a (16) must match" in str(report)) is honoured
    assert ("Found 8 pairs, each twice, expected 4 pairs" in str(report)) is not honoured


def test_bamba_counts_each_piece_from_0():
    report = check_decoder(tiny("bamba"))
    assert report.of("step by step").outcome == "differs"
    assert report.of("step by step, with positions").outcome == "same"
    assert check_decoder(tiny("granitemoehybrid")).of("step by step").outcome == "same"


@pytest.mark.parametrize(("window", "outcome"), [(16, "differs"), (4096, "same")])
def test_moshi_has_a_window_in_its_cache_and_none_in_its_mask(window, outcome):
    report = check_decoder(tiny("moshi", sliding_window=window), length=64, chunk=24, only=["step by step"])
    assert report.of("step by step").outcome == outcome


@pytest.mark.filterwarnings(
    "ignore:.past_key_values. is deprecated:FutureWarning"
)  # from 5.24 on; `cache` is unknown before
def test_a_picture_moves_the_text_that_comes_after_it():
    model = whole("qwen2_vl")

    def steps():
        cache, logits = None, []
        for at in range(TEXT.shape[1]):
            with torch.no_grad():
                out = model(torch.tensor(TEXT[:, at : at + 1]), past_key_values=cache, use_cache=True)
            cache = out.past_key_values
            logits.append(out.logits)
        return torch.cat(logits, dim=1)

    before = steps()
    behind_a_picture(model)(TEXT)
    after = steps()
    assert torch.equal(before[:, :1], after[:, :1])
    assert float((before - after)[:, 1:].abs().max()) > float(before.std()) / 2
    model.model.rope_deltas = None
    assert torch.equal(before, steps())


def test_the_step_width_of_a_state_has_a_least_value_in_one_of_two_ways():
    model = tiny("zamba2")
    assert check_decoder(model, length=64, chunk=24).of("step by step").outcome == "differs"
    for module in model.modules():
        if hasattr(module, "time_step_limit"):
            module.time_step_limit = (0.0, float("inf"))
    assert check_decoder(model, length=64, chunk=24).right is True


def test_jamba_forgets_its_state_in_a_second_piece():
    model = tiny("jamba")

    def read(sizes):
        cache, logits, start = None, [], 0
        for size in sizes:
            with torch.no_grad():
                piece = torch.tensor(TEXT[:, start : start + size])
                out = model(piece, past_key_values=cache, use_cache=True)
            cache, start = out.past_key_values, start + size
            logits.append(out.logits)
        return torch.cat(logits, dim=1)

    assert torch.allclose(read([8]), read([1] * 8), atol=1e-4)
    assert not torch.allclose(read([8]), read([4, 4]), atol=0.1)


def test_the_state_of_recurrent_gemma_begins_anew_where_a_position_is_0():
    report = check_decoder(tiny("recurrent_gemma"), length=64, chunk=24)
    differing = [check.name for check in report.checks if check.outcome == "differs"]
    assert differing == ["left padding, without positions", "moved", "generate"]  # it pads in a batch


def test_dynamic_ntk_keeps_frequencies_of_a_longer_text():
    model = tiny("llama", rope_parameters=DYNAMIC, max_position_embeddings=128)
    before = {length: cosines(model, length) for length in (128, 256)}
    cosines(model, 512)
    assert float((cosines(model, 256) - before[256]).abs().max()) > 0.5
    assert float((cosines(model, 128) - before[128]).abs().max()) > 0.5  # exactly the trained length
    assert torch.equal(cosines(model, 127), before[128][:127])  # one token less is right


@pytest.mark.parametrize(
    ("name", "rule", "outcome"), [("llama", DYNAMIC, "differs"), ("phi3", LONGROPE, "as documented")]
)
def test_cached_keys_keep_the_frequencies_of_before(name, rule, outcome):
    model = tiny(name, rope_parameters=rule, max_position_embeddings=128)
    report = check_decoder(model, only=["across the trained length"])
    assert report.of("across the trained length").outcome == outcome


@pytest.mark.parametrize("name", ["gptj", "codegen"])
def test_a_table_made_in_bfloat16_has_frequencies_of_eight_bits(name, tmp_path):
    made = tiny(name, width=torch.bfloat16)
    assert check_model(made).right is False
    tiny(name).save_pretrained(tmp_path)
    loaded = transformers.AutoModelForCausalLM.from_pretrained(tmp_path, dtype=torch.bfloat16)
    assert check_model(loaded).right is True


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


def test_defaults_that_make_no_model():
    with pytest.raises(AttributeError, match="rope_theta"):
        tiny("dbrx", attn_config=None)
    with pytest.raises(KeyError, match=r"(full|sliding)_attention"):  # the first of a set
        tiny("cohere_compass_text", rope_parameters=None)


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

    checked = check_decoder(decoder, length=64, chunk=24, relative=True)
    assert checked.right is None  # it takes no positions
    assert not [check for check in checked.checks if check.outcome == "differs"]
    assert checked.of("rows at length 1").outcome == "same"


def rows_of_ones(module, width, length=300):
    return module.rotate_queries_or_keys(torch.ones(1, 1, length, 32, dtype=width)).float()[0, 0]


def test_rotary_embedding_torch_counts_positions_in_the_width_of_the_tensor_and_keeps_them():
    library = pytest.importorskip("rotary_embedding_torch")
    right = rows_of_ones(library.RotaryEmbedding(dim=32), torch.float32)
    module = library.RotaryEmbedding(dim=32)
    off = (rows_of_ones(module, torch.bfloat16) - right).abs().amax(dim=-1)
    assert float(off[:257].max()) < 2**-7
    assert float(off[257]) > 1
    assert float((rows_of_ones(module, torch.float32) - right).abs().max()) > 1  # after the other width


def test_rotary_embedding_torch_is_right_in_float32_and_by_any_pieces():
    library = pytest.importorskip("rotary_embedding_torch")
    module, x = library.RotaryEmbedding(dim=32), torch.randn(1, 1, 64, 32)
    before = module.rotate_queries_or_keys(x)
    pieces = [module.rotate_queries_or_keys(x[:, :, at : at + 8], offset=at) for at in range(0, 64, 8)]
    rows_of_ones(module, torch.float32)
    assert torch.equal(before, torch.cat(pieces, dim=2))
    assert torch.equal(before, module.rotate_queries_or_keys(x))

    def rotation(x, positions):
        angles = module(torch.tensor(positions))
        return library.apply_rotary_emb(angles, torch.tensor(x)).numpy()

    found = diagnose(rotation, 32)
    assert (found.layout, found.mistakes) == ("interleaved", ())


def test_rotary_embedding_torch_scales_a_cached_query_from_another_middle():
    library = pytest.importorskip("rotary_embedding_torch")
    torch.manual_seed(0)
    q, k = torch.randn(2, 1, 1, 8, 32)
    whole_q, whole_k = library.RotaryEmbedding(dim=32, use_xpos=True).rotate_queries_and_keys(q, k)
    module = library.RotaryEmbedding(dim=32, use_xpos=True)
    last_q, cached_k = module.rotate_queries_with_cached_keys(q[:, :, -1:], k)
    ratio = (last_q @ cached_k.mT) / (whole_q @ whole_k.mT)[:, :, -1:]
    assert 0.01 < float((ratio - 1).abs().max()) < 0.1
