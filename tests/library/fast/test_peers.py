"""What is compared for speed is the same rotation: each peer that is installed turns as we do."""

import subprocess
import sys

import pytest

from makers.rotation_peers import assert_same_turn, installed


@pytest.mark.makers
@pytest.mark.parametrize("peer", installed()[0], ids=lambda peer: peer.name)
@pytest.mark.parametrize("start", [0, 100])
def test_a_peer_turns_as_we_do(peer, start):
    assert_same_turn(peer, start)


def test_arrays_are_rotated_without_importing_torch():
    code = (
        "import numpy as np, sys; from rope_edu.fast import RotaryTable, rotate;"
        "rotate(np.ones((3, 4)), table=RotaryTable([1.0, 0.1])); print('torch' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "False"
