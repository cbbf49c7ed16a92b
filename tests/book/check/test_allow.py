"""What a parameters cell takes: any form of a right value, and a sentence for all else."""

import numpy as np
import pytest
from IPython.core.interactiveshell import InteractiveShell

from rope_book.check import allow


@pytest.mark.parametrize("seven", [7, 7.0, np.int64(7), np.float32(7), np.array(7), np.array(7.0)], ids=repr)
def test_any_form_of_a_whole_number_is_taken(seven):
    assert type(allow.whole("n", seven, 0, 9)) is int
    assert type(allow.number("x", seven, 0, 9)) is float
    assert allow.whole("n", seven, 0, 9) == allow.number("x", seven, 0, 9) == 7
    assert allow.complex_number("z", seven, 0, 9) == 7


def test_where_a_number_must_be_even_every_even_one_is_taken_and_no_odd_one():
    assert [allow.whole("n", n, 2, 20, even=True) for n in range(2, 21, 2)] == list(range(2, 21, 2))
    for odd in range(3, 20, 2):
        with pytest.raises(ValueError, match="an even whole number from 2 to 20"):
            allow.whole("n", odd, 2, 20, even=True)


@pytest.mark.parametrize(
    "pair", [[1, 0], (1, 0), [1.0, 0], np.array([1, 0]), np.array([1, 0], np.float32)], ids=repr
)
def test_any_form_of_a_vector_becomes_float64(pair):
    found = allow.vector("q", pair, 2, -1, 1)
    assert found.dtype == np.float64
    assert found.tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    "odd", [True, "7", None, [7], np.nan, np.inf, 10**400, 7 + 0j], ids=lambda v: repr(v)[:9]
)
def test_what_is_no_number_is_refused_with_its_name(odd):
    for ask in (allow.number, allow.whole):
        with pytest.raises(ValueError, match=r"^n must be .* from 0 to 9, got "):
            ask("n", odd, 0, 9)


def test_one_is_not_true_and_true_is_not_one():
    assert allow.flag("causal", np.True_) is True
    with pytest.raises(ValueError, match="causal must be True or False, got 1"):
        allow.flag("causal", 1)
    with pytest.raises(ValueError, match="place must be 0 or 1, got True"):
        allow.choice("place", True, [0, 1])


@pytest.fixture
def shell():
    """A notebook's shell, whose names before each cell are noted."""
    started = InteractiveShell.instance()
    allow.watch(started)
    yield started
    InteractiveShell.clear_instance()
    allow.BEFORE.clear()


def test_a_refused_cell_changes_nothing_and_is_answered_with_its_line_and_a_sentence(shell, capsys):
    cell = "q = {}\nslope = {}\nlength = {}\n\nslope = allow.number('slope', slope, 0.01, 2)\nlast = 0"
    shell.run_cell("from rope_book.check import allow")
    shell.run_cell(cell.format(0, 5, -1))
    assert not {"q", "slope", "length", "last"} & set(shell.user_ns)
    shell.run_cell(cell.format(1, 0.5, 9))
    assert not capsys.readouterr().err
    shell.run_cell(cell.format(2, 5, -1))
    assert [shell.user_ns[name] for name in ("q", "slope", "length")] == [1, 0.5, 9]
    said = capsys.readouterr().out.strip().splitlines()
    assert said[0] == "line 5: slope = allow.number('slope', slope, 0.01, 2)"
    assert said[-1].startswith("ValueError: slope must be a number from 0.01 to 2, got 5; all names keep")
    assert len(said) == 3


def test_a_long_value_is_cut_in_the_sentence():
    with pytest.raises(ValueError, match=r"got \[0, .{70,80}\.\.\.$"):
        allow.vector("q", [0] * 100, 2, -1, 1)
