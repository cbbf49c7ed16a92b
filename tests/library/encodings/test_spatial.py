"""More than one coordinate: relativity where generators commute, its failure where not; transformers' own forms."""

import math

import numpy as np
import pytest
import torch

from rope_edu import apply_rope, inv_freq, rope_angles
from rope_edu.encodings import (
    axial_frequencies,
    commutator_size,
    grid_coordinates,
    lie_rotation,
    mixed_frequencies,
    pair_generators,
    rotation_matrix,
    section_axes,
    section_frequencies,
    spatial_angles,
)

RNG = np.random.default_rng(20)
SCHEMES = {
    "axial": axial_frequencies(24, 3, 100.0),
    "contiguous sections": section_frequencies(inv_freq(24), [6, 3, 3]),
    "interleaved sections": section_frequencies(inv_freq(24), [4, 4, 4], "interleaved"),
    "any": RNG.normal(size=(3, 12)),
}


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("layout", ["interleaved", "half_split"])
def test_a_score_depends_on_differences_of_coordinates_alone(scheme, layout):
    q, k = RNG.normal(size=(2, 24))
    here, there, shift = RNG.integers(-50, 50, size=(3, 3))

    def score(x, y):
        turned = [
            apply_rope(vector[None], spatial_angles(place[None], SCHEMES[scheme]), layout=layout)
            for vector, place in ((q, x), (k, y))
        ]
        return (turned[0] @ turned[1].T).item()

    assert score(here, there) == pytest.approx(score(here + shift, there + shift), abs=1e-11)
    assert abs(score(here, there) - score(here + np.eye(3)[0], there)) > 1e-3


def test_one_axis_is_rope():
    angles = spatial_angles(np.arange(7)[:, None], inv_freq(8)[None])
    assert (angles == rope_angles(range(7), inv_freq(8))).all()


@pytest.mark.parametrize("order", ["contiguous", "interleaved"])
def test_a_token_of_text_is_rotated_as_ever(order):
    places = np.repeat(np.arange(9)[:, None], 3, axis=1)
    frequencies = section_frequencies(inv_freq(128, 1e6), [24, 20, 20], order)
    np.testing.assert_allclose(
        spatial_angles(places, frequencies), rope_angles(range(9), inv_freq(128, 1e6)), rtol=1e-15
    )


def vl_config(name):
    """Return a small config of a text model with three coordinates."""
    import transformers

    sizes = {"hidden_size": 256, "num_attention_heads": 2, "num_key_value_heads": 2, "num_hidden_layers": 1}
    sections = {"Qwen2VLTextConfig": [16, 24, 24], "Qwen3VLTextConfig": [24, 20, 20]}[name]
    parameters = {"rope_type": "default", "rope_theta": 1e6, "mrope_section": sections}
    return getattr(transformers, name)(head_dim=128, rope_parameters=parameters, **sizes), sections


@pytest.mark.parametrize(
    ("module", "model", "order"),
    [("qwen2_vl", "Qwen2VL", "contiguous"), ("qwen3_vl", "Qwen3VLText", "interleaved")],
)
def test_sections_equal_those_of_transformers(module, model, order):
    from importlib import import_module

    room = import_module(f"transformers.models.{module}.modeling_{module}")
    config, sections = vl_config("Qwen2VLTextConfig" if module == "qwen2_vl" else "Qwen3VLTextConfig")
    places = RNG.integers(0, 60, size=(11, 3))
    rotary = getattr(room, f"{model}RotaryEmbedding")(config)
    positions = torch.tensor(places.T[:, None])
    cos, sin = rotary(torch.zeros(1, dtype=torch.float32), positions)
    angles = spatial_angles(places, section_frequencies(inv_freq(128, 1e6), sections, order))
    # float32 angles: up to 120 rad in all, each within an ulp of its own (2^-18), of three roundings
    np.testing.assert_allclose(cos[0, :, :64].numpy(), np.cos(angles), atol=3 * 60 * 2**-24)
    np.testing.assert_allclose(sin[0, :, :64].numpy(), np.sin(angles), atol=3 * 60 * 2**-24)


def test_pixtral_deals_one_row_to_height_and_width():
    from transformers import PixtralVisionConfig
    from transformers.models.pixtral import modeling_pixtral

    config = PixtralVisionConfig(hidden_size=128, num_attention_heads=2, image_size=64, patch_size=16)
    frequencies, _ = modeling_pixtral.PixtralVisionRotaryEmbedding.compute_axial_rope_parameters(config)
    row = inv_freq(64, config.rope_parameters["rope_theta"])
    dealt = section_frequencies(np.concatenate((row[0::2], row[1::2])), [16, 16])
    np.testing.assert_allclose(frequencies.numpy(), dealt.sum(axis=0), rtol=4 * 2**-24)


def test_interleaving_gives_every_axis_fast_and_slow_pairs():
    axes = section_axes(64, [24, 20, 20], "interleaved")
    assert np.bincount(axes).tolist() == [24, 20, 20]
    assert axes[:6].tolist() == [0, 1, 2, 0, 1, 2]
    assert axes[-4:].tolist() == [0, 0, 0, 0]
    assert section_axes(64, [16, 24, 24])[[0, 15, 16, 39, 40, 63]].tolist() == [0, 0, 1, 1, 2, 2]


def test_mixed_starts_as_axial_and_turns_its_axes_with_the_direction():
    assert np.allclose(mixed_frequencies(16), axial_frequencies(16, 2, 10.0), atol=1e-15)
    turned = mixed_frequencies(16, 0.7)
    back = [[math.cos(0.7), math.sin(0.7)], [-math.sin(0.7), math.cos(0.7)]]
    np.testing.assert_allclose(back @ turned, axial_frequencies(16, 2, 10.0), atol=1e-15)


@pytest.mark.parametrize("layout", ["interleaved", "half_split"])
def test_the_exponential_of_pair_generators_is_the_rotation_matrix(layout):
    frequencies, places = RNG.normal(size=(2, 4)), grid_coordinates(3, 4)
    generators = pair_generators(frequencies, layout=layout)
    expected = rotation_matrix(spatial_angles(places, frequencies), layout=layout)
    np.testing.assert_allclose(lie_rotation(places, generators), expected, atol=1e-13)
    assert commutator_size(generators) < 1e-15


def antisymmetric(axes, width):
    """Draw generators that do not commute."""
    raw = RNG.normal(size=(axes, width, width))
    return raw - np.swapaxes(raw, 1, 2)


def relative_error(generators, places):
    """Return by how much R(x)ᵀ R(y) differs from R(y − x), at most."""
    turns = lie_rotation(places, generators)
    found = np.swapaxes(turns, 1, 2)[:, None] @ turns[None]
    difference = places[None] - places[:, None]
    return float(np.abs(found - lie_rotation(difference, generators)).max())


def test_relativity_is_exact_where_generators_commute_in_any_basis():
    basis, _ = np.linalg.qr(RNG.normal(size=(8, 8)))
    generators = basis @ pair_generators(RNG.normal(size=(2, 4))) @ basis.T
    assert commutator_size(generators) < 1e-14
    assert relative_error(generators, grid_coordinates(4, 4)) < 1e-12


def test_relativity_fails_where_generators_do_not_commute():
    generators = antisymmetric(2, 8)
    assert commutator_size(generators) > 1
    assert relative_error(generators, grid_coordinates(4, 4)) > 0.5
    assert relative_error(generators[:1], grid_coordinates(5)) < 1e-12  # one axis alone commutes with itself


def test_any_generators_make_rotations():
    turns = lie_rotation(grid_coordinates(3, 3), antisymmetric(2, 6))
    np.testing.assert_allclose(
        turns @ np.swapaxes(turns, 1, 2), np.broadcast_to(np.eye(6), turns.shape), atol=1e-13
    )
    np.testing.assert_allclose(np.linalg.det(turns), 1.0, atol=1e-12)


def test_torch_gives_torch_and_a_gradient_reaches_mixed_frequencies():
    frequencies = torch.tensor(mixed_frequencies(8, 0.3), requires_grad=True)
    places = grid_coordinates(2, 3)
    angles = spatial_angles(places, frequencies)
    np.testing.assert_allclose(angles.detach().numpy(), spatial_angles(places, frequencies.detach().numpy()))
    angles.sum().backward()
    np.testing.assert_allclose(frequencies.grad[:, 0].numpy(), places.sum(axis=0))
    generators = torch.tensor(antisymmetric(2, 4))
    np.testing.assert_allclose(
        lie_rotation(places, generators).numpy(), lie_rotation(places, generators.numpy()), atol=1e-13
    )


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: axial_frequencies(10), "head_dim must be a multiple of 2 · axes = 4, got 10"),
        (lambda: axial_frequencies(8, 0), "axes must be a whole number of at least 1, got 0"),
        (lambda: mixed_frequencies(6), "head_dim must be a multiple of 4, got 6"),
        (lambda: section_frequencies(inv_freq(8), [1, 2]), "sections must add up to the 4 pairs, got"),
        (lambda: section_axes(7, [3, 3, 1], "interleaved"), r"sections \[3, 3, 1\] cannot be interleaved"),
        (
            lambda: section_axes(4, [2, 2], "mixed"),
            "order must be 'contiguous' or 'interleaved', got 'mixed'",
        ),
        (lambda: spatial_angles([[1, 2, 3]], [[1.0]]), r"coordinates must be \(…, seq, 1\)"),
        (lambda: spatial_angles([[math.nan]], [[1.0]]), "coordinates must be finite"),
        (lambda: lie_rotation([[1.0]], [[[1.0]]]), "generators must be antisymmetric"),
        (lambda: lie_rotation([[1.0]], np.zeros((1, 2, 3))), r"generators must be \(axes, width, width\)"),
        (lambda: grid_coordinates(), "sizes must name at least one axis"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
