"""Rotations by several coordinates: Rotary and RotaryTable equal transformers', or refuse with a sentence."""

import json
from importlib import import_module

import numpy as np
import pytest
import torch

from rope_doctor import rope_from_config
from rope_edu import RopeSpec, Rotary, apply_rope, inv_freq
from rope_edu.attention import multi_head_attention
from rope_edu.encodings import section_axes, spec_angles
from rope_edu.fast import RotaryTable, rotate

RNG = np.random.default_rng(0)
PLACES = RNG.integers(0, 60, size=(11, 3))  # three different coordinates for each token
MODELS = {  # module, class and config, sections, order
    "Qwen2-VL": ("qwen2_vl", "Qwen2VL", "Qwen2VLTextConfig", [16, 24, 24], "contiguous"),
    "Qwen3-VL": ("qwen3_vl", "Qwen3VLText", "Qwen3VLTextConfig", [24, 20, 20], "interleaved"),
    "Qwen2.5-VL, video": ("qwen2_5_vl", "Qwen2_5_VL", "Qwen2_5_VLTextConfig", [16, 24, 24], "contiguous"),
}
ways = pytest.mark.parametrize("way", ["spec", "table", "rotate"])


def spec_of(sections, order):
    return RopeSpec(inv_freq(128, 1e6), layout="half_split", axes=section_axes(64, sections, order))


def rotated(way, spec, x, places):
    if way == "rotate":
        return rotate(x, table=RotaryTable(spec), positions=places)
    return Rotary(spec if way == "spec" else RotaryTable(spec)).rotate_q(x, places)


@ways
@pytest.mark.parametrize("model", MODELS)
def test_a_rotation_by_three_coordinates_equals_that_of_transformers(model, way):
    import transformers

    module, name, config, sections, order = MODELS[model]
    room = import_module(f"transformers.models.{module}.modeling_{module}")
    sizes = {"hidden_size": 256, "num_attention_heads": 2, "num_key_value_heads": 2, "num_hidden_layers": 1}
    parameters = {"rope_type": "default", "rope_theta": 1e6, "mrope_section": sections}
    made = getattr(transformers, config)(head_dim=128, rope_parameters=parameters, **sizes)
    q, k = torch.randn(2, 1, 2, 11, 128, generator=torch.Generator().manual_seed(0)).unbind()
    cos, sin = getattr(room, f"{name}RotaryEmbedding")(made)(q, torch.tensor(PLACES.T[:, None]))
    if hasattr(room, "apply_multimodal_rotary_pos_emb") and cos.ndim == 4:
        theirs = room.apply_multimodal_rotary_pos_emb(q, k, cos, sin, sections)
    else:
        theirs = room.apply_rotary_pos_emb(q, k, cos, sin)
    spec = rope_from_config(json.loads(made.to_json_string()))
    np.testing.assert_array_equal(spec.axes, spec_of(sections, order).axes)
    for x, expected in zip((q, k), theirs, strict=True):
        ours = rotated(way, spec, x, PLACES)
        # their angles are float32, up to 60 rad: off by 60 · 2^-24 each; then two products and a sum
        bound = 4 * (60 + 4) * 2**-24 * x.abs().max()
        torch.testing.assert_close(ours, expected, rtol=0, atol=float(bound))


@ways
def test_both_orders_differ_and_equal_coordinates_are_one_position(way):
    x = RNG.normal(size=(2, 11, 128))
    contiguous, interleaved = spec_of([24, 20, 20], "contiguous"), spec_of([24, 20, 20], "interleaved")
    assert contiguous != interleaved
    assert abs(rotated(way, contiguous, x, PLACES) - rotated(way, interleaved, x, PLACES)).max() > 0.1
    text = np.repeat(np.arange(11)[:, None], 3, axis=1)
    expected = apply_rope(x, np.arange(11)[:, None] * inv_freq(128, 1e6), layout="half_split")
    np.testing.assert_allclose(rotated(way, interleaved, x, text), expected, rtol=0, atol=1e-12)


@ways
@pytest.mark.parametrize("places", [np.arange(3), np.arange(11), np.ones((11, 2)), list(range(11))])
def test_positions_without_as_many_coordinates_are_refused(way, places):
    with pytest.raises(
        ValueError, match=r"turn by 3 coordinates, so positions must be \(…, seq, 3\), got shape"
    ):
        rotated(way, spec_of([16, 24, 24], "contiguous"), np.ones((2, len(places), 128)), places)


def test_a_table_with_axes_counts_no_positions_by_itself():
    table = RotaryTable(spec_of([16, 24, 24], "contiguous"))
    for call in (lambda: rotate(np.ones((3, 128)), table=table), lambda: table.cos_sin(0, 3)):
        with pytest.raises(ValueError, match=r"turn by 3 coordinates: give positions \(…, seq, 3\)"):
            call()


def test_attention_takes_rows_of_coordinates_and_refuses_none():
    spec, x, w = RopeSpec([1.0, 0.5], axes=(0, 1)), RNG.normal(size=(2, 5, 4)), np.eye(4)
    places = np.stack((np.arange(5), 7 * np.arange(5)[::-1]), axis=-1)
    ways = [
        multi_head_attention(x, w, w, w, w, n_heads=1, encoding=encoding, positions=places)[0]
        for encoding in (Rotary(spec), Rotary(RotaryTable(spec)))
    ]
    by_hand = np.stack([apply_rope(row, places * spec.inv_freq) for row in x])
    scores = by_hand @ by_hand.mT / 2 + np.triu(np.full((5, 5), -np.inf), 1)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    expected = weights / weights.sum(-1, keepdims=True) @ x
    for output in ways:
        np.testing.assert_allclose(output, expected, rtol=0, atol=1e-12)
    for encoding in (Rotary(spec), Rotary(RotaryTable(spec))):
        with pytest.raises(ValueError, match="turn by 2 coordinates"):
            multi_head_attention(x, w, w, w, w, n_heads=1, encoding=encoding)


def test_gradients_reach_coordinates():
    places = torch.tensor(RNG.normal(size=(4, 2)), requires_grad=True)
    spec = RopeSpec([1.0, 0.5, 0.25], axes=(0, 1, 0))
    assert torch.autograd.gradcheck(lambda p: spec_angles(spec, p), places)
    x = torch.tensor(RNG.normal(size=(4, 6)))
    assert torch.autograd.gradcheck(lambda p: Rotary(spec).rotate_q(x, p), places)
