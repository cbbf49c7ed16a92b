"""The patients of chapter 22's game: the clinic finds their defects, and symptoms tell them apart."""

from itertools import combinations

import numpy as np
import pytest

from rope_book.widgets.maths.patients import (
    CHOICES,
    PATIENTS,
    PLACES,
    SPEC,
    STARTS,
    matrix_at,
    patients,
    symptoms,
)
from rope_doctor.clinic import BROKEN, diagnose, right

PEOPLE = {name: symptoms(name) | {"matrix": matrix_at(name, 2)} for name in PATIENTS}
SHOWN = 0.02  # a hint counts this as a difference


def differences(one, other):
    """Return the largest difference between two patients in each symptom."""
    lengths = [[min(person["lengths"]), max(person["lengths"])] for person in (one, other)]
    moved = [np.ptp(person["scores"], axis=0).max() for person in (one, other)]
    worst = [max(person["errors"]) for person in (one, other)]
    matrices = np.subtract(one["matrix"], other["matrix"])
    gaps = [np.subtract(*lengths), np.subtract(*moved), matrices, np.subtract(*worst)]
    return [np.abs(gap).max() for gap in gaps]


def test_every_diagnosis_is_somebodys_and_one_patient_is_healthy():
    assert sorted(PATIENTS) == sorted(CHOICES)
    assert [person["called"] for person in patients()["people"]] == [CHOICES[name] for name in PATIENTS]


@pytest.mark.parametrize("name", PATIENTS)
def test_the_clinic_finds_what_a_patient_has(name):
    rotate = right(SPEC) if name == "right" else BROKEN[name](SPEC)
    assert diagnose(rotate, 8, against=SPEC).mistakes == (() if name == "right" else (name,))


def test_the_healthy_one_has_no_symptom():
    healthy = PEOPLE["right"]
    assert healthy["lengths"] == pytest.approx(1, abs=1e-12)
    assert set(healthy["errors"]) == {0.0}
    assert np.ptp(healthy["scores"], axis=0).max() < 1e-12
    assert len(healthy["scores"]) == len(STARTS)
    assert len(healthy["lengths"]) == len(PLACES)


@pytest.mark.parametrize(("one", "other"), list(combinations(PATIENTS, 2)))
def test_a_symptom_contradicts_every_wrong_diagnosis(one, other):
    assert max(differences(PEOPLE[one], PEOPLE[other])) > SHOWN
