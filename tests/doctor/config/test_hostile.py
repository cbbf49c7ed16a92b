"""What nobody should paste is refused or read, and never ends in anything else; slips in the reader are caught."""

import numpy as np
import pytest

import rope_edu
from rope_doctor.config import ConfigError, read_config, rope_from_config
from rope_doctor.config.values import checked

LLAMA = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 1, "rope_theta": 1e4}


def deep(levels, kind):
    value = 1
    for _ in range(levels):
        value = {"a": value} if kind is dict else [value]
    return value


@pytest.mark.parametrize("kind", [dict, list])
@pytest.mark.parametrize("levels", [65, 330, 5000])
def test_deep_nesting_is_refused(levels, kind):
    with pytest.raises(ConfigError, match="config must not be nested more than 64 levels deep"):
        read_config(LLAMA | {"rope_scaling": {"factor": deep(levels, kind)}})


def test_deep_nesting_inside_and_outside_a_text_is_refused():
    both = {"rope_parameters": {"factor": deep(5000, dict)}}
    with pytest.raises(ConfigError, match="levels deep"):
        read_config(both | {"text_config": LLAMA | both})


def test_deep_nesting_under_names_without_letters_is_refused():
    nested = LLAMA
    for _ in range(66):
        nested = {"": nested}
    with pytest.raises(ConfigError, match="levels deep"):
        read_config(LLAMA | {"": nested})


def test_a_key_with_a_point_is_the_field_of_an_object_in_the_other_place_too():
    both = {"rope_scaling": {"rope_type": "default", "a.b": 1}, "rope_parameters": {"a": {"b": 2}}}
    with pytest.raises(ConfigError, match=r"rope_scaling\.a\.b is 1, but rope_parameters\.a\.b is 2"):
        read_config(LLAMA | both)


@pytest.mark.parametrize("levels", [1, 3, 4, 7])
def test_the_text_is_found_at_any_depth(levels):
    config = LLAMA
    for _ in range(levels):
        config = {"text_config": config}
    assert rope_from_config(config) == rope_from_config(LLAMA)


def test_a_model_type_of_every_objects_own_names_is_no_architecture():
    kinds = [remark.kind for remark in read_config(LLAMA | {"model_type": "constructor"}).remarks]
    assert kinds == ["layout assumed"]


def test_a_label_without_letters_is_a_label():
    nested = LLAMA | {"rope_parameters": {"": {"rope_theta": 5e5}, "b": {"rope_theta": 1e4}}}
    del nested["rope_theta"]
    assert read_config(nested, layer_type="").base == 5e5
    with pytest.raises(ConfigError) as error:
        read_config(nested)
    assert error.value.choices == ("", "b")


def test_a_key_of_many_letters_is_named_shortly():
    long = "rope_" + "x" * 20_000
    [remark] = read_config(LLAMA | {long: 1}).remarks
    assert len(remark.text) < 150
    with pytest.raises(ConfigError) as error:
        read_config(LLAMA | {"rope_scaling": {long: 1}})
    assert error.value.reason == "no rule uses"


@pytest.mark.parametrize("name", ["short_factor", "mrope_section"])
@pytest.mark.parametrize("length", [0, 1, 2, 65_536, 65_537])
def test_a_list_has_one_entry_to_65536(name, length):
    if 1 <= length <= 65_536:
        assert checked(name, "a.list", [1] * length) == [1] * length
    else:
        with pytest.raises(ConfigError, match=r"a\.list must be"):
            checked(name, "a.list", [1] * length)


def test_a_factor_of_one_pair_is_read():
    rule = {"rope_type": "longrope", "short_factor": [2.0], "long_factor": [4.0], "factor": 2.0}
    rule["original_max_position_embeddings"] = 4096
    config = LLAMA | {"head_dim": 2, "rope_scaling": rule, "max_position_embeddings": 8192}
    assert rope_from_config(config).inv_freq.tolist() == [0.5]


def test_layers_that_do_not_rotate_have_an_even_width_too():
    for width in (1, 3, 5):
        with pytest.raises(ConfigError, match=f"is {width}: .* in pairs, at least 2 of them"):
            read_config(LLAMA | {"head_dim": width, "position_embedding_type": "nope"})
    assert read_config(LLAMA | {"head_dim": 2, "position_embedding_type": "nope"}).spec.head_dim == 2


@pytest.mark.parametrize("count", [1, 6, 7, 20])
def test_a_remark_names_at_most_six_unread_fields_and_says_if_there_are_more(count):
    [remark] = read_config(LLAMA | {f"rope_{n:02}": 1 for n in range(count)}).remarks
    assert [f"rope_{n:02}" in remark.text for n in range(count)] == [n < 6 for n in range(count)]
    assert ("…" in remark.text) == (count > 6)


@pytest.mark.parametrize("key", ["mscale", "long_mscale", "mrope_section", "rope_type"])
def test_a_field_of_a_rule_outside_its_object_is_named(key):
    [remark] = read_config(LLAMA | {key: 1}).remarks
    assert (remark.kind, key in remark.text) == ("not read", True)


@pytest.mark.parametrize("key", ["use_mem_rope", "rope_ratio"])
def test_a_field_that_other_models_read_is_not_named(key):
    assert read_config(LLAMA | {key: 1}).remarks == ()


@pytest.mark.parametrize(
    "key",
    [
        "rope_scalling",
        "use_dynamic_ntk",
        "rotary_scaling_factor",
        "dual_chunk_attention_config",
        "scaling_factor",
    ],
)
@pytest.mark.parametrize("inside", [False, True])
def test_a_key_that_speaks_of_a_rotation_and_is_not_read_is_named(key, inside):
    config = LLAMA | ({"vision_config": {key: {"a": 1}}} if inside else {key: 2.0})
    [remark] = read_config(config).remarks
    assert remark.kind == "not read"
    assert key in remark.text


def test_rope_ratio_multiplies_the_base():
    glm = {"model_type": "chatglm", "hidden_size": 4096, "num_attention_heads": 32, "rope_ratio": 500}
    assert read_config(glm).base == 5_000_000.0


def test_longrope_needs_a_trained_length_of_two():
    lists = {"short_factor": [1.0] * 32, "long_factor": [2.0] * 32, "factor": 2.0, "rope_type": "longrope"}
    assert (
        rope_from_config(LLAMA | {"original_max_position_embeddings": 2, "rope_scaling": lists}).kind
        == "longrope"
    )
    with pytest.raises(ConfigError, match="must be at least 2"):
        rope_from_config(LLAMA | {"original_max_position_embeddings": 1, "rope_scaling": lists})


def test_every_fourth_of_seven_layers_is_one():
    smol = {"model_type": "smollm3", "head_dim": 64, "rope_theta": 1e4, "num_hidden_layers": 7}
    assert "1 of 7 layers do not rotate." in [remark.text for remark in read_config(smol).remarks]


def test_equal_thresholds_are_a_step():
    scout = {"rope_type": "llama3", "factor": 16.0, "low_freq_factor": 1.0, "high_freq_factor": 1.0}
    spec = rope_from_config(LLAMA | {"rope_scaling": scout | {"original_max_position_embeddings": 8192}})
    plain = rope_edu.inv_freq(64)
    turns = 8192 * plain / (2 * np.pi)
    np.testing.assert_array_equal(spec.inv_freq, np.where(turns < 1, plain / 16, plain))


def test_the_two_orders_of_sections_are_two_rotations():
    stated = {"rope_type": "default", "mrope_section": [24, 20, 20]}
    file = {"head_dim": 128, "rope_theta": 1e6, "rope_scaling": stated}
    old, new = (rope_from_config(file | {"model_type": kind}) for kind in ("qwen2_vl", "qwen3_vl_text"))
    assert old != new
    assert old.axes[:3] == (0, 0, 0)
    assert new.axes[:3] == (0, 1, 2)
    with pytest.raises(ConfigError, match="pairs dealt to the coordinates in turn"):
        rope_from_config(
            file | {"model_type": "qwen3_vl_text", "rope_scaling": stated | {"mrope_section": [4, 30, 30]}}
        )


def test_sections_counted_over_features_are_refused():
    stated = {"rope_type": "default", "mrope_section": [16, 16, 16, 16]}
    with pytest.raises(ConfigError, match="counts sections over features"):
        rope_from_config(
            {"model_type": "hunyuan_vl_text", "head_dim": 128, "rope_theta": 1e4, "rope_scaling": stated}
        )


def test_bases_listed_by_layer_are_read_and_must_agree_within_a_kind():
    step = {
        "model_type": "step3p5",
        "head_dim": 128,
        "layer_types": ["full_attention", "sliding_attention"] * 2,
    }
    step |= {"rope_theta": [5e6, 1e4, 5e6, 1e4], "partial_rotary_factors": [0.5, 1.0, 0.5, 1.0]}
    assert read_config(step, layer_type="full_attention").spec.rotary_dim == 64
    assert read_config(step, layer_type="sliding_attention").base == 1e4
    with pytest.raises(ConfigError, match="differs among the layers of the kind"):
        read_config(step | {"rope_theta": [5e6, 1e4, 1e6, 1e4]})
    muse = {
        "model_type": "muse_spark_text",
        "head_dim": 64,
        "layer_types": ["sliding_attention", "full_attention"],
    }
    muse |= {"rope_theta": 5e5, "layer_rope_theta": [5e5, 0]}
    assert read_config(muse, layer_type="full_attention").rope_type == "nope"


BY_LAYER = {
    "model_type": "gemma4_text",
    "hidden_size": 64,
    "num_attention_heads": 4,
    "head_dim": 16,
    "num_hidden_layers": 3,
    "layer_types": ["sliding_attention", "full_attention", "sliding_attention"],
    "rope_parameters": {
        "full_attention": {"rope_type": "default", "rope_theta": 1e6},
        "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
    },
}


@pytest.mark.parametrize(
    "beside",
    [
        {},
        {"0": {"another_field": 8}},
        {"0": 8},
        {"0": ["head_dim"]},
        {"x": {"head_dim": 8}},
        {"9": {"head_dim": 8}},
        {"0": {"head_dim": 16}, "2": {"head_dim": 16.0}},
    ],
)
def test_a_width_stated_for_a_layer_is_that_of_its_kind_alone(beside):
    config = BY_LAYER | {"per_layer_config": {"1": {"head_dim": 32}} | beside}
    widths = {kind: read_config(config, layer_type=kind).spec.head_dim for kind in BY_LAYER["layer_types"]}
    assert widths == {"full_attention": 32, "sliding_attention": 16}


@pytest.mark.parametrize(
    ("widths", "odd"),
    [({"0": 16, "2": 8}, "2"), ({"2": 8}, "2"), ({"0": 8}, "0"), ({"2": 8, "0": 32}, "2")],
)
def test_widths_that_differ_within_a_kind_are_refused(widths, odd):
    """A layer that states no width has that of the file."""
    config = BY_LAYER | {"per_layer_config": {layer: {"head_dim": each} for layer, each in widths.items()}}
    with pytest.raises(ConfigError, match=rf"per_layer_config\.{odd}\.head_dim differs among the layers"):
        read_config(config, layer_type="sliding_attention")


ALIKE = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "rope_theta": 1e4}


@pytest.mark.parametrize("more", [{}, {"head_dim": 16}, {"layer_types": ["full_attention"] * 3}])
def test_widths_by_layer_are_read_or_refused_where_all_layers_rotate_alike(more):
    config = ALIKE | {"num_hidden_layers": 3} | more
    widths = {"0": {"head_dim": 32}, "1": {"head_dim": 32}, "2": {"head_dim": 32}}
    assert read_config(config | {"per_layer_config": widths}).spec.head_dim == 32
    assert read_config(config | {"per_layer_config": {"1": {"head_dim": 16}}}).spec.head_dim == 16
    del widths["1"]
    with pytest.raises(ConfigError, match=r'0\.head_dim differs among the layers of the kind "every layer"'):
        read_config(config | {"per_layer_config": widths})


@pytest.mark.parametrize("layer", ["9", "3", "x", "²", "1" * 5000])
def test_a_width_for_a_layer_that_is_not_there_is_named(layer):
    config = ALIKE | {"num_hidden_layers": 3, "per_layer_config": {layer: {"head_dim": 8}}}
    reading = read_config(config)
    assert reading.spec.head_dim == 16
    [remark] = reading.remarks
    assert remark.kind == "of no layer"
    assert remark.text.startswith(f"per_layer_config.{layer[:30]}")
    assert len(remark.text) < 130


def test_a_list_by_layer_takes_the_place_of_a_default_and_contradicts_another_width():
    """As the class of Gemma 4 reads it: no default of 512, where the file has a list."""
    config = BY_LAYER | {"per_layer_config": {"0": {"num_key_value_heads": 2}}}
    assert read_config(config, layer_type="full_attention").spec.head_dim == 16
    with pytest.raises(ConfigError, match=r"global_head_dim is 512, but head_dim is 16"):
        read_config(config | {"global_head_dim": 512}, layer_type="full_attention")
    stated = config | {"global_head_dim": 512, "per_layer_config": {"1": {"head_dim": 32}}}
    with pytest.raises(ConfigError, match=r"global_head_dim is 512, but per_layer_config\.1\.head_dim is 32"):
        read_config(stated, layer_type="full_attention")
