"""What library and doctor hand out as a record stays as it was handed out."""

import dataclasses
import importlib
import inspect
import pkgutil

import pytest

ROOMS = (
    *("rope_edu.encodings", "rope_edu.attention"),
    *(f"rope_doctor.{room}" for room in ("config", "clinic", "vectors", "probes", "command")),
)
GROWING = {
    "RuleTable",
    "_ModelProbe",
    "ModuleProbe",
    "Pairs",
    "Clock",
    "_Recorder",
    "Watched",
}  # filled step by step, inside their rooms


def records():
    """Return every dataclass of library and doctor by the names of its module and its own."""
    found = {}
    for room in ROOMS:
        package = importlib.import_module(room)
        for each in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if each.name.endswith("__main__"):
                continue
            for name, value in vars(importlib.import_module(each.name)).items():
                if (
                    isinstance(value, type)
                    and dataclasses.is_dataclass(value)
                    and not inspect.isabstract(value)
                    and value.__module__ == each.name
                ):
                    found[f"{each.name}.{name}"] = value
    return found


@pytest.mark.parametrize("record", records().values(), ids=records())
def test_a_record_refuses_another_value_unless_it_is_filled_step_by_step(record):
    made = object.__new__(record)
    if record.__name__ in GROWING:
        made.note = None
    else:
        with pytest.raises(dataclasses.FrozenInstanceError):
            made.note = None
