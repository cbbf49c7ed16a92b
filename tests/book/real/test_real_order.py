"""The program that shuffles what SmolLM2 reads runs the model as it is, and differs where it should."""

import pytest
import torch

from makers.real_order import LAYERS, last_vectors
from rope_edu.attention.encoding import NoPosition, Rotary


@pytest.fixture
def ids(model):
    return model.ids("The cat saw the dog, and the dog saw the cat.")


@torch.inference_mode()
def test_with_rotation_and_mask_the_last_vector_is_the_models(model, ids):
    vectors = last_vectors(model, torch.tensor([ids]), Rotary(model.spec), mask=True)
    assert list(vectors) == list(LAYERS)
    expected = model.logits(ids)[-1:]
    torch.testing.assert_close(model.model.head(vectors[LAYERS[-1]]), expected, atol=1e-3, rtol=0)


@torch.inference_mode()
@pytest.mark.parametrize("mask", [True, False])
def test_without_rotation_one_layer_sees_a_bag_of_words(model, ids, mask):
    tokens = torch.tensor([ids, [*reversed(ids[:-1]), ids[-1]]])
    still, turned = (
        last_vectors(model, tokens, encoding, mask)[1] for encoding in (NoPosition(), Rotary(model.spec))
    )
    assert (still[0] - still[1]).norm() < 1e-4 * still[0].norm()
    assert (turned[0] - turned[1]).norm() > 0.01 * turned[0].norm()
