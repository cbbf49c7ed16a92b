"""Faults of 2024 to 2026, rebuilt on tiny models: the right cause first, or a report of what was not judged."""

import contextlib
import copy
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from rope_doctor.probes import check_model  # noqa: E402
from rope_doctor.probes.faults import OWN, cause_of  # noqa: E402
from rope_doctor.probes.little import HEAD_DIM, HEADS, Little, LittleRotary, rotated  # noqa: E402
from rope_edu.encodings.spec import RopeSpec, plain_rope  # noqa: E402

from .faults import DYNAMIC, MODELS, TWO_KINDS, YARN, frequencies, patched, rewired, turns  # noqa: E402
from .tiny import tiny  # noqa: E402
from .wholes import whole  # noqa: E402

PLANTED = {  # the cause that must come first, for each fault of `faults.py`
    "wrong_base_in_one_kind_of_layers": "kind_of_another",
    "the_bases_of_two_kinds_exchanged": "kinds_exchanged",
    "frequencies_cast_to_bfloat16": "cast",
    "frequencies_cast_to_float16": "cast",
    "frequencies_never_filled": "never_filled",
    "frequencies_that_are_nan": "never_filled",
    "frequencies_of_a_stranger": "never_filled",
    "frequencies_left_on_the_meta_device": "never_filled",
    "base_lost": "other_base",
    "rule_lost": "rule_missing",
    "attention_factor_lost": "attention_factor_missing",
    "attention_factor_squared": "attention_factor_twice",
    "factor_applied_twice": "factor_twice",
    "the_whole_head_turned_where_half_is_wanted": "other_width",
    "exponents_by_another_width": "other_denominator",
    "one_clock": "one_clock",
    "exponents_doubled": "exponent_doubled",
    "positions_from_one": "counts_from_one",
    "positions_in_bfloat16": "positions_in_bfloat16",
    "positions_clamped_to_a_table": "table_ends",
    "positions_by_row_number": "ignores_positions",
    "cosines_and_sines_exchanged": "cos_and_sin_swapped",
    "sines_negated": "turns_backwards",
    "one_kind_for_all_layers": "kind_of_another",
    "dynamic_frequencies_that_stay": "remembers",
    "layout_swapped": "other_layout",
    "turned_twice": "rotated_twice",
    "queries_turned_and_keys_not": "keys_not_rotated",
    "turned_in_no_layer": "no_layer_rotates",
    "a_layer_turned_that_must_not": "still_layers_rotate",
}
LONGROPE = {
    "rope_type": "longrope",
    "rope_theta": 1e4,
    "short_factor": [1.0] * 8,
    "long_factor": [2.0 + pair for pair in range(8)],
    "factor": 4.0,
    "original_max_position_embeddings": 64,
}
LONG = {"rope_parameters": LONGROPE, "max_position_embeddings": 256}
MLA_YARN = YARN | {"mscale": 1.0, "mscale_all_dim": 1.0}
BETA = YARN | {"llama_4_scaling_beta": 0.1}
V4 = {"layer_types": ["sliding_attention", "heavily_compressed_attention"]}
CASES = {}


def case(cause, model_type="llama", make=None, **changes):
    """Register a function that puts a fault into a right model, and the cause that must come first."""

    def register(put):
        CASES[put.__name__] = cause, make or (lambda: tiny(model_type, **changes)), put
        return put

    return register


def unrotated(model):
    return patched(model, "apply_rotary_pos_emb", lambda _: lambda q, k, *args, **options: (q, k))


def attentions(model):
    return [layer.self_attn for layer in model.model.layers]


@case("no_layer_rotates", "smollm3", num_hidden_layers=4, no_rope_layers=[1, 1, 1, 0])
def nothing_rotates_where_three_of_four_layers_must(model):
    return unrotated(model)


@case("layers_left_still", "smollm3", num_hidden_layers=4, no_rope_layers=[1, 1, 1, 0])
def a_rotating_layer_is_left_still(model):
    attentions(model)[1].use_rope = 0


@case("still_list_inverted", "smollm3", num_hidden_layers=4, no_rope_layers=[1, 1, 1, 0])
def the_list_of_still_layers_is_inverted(model):
    """Found in transformers 43756."""
    for attention in attentions(model):
        attention.use_rope = 1 - attention.use_rope


@case("still_layers_rotate", "smollm3", num_hidden_layers=4, no_rope_layers=[1, 1, 1, 0])
def every_layer_is_rotated(model):
    """Found in airockchip/rknn-llm 501 and timtoole02/Camelid 535."""
    for attention in attentions(model):
        attention.use_rope = 1


@case("kind_of_another", "deepseek_v4", **V4)
def one_base_for_all_kinds_of_layers(model):
    """Found in sgl-project/sglang 34788, Avarok-Cybersecurity/atlas 276, ml-explore/mlx-lm 1189."""
    rewired(turns(model), lambda old, x, position_ids, layer_type: old(x, position_ids, "main"))


@case("kind_of_another", "deepseek_v4", **V4)
def attention_asks_for_the_base_of_another_kind(model):
    for attention in attentions(model):
        attention.rope_layer_type = "main"


@case("kinds_exchanged", "gemma3_text", **TWO_KINDS)
def kinds_swapped_at_run_time(model):
    """The module is right, and the layers ask it for each other's tables."""
    other = {"sliding_attention": "full_attention", "full_attention": "sliding_attention"}
    tables = {}

    def kept(old, x, position_ids, layer_type):
        tables[layer_type] = old(x, position_ids, layer_type)
        return tables[layer_type]

    rewired(turns(model), kept)
    for attention in attentions(model):
        kind = attention.layer_type

        def swapped(old, hidden_states, position_embeddings=None, *, kind=kind, **options):
            return old(hidden_states, position_embeddings=tables[other[kind]], **options)

        rewired(attention, swapped)


@case("no_layer_rotates", "gptj")
def a_gpt_j_that_does_not_rotate(model):
    return patched(model, "apply_rotary_pos_emb", lambda _: lambda x, sin, cos: x)


@case("softmax_scale", "deepseek_v3", rope_parameters=MLA_YARN, head_dim=None, num_key_value_heads=4)
def mscale_missing_from_the_softmax(model):
    """Found in transformers 47435."""
    for attention in attentions(model):
        attention.scaling = attention.qk_head_dim**-0.5


@case("softmax_scale", "deepseek_v3", rope_parameters=MLA_YARN, head_dim=None, num_key_value_heads=4)
def a_log_multiplier_ten_times_too_large(model):
    for attention in attentions(model):
        attention.scaling = attention.qk_head_dim**-0.5 * (np.log(8.0) + 1) ** 2


@case("query_scale", "ministral3", rope_parameters=BETA)
def queries_that_do_not_grow_with_the_position(model):
    return patched(model, "get_llama_4_attn_scale", lambda _: lambda positions, *_: torch.ones(1))


@case("query_scale", "ministral3", rope_parameters=BETA)
def queries_that_grow_ten_times_too_fast(model):
    return patched(
        model, "get_llama_4_attn_scale", lambda old: lambda ids, beta, length: old(ids, 10 * beta, length)
    )


@case("softmax_scale", "gemma3_text", query_pre_attn_scalar=64)
def the_scale_of_the_width_where_the_config_states_another(model):
    for attention in attentions(model):
        attention.scaling = 16**-0.5


def in_one_run(model):
    """Make the sections contiguous: each coordinate's angles for its run of the pairs."""
    module = model.model.language_model.rotary_emb
    sections = module.mrope_section

    def runs(old, x, position_ids):
        angles = position_ids[..., None].float() * module.inv_freq
        parts = [part[axis] for axis, part in enumerate(angles.split(sections, dim=-1))]
        angles = torch.cat(parts, dim=-1)
        angles = torch.cat((angles, angles), dim=-1)
        return angles.cos(), angles.sin()

    rewired(module, runs)


@case("sections_contiguous", make=lambda: whole("qwen3_vl"))
def contiguous_sections_for_interleaved_ones(model):
    """Found in vllm-gaudi 1437 and MNN 4133."""
    in_one_run(model)


@case("one_coordinate", make=lambda: whole("qwen3_vl"))
def time_for_all_three_coordinates(model):
    def only_time(old, x, position_ids):
        return old(x, position_ids[:1].expand_as(position_ids))

    rewired(model.model.language_model.rotary_emb, only_time)


@case("long_list", **LONG)
def the_long_list_for_all_texts(model):
    """Found in lablup/mlxcel 1358."""

    def by_the_longest(old, x, position_ids):
        return [each[:, :-1] for each in old(x, with_position(position_ids, 255))]

    rewired(turns(model), by_the_longest)


@case("short_list", **LONG)
def the_short_list_for_all_texts(model):
    module = turns(model)
    module.long_inv_freq = module.original_inv_freq.clone()


@case("switch_early", **LONG)
def the_switch_at_the_trained_length_itself(model):
    """Found in unsloth 10681: `<` for `<=`."""

    def early(old, x, position_ids):
        if int(position_ids.max()) + 1 < 64:
            return old(x, position_ids)
        return [each[:, :-1] for each in old(x, with_position(position_ids, 64))]

    rewired(turns(model), early)


def with_position(ids, position):
    return torch.cat((ids, torch.full_like(ids[:, :1], position)), dim=1)


@case("config_changed")
def the_config_changed_after_loading(model):
    """Found in MakazhanAlpamys/Soup 793: a rule set on model.config reaches no module."""
    model.config.rope_parameters = YARN


@case("other_base")
def the_base_changed_after_loading(model):
    model.config.rope_parameters = {"rope_type": "default", "rope_theta": 5e5}


@case("rule_missing", rope_parameters=YARN)
def yarn_never_applied(model):
    turns(model).inv_freq = frequencies(5e5)
    turns(model).attention_scaling = 1.0


MASK, WINDOWED_MASK = "create_causal_mask", "create_sliding_window_causal_mask"


@case("no_window", "phi3")
def a_window_that_is_ignored(model):
    """Found in huggingface/candle 3698: Phi-3's `sliding_window` was not read."""
    return patched(model, WINDOWED_MASK, lambda _: sys.modules[type(model).__module__].create_causal_mask)


@case("other_window", "mistral")
def a_window_one_token_too_wide(model):
    def wider(old):
        def make(config, **options):
            config = copy.copy(config)
            config.sliding_window += 1
            return old(config=config, **options)

        return make

    return patched(model, WINDOWED_MASK, wider)


@case("windows_exchanged", "gpt_oss")
def windows_in_the_layers_without_one(model):
    file = sys.modules[type(model).__module__]
    full, windowed = getattr(file, MASK), getattr(file, WINDOWED_MASK)
    stack = contextlib.ExitStack()
    stack.enter_context(patched(model, MASK, lambda _: windowed))
    stack.enter_context(patched(model, WINDOWED_MASK, lambda _: full))
    return stack


def by_angles(model, angles_of):
    """Let a model's module take cosines and sines of angles computed in another way."""
    module = turns(model)

    def forward(old, x, position_ids):
        angles = torch.cat([angles_of(position_ids[..., None], module.inv_freq, x.dtype)] * 2, dim=-1)
        return angles.cos().to(x.dtype), angles.sin().to(x.dtype)

    rewired(module, forward)


@case("frequencies_in_bfloat16", width=torch.bfloat16)
def frequencies_cast_before_they_are_multiplied(model):
    """Found in Modalities/modalities 462: `self.inv_freq.to(x.dtype)`."""
    by_angles(model, lambda ids, inv_freq, width: ids.float() * inv_freq.to(width).float())


@case("frequencies_in_bfloat16", width=torch.bfloat16)
def positions_frequencies_and_angles_in_the_models_width(model):
    """Found in huggingface/candle 3520 and 3698."""
    by_angles(model, lambda ids, inv_freq, width: ids.to(width) * inv_freq.to(width))


@case("never_filled")
def zeros_in_the_buffer(model):
    """Found in pytorch/executorch 19627."""
    turns(model).inv_freq = torch.zeros(8)


@case("never_filled")
def remains_of_memory_in_the_buffer(model):
    """Found in Synthyra/FastPLMs 47: 6.93e-18 is no frequency."""
    turns(model).inv_freq = torch.tensor([0.5, 6.93e-18, 0.2, 0.9, 6.93e-18, 0.1, 0.3, 0.7])


@case("never_filled")
def one_small_number_in_the_whole_buffer(model):
    turns(model).inv_freq = torch.full((8,), 6.93e-18)


class OwnAttention(torch.nn.Module):
    """Attention that calls neither torch's function nor transformers'."""

    way, spare = "matmul", ""

    def __init__(self):
        super().__init__()
        self.qkv = torch.nn.Linear(HEADS * HEAD_DIM, 3 * HEADS * HEAD_DIM)
        self.rotary = LittleRotary(plain_rope(HEAD_DIM, layout="half_split"))

    def forward(self, x, position_ids):
        q, k, v = self.qkv(x).unflatten(-1, (3, HEADS, HEAD_DIM)).permute(2, 0, 3, 1, 4)
        cos, sin = (table.unsqueeze(1) for table in self.rotary(x, position_ids))
        q = q if self.spare == "q" else rotated(q, cos, sin)
        k = k if self.spare == "k" else rotated(k, cos, sin)
        if self.way == "einsum":
            scores = torch.einsum("bhid,bhjd->bhij", q, k)
        elif self.way == "sums":  # a kernel that no table knows
            scores = (q.unsqueeze(-2) * k.unsqueeze(-3)).sum(-1)
        else:
            scores = q @ k.mT
        scores = scores / HEAD_DIM**0.5 + torch.full(scores.shape[-2:], -1e4).triu(1)
        return x + (scores.softmax(-1) @ v).transpose(1, 2).flatten(2)


class Own(Little):
    """A model with its own attention in two layers."""

    def __init__(self, way="matmul"):
        super().__init__()
        self.layers = torch.nn.ModuleList(OwnAttention() for _ in range(2))
        for layer in self.layers:
            layer.way = way
        self.config = None


CONFIG = {"model_type": "llama", "head_dim": HEAD_DIM, "rope_theta": 1e4, "num_hidden_layers": 2}


@case("keys_not_rotated", make=Own)
def own_attention_without_rotated_keys(model):
    for layer in model.layers:
        layer.spare = "k"


@case("queries_not_rotated", make=lambda: Own("einsum"))
def own_attention_without_rotated_queries(model):
    for layer in model.layers:
        layer.spare = "q"


def report_of(model, **options):
    return check_model(model, CONFIG if isinstance(model, Own) else None, **options)


def first_cause(make, put):
    model = make()
    with put(model) or contextlib.nullcontext():
        report = report_of(model)
    assert report.verdict.status == 1, str(report)
    return report.faults[0].cause


@pytest.mark.parametrize("name", CASES)
def test_a_fault_of_recent_years_leads_to_its_cause(name):
    cause, make, put = CASES[name]
    assert report_of(make()).verdict.status == 0  # right before the fault is put in
    assert first_cause(make, put) == cause


def test_the_right_cause_comes_first_in_nine_of_ten_planted_faults(record_property, capsys):
    assert PLANTED.keys() == MODELS.keys()
    wrong = {}
    for name, wanted in PLANTED.items():
        model, put = MODELS[name]()
        with put(model) or contextlib.nullcontext():
            found = check_model(model).faults[0].cause
        if found != wanted:
            wrong[name] = found
    right = len(PLANTED) - len(wrong)
    with capsys.disabled():
        print(f"\nmodel: the right cause first in {right} of {len(PLANTED)} planted faults; others: {wrong}")
    assert right / len(PLANTED) >= 0.9


def test_each_cause_has_a_sentence_and_one_fix():
    for name in {*OWN, *PLANTED.values()}:
        cause = cause_of(name)
        assert cause.does.endswith(".")
        assert cause.fix.endswith(".")


def test_attention_that_cannot_be_seen_is_not_approved():
    report = report_of(Own("sums"))
    assert report.verdict.status == 2
    assert report.right is None
    assert "no attention was seen" in report.verdict.not_judged["queries and keys"]


def test_one_layer_that_cannot_be_seen_is_named():
    model = Own()
    model.layers[1].way = "sums"
    report = report_of(model)
    assert report.verdict.status == 2
    assert report.verdict.not_judged["layers"] == "no attention was seen in layer 1"


@pytest.mark.parametrize(("count", "more"), [(1, ""), (2, " and 1 more")])
def test_a_config_that_does_not_say_which_layers_are_of_which_kind_earns_no_pass(count, more):
    kinds = TWO_KINDS["layer_types"][:count]
    model = tiny("gemma3_text", **TWO_KINDS | {"layer_types": kinds, "num_hidden_layers": count})
    config = model.config.to_dict()
    del config["layer_types"], config["_sliding_window_pattern"]
    report = check_model(model, config)
    assert report.verdict.status == 2
    unknown = f"model.layers.0.self_attn{more}"
    assert report.verdict.not_judged["layers"] == f"the config does not say which kind {unknown} is"


@pytest.mark.parametrize("wrap", [torch.compile, torch.nn.DataParallel])
def test_a_wrapper_is_taken_off(wrap):
    report = check_model(wrap(tiny("llama")))
    assert report.verdict.status == 0
    assert "in 2 of 2 layers" in str(report)


def test_a_compiled_layer_is_watched_as_it_is_written():
    model = tiny("llama")
    for layer in model.model.layers:
        layer.compile()
    assert check_model(model).verdict.status == 0


def test_a_skipped_central_check_earns_no_pass_and_stays_in_the_verdict():
    report = check_model(tiny("llama"), skip=["layers"])
    assert report.verdict.status == 2
    assert report.verdict.not_judged["layers"] == "skipped"
    required = check_model(tiny("llama"), require=["coordinates"])
    assert required.verdict.status == 2
    only = check_model(tiny("llama"), only=["queries and keys", "layers"])
    assert only.verdict.status == 0
    with pytest.raises(
        ValueError, match="'cache' is not a check of this command; its checks are frequencies,"
    ):
        check_model(tiny("llama"), skip=["cache"])


def test_a_window_too_long_for_a_text_or_behind_own_attention_is_not_judged():
    long = check_model(tiny("mistral", sliding_window=5000))
    assert long.verdict.not_judged["windows"] == "a text longer than the window of 5,000 tokens was not run"
    config = CONFIG | {"model_type": "mistral", "sliding_window": 8}
    verdict = check_model(Own(), config).verdict
    assert (verdict.status, verdict.not_judged["windows"]) == (2, "no call of attention shows its mask")


def test_a_window_whose_layers_only_the_code_knows_earns_no_pass():
    model = tiny("llama")
    model.config.model_type, model.config.sliding_window = "unheard_of", 16
    verdict = check_model(model).verdict
    assert (verdict.status, verdict.right) == (2, None)
    assert verdict.not_judged["windows"].startswith("the kinds follow from sliding_window by a rule")


@pytest.mark.parametrize("name", ["doge", "ministral3", "recurrent_gemma"])
def test_the_windows_of_these_models_are_judged(name):
    """Their kinds follow from the window, or from a list under another name."""
    model = tiny(name)
    verdict = check_model(model).verdict
    assert verdict.status == 0
    assert "windows" not in verdict.not_judged
    with a_window_one_token_too_wide(model):
        assert {fault.check for fault in check_model(model).faults} == {"windows"}


def test_the_fault_of_a_skipped_check_is_not_reported():
    model = tiny("llama", rope_parameters={"rope_type": "default", "rope_theta": 5e5})
    turns(model).inv_freq = frequencies(1e4)
    report = check_model(model, skip=["frequencies"])
    assert report.verdict.status == 1
    assert {fault.check for fault in report.faults} == {"queries and keys"}


def test_a_rule_that_depends_on_the_length_is_run_at_the_switch():
    report = check_model(tiny("llama", **LONG))
    assert report.verdict.status == 0
    assert "longer texts" not in report.verdict.not_judged
    dynamic = check_model(tiny("llama", rope_parameters=DYNAMIC, max_position_embeddings=128))
    [fault] = dynamic.faults
    assert (fault.check, fault.cause) == ("longer texts", "remembers")
    assert fault.found.startswith("in a text of 256 tokens after one of 512, ")


def test_coordinates_of_a_model_without_position_ids_are_not_judged():
    spec = RopeSpec(plain_rope(16).inv_freq, axes=(0, 0, 0, 1, 1, 1, 2, 2), layout="half_split")
    assert spec.axes is not None
    report = check_model(tiny("llama"))
    assert report.verdict.not_judged["coordinates"] == "the config gives a token one position"


def test_queries_that_grow_although_no_field_says_so_earn_no_pass():
    """Log-n scaling, as in Qwen-7B, without the field that states it."""
    model = tiny("llama")

    def grow(old):
        def apply(q, k, *args, **options):
            q, k = old(q, k, *args, **options)
            return q * torch.linspace(1, 2, q.shape[-2])[:, None], k

        return apply

    with patched(model, "apply_rotary_pos_emb", grow):
        report = check_model(model)
    assert report.verdict.status == 2
    assert "the config does not say how" in report.verdict.not_judged["query scale"]
