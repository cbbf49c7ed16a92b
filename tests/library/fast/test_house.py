"""The way of an array through the package: every module is handed it once, whatever becomes of it."""

import sys
from collections import Counter

import numpy as np
import pytest
import torch

from rope_edu import inv_freq
from rope_edu.fast import RotaryTable, plan, rotate

ROOMS = {
    f"rope_edu.fast.{name}" for name in ("rotate", "table", "rows", "plan", "memory", "blocks", "kernels")
}
ROOMS.add("rope_edu.encodings.rotary")
HELPERS = {"rope_edu.arrays", "rope_edu.encodings.validation"}
TABLE = RotaryTable(inv_freq(8), layout="half_split")


def entries(x, call, modules=ROOMS):
    """Count, for each of the modules, the calls from elsewhere that hand x in."""
    counts = Counter()

    def watch(frame, event, _):
        if event != "call":
            return
        here, caller = frame.f_globals.get("__name__", ""), frame.f_back
        while caller and not caller.f_globals.get("__name__", "").startswith("rope_edu"):
            caller = caller.f_back  # through torch, which calls us back
        code, handed = frame.f_code, frame.f_locals
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        given = [handed.get(name) for name in names]  # numba's loop shows none
        from_elsewhere = caller is None or caller.f_globals["__name__"] != here
        if here in modules and from_elsewhere and any(value is x for value in given):
            counts[here.removeprefix("rope_edu.")] += 1

    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(None)
    return counts


def inputs():
    tensor, array = torch.ones(2, 3, 8), np.ones((2, 3, 8))
    learned = torch.ones(2, 3, 8, requires_grad=True)
    held = TABLE.cos_sin(0, 3, like=tensor)
    return {
        "new": (tensor, lambda: rotate(tensor, table=TABLE)),
        "far": (tensor, lambda: rotate(tensor, table=TABLE, offset=10**6)),
        "into memory given": (tensor, lambda: rotate(tensor, table=TABLE, out=torch.empty_like(tensor))),
        "in place": (array, lambda: rotate(array, table=TABLE, out=array)),
        "fractions": (array, lambda: rotate(array, table=TABLE, positions=[0.5, 1, 2])),
        "no kernel": (tensor, lambda: rotate(tensor, table=TABLE, compiled=False)),
        "a gradient": (learned, lambda: rotate(learned, table=TABLE)),
        "rows held": (tensor, lambda: rotate(tensor, table=held)),
    }


@pytest.mark.parametrize("way", inputs())
def test_an_array_enters_each_module_once(way):
    x, call = inputs()[way]
    call()  # plans, and compiles a kernel
    counts = entries(x, call)
    if way == "fractions":
        counts["fast.rows"] -= 1  # once as the array whose kind the rows are made of
    assert set(counts.values()) == {1}, counts


@pytest.mark.parametrize("way", inputs())
def test_even_the_first_call_enters_no_module_more_than_twice(way, monkeypatch):
    monkeypatch.setattr(plan, "_plans", {})
    monkeypatch.setattr(plan, "_last_plans", {})
    monkeypatch.setattr(TABLE, "_windows", {})
    monkeypatch.setattr(TABLE, "_last", RotaryTable(inv_freq(8))._last)
    x, call = inputs()[way]
    counts = entries(x, call, ROOMS | HELPERS)
    assert max(counts.values()) <= 2, counts
