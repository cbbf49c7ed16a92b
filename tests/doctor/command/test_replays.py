"""Fifteen public bugs, rebuilt: the named command detects them, and accepts their fixed forms."""

import pytest

pytest.importorskip("torch")

from rope_doctor.clinic import Diagnosis
from rope_doctor.command.replays import REPLAYS

SAYS = {  # a part of what the command says
    "The pairing flipped for 39 architectures": "Found interleaved (feature 0 with 1), expected half_split",
    "The base is read from where another version keeps it": "Found base 10000",
    "Frequencies never filled after the meta device": "numbers that cannot be frequencies, 0, 0, 0, 0, …",
    "Trainer and server rotate by different kernels": "cosines and sines bfloat16",
    "A partial factor of another kind of layers": "4 pairs, each twice, expected 8 pairs",
    "The indexer of sparse attention pairs neighbours": "Found interleaved",
    "Rows beyond the first, at length 1": "rows at length 1: differs",
    "Positions doubled by a default scale": "All are 2 times the expected ones",
    "LongRoPE's list by the allocated context": "Found 0.5 radians per token in pair 0, expected 1",
    "Rotated twice": "queries and keys rotated twice",
    "Position ids ignored": "Positions have no effect",
    "One rule for two kinds of layers": "sliding_attention layers",
    "A permutation skipped in the conversion": "k_proj.weight unchanged, expected permuted to interleaved",
    "A drafter's slots by the temporal coordinate": "M-RoPE ids: differs",
}
RUN = [replay for replay in REPLAYS if replay.run]


def right(report):
    return not report.mistakes if isinstance(report, Diagnosis) else report.right


@pytest.mark.parametrize("replay", RUN, ids=lambda replay: replay.title)
def test_the_command_finds_the_bug_and_calls_its_mended_form_right(replay):
    broken = replay.run(True)
    assert right(broken) is False
    assert SAYS[replay.title] in str(broken)
    assert right(replay.run(False)) is True


def test_there_are_fifteen_and_each_says_how_it_is_found_or_why_it_is_not():
    assert len(REPLAYS) == 15
    for replay in REPLAYS:
        assert replay.threads
        assert set(replay.unopened) <= set(replay.threads)
        assert bool(replay.command) is (replay.run is not None)
        assert replay.command or replay.why
    assert {replay.command for replay in REPLAYS} == {"diagnose", "model", "decode", "weights", ""}
