"""What single ways of running a decoder ask of it."""

import numpy as np

from rope_doctor.probes.bench import Bench
from rope_doctor.probes.decoder import Decoder
from rope_doctor.probes.ways import packed


def test_two_documents_in_a_row_are_no_longer_than_the_text_that_was_asked_for():
    lengths = set()

    def copies(tokens, *, positions=None, mask=None):
        lengths.add(tokens.shape[1])
        return np.eye(40)[tokens]

    decoder = Decoder(copies, vocabulary=40, takes=frozenset({"positions", "mask"}))
    packed(Bench(decoder, length=24, piece=12))
    assert lengths == {24}
