"""What a file keeps of a number."""

import pytest

from rope_doctor.config.files import in_float32


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (0.123456789, 0.12345679),
        (2**24, 2**24),
        (2**24 + 1, 2**24),
        (-(2**24) - 1, -(2**24)),
        (True, True),
        (1e30, 1e30),
        ("0.123456789", "0.123456789"),
        (None, None),
    ],
)
def test_a_number_in_float32_has_its_digits_and_no_more(value, kept):
    found = in_float32({"a": [value]})["a"][0]
    assert (found, type(found) is bool) == (kept, type(kept) is bool)
