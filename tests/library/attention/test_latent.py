"""MLA's decoupled key: equal to one wide key, relative, and what may and may not be absorbed."""

import numpy as np
import pytest

from rope_edu import apply_rope, inv_freq, rope_angles
from rope_edu.attention import attention_scores, decoupled_scores

HEADS, LENGTH, CONTENT, TURNED, LATENT = 3, 6, 8, 4, 5
RNG = np.random.default_rng(19)
Q, K = RNG.normal(size=(2, HEADS, LENGTH, CONTENT))
Q_SECOND, K_SECOND = RNG.normal(size=(HEADS, LENGTH, TURNED)), RNG.normal(size=(LENGTH, TURNED))


def turned(x, start=0):
    return apply_rope(x, rope_angles(range(start, start + LENGTH), inv_freq(TURNED)))


def test_two_parts_equal_one_wide_key():
    wide_q = np.concatenate((Q, turned(Q_SECOND)), axis=-1)
    wide_k = np.concatenate((K, np.broadcast_to(turned(K_SECOND), (HEADS, LENGTH, TURNED))), axis=-1)
    found = decoupled_scores(Q, K, turned(Q_SECOND), turned(K_SECOND))
    np.testing.assert_allclose(found, attention_scores(wide_q, wide_k), atol=1e-13)


def test_scores_depend_on_the_distance_alone():
    here = decoupled_scores(Q, K, turned(Q_SECOND), turned(K_SECOND))
    there = decoupled_scores(Q, K, turned(Q_SECOND, 500), turned(K_SECOND, 500))
    np.testing.assert_allclose(here, there, atol=1e-12)


def test_a_matrix_may_move_to_the_query_and_a_rotation_between_may_not():
    up, latent = RNG.normal(size=(HEADS, CONTENT, LATENT)), RNG.normal(size=(LENGTH, LATENT))
    keys = latent @ up.mT  # (heads, seq, content)
    absorbed = decoupled_scores(Q @ up, latent[None], turned(Q_SECOND), turned(K_SECOND), scale=1.0)
    expected = decoupled_scores(Q, keys, turned(Q_SECOND), turned(K_SECOND), scale=1.0)
    np.testing.assert_allclose(absorbed, expected, atol=1e-12)
    angles = rope_angles(range(LENGTH), inv_freq(CONTENT))
    rotated = attention_scores(apply_rope(Q, angles), apply_rope(keys, angles), scale=1.0)
    moved = attention_scores(
        apply_rope(Q, angles) @ up, np.broadcast_to(latent, (HEADS, LENGTH, LATENT)), scale=1.0
    )
    assert np.abs(rotated - moved).max() > 1  # the stored latent would have to be turned in the middle


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="q and k must be equally wide"):
        decoupled_scores(Q, K[..., :4], turned(Q_SECOND), turned(K_SECOND))
    with pytest.raises(ValueError, match="k_turned must hold floats"):
        decoupled_scores(Q, K, turned(Q_SECOND), np.ones((LENGTH, TURNED), int))
