"""Every figure in 100 states: what is drawn lies in the picture, and no two of its labels cover each other."""

import json
import random
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest
from traitlets import TraitError

from rope_book.widgets import LiveFigure
from rope_book.widgets._traits import Control

from .conftest import SITE, paper

pytestmark = pytest.mark.browser
STATES = 100
LETTERS = "aeinorst" * 3 + "bcdfghjklmpquvwyzMWI1'"


def drawn(control: Control, chance: random.Random) -> object:
    """Return a value in the control's range; one in five is an end of it."""
    if control.kind == "slider":
        low, high = control.low, control.high
        share = chance.choice([0, 1]) if chance.random() < 0.2 else chance.random()
        start = 1 if low == 0 else 0  # a logarithmic slider from 0 follows log(1 + value)
        log = (low + start) * ((high + start) / (low + start)) ** share - start
        value = log if control.log else low + share * (high - low)
        return control.clean(round(value)) if control.whole else min(high, max(low, round(value, 3)))
    if control.kind == "point":
        at_end = chance.random() < 0.2
        limit = control.limit
        pick = (
            (lambda: chance.choice([-limit, 0, limit])) if at_end else (lambda: chance.uniform(-limit, limit))
        )
        return [round(pick(), 2) for _ in "xy"]
    if control.kind == "choice":
        return chance.choice(list(control.options))
    if control.kind == "toggle":
        return chance.random() < 0.5
    if control.kind == "paste":
        return chance.choice(["", "", "{", PASTED, PASTED.replace("su", "sue"), PASTED.replace("8", "-8")])
    if control.kind == "text":
        return "".join(chance.choices(control.letters, k=chance.choice([0, chance.randint(1, control.most)])))
    if control.kind == "sketch":
        count = chance.choice([0, control.most, chance.randint(0, control.most)])
        return [round(chance.uniform(-1, 1), 2) for _ in range(count)]
    if control.kind == "numbers":
        count = chance.choice([0, control.most, chance.randint(0, control.most)])
        return [round(chance.uniform(control.low, min(control.high, 9)), 2) for _ in range(count)]
    count = chance.randint(1, control.max_words)
    return " ".join(
        "".join(chance.choices(LETTERS, k=chance.choice([1, 3, 5, 5, 8, 16]))) for _ in range(count)
    )


def held(figure: LiveFigure, values: dict) -> dict:
    """Return the whole state once a hand has set these values one after another, but for those that are refused."""
    figure.reset()
    for trait, value in values.items():
        with suppress(TraitError):
            setattr(figure, trait, value)
    return {trait: getattr(figure, trait) for trait in figure.controls()}


PASTED = (
    '{"model_type": "a_name_that_nobody_knows", "head_dim": 8, "rope_theta": 10000.5, '
    '"max_position_embeddings": 4096, '
    '"rope_scaling": {"type": "su", "short_factor": [1, 1, 1, 1], "long_factor": [1, 2.5, 4, 64], "factor": 8, '
    '"original_max_position_embeddings": 512}}'
)


@cache
def states(name: str) -> list[dict]:
    """Return the first state and seeded random ones, as the page holds them."""
    figure = LiveFigure.figures[name]
    chance = random.Random(name)
    made = [{}] + [{t: drawn(c, chance) for t, c in figure.controls().items()} for _ in range(STATES)]
    for state in made:
        if "rearranged" in state and chance.random() < 0.7:
            words = state["sentence"].split()
            state["rearranged"] = " ".join(chance.sample(words, len(words)))
    hand = figure()
    return [held(hand, state) for state in made]


@pytest.fixture(scope="module")
def sheet(browser):
    """An empty page with the figures' style."""
    page = paper(browser)
    page.add_script_tag(path=Path(__file__).with_name("frames.js"))
    yield page
    page.close()


@pytest.mark.sampled(9)
@pytest.mark.parametrize("width", [1200, 1280, 360])
def test_everything_drawn_lies_in_the_picture_and_no_label_covers_another(sheet, name, width):
    sheet.add_script_tag(path=SITE / "_static" / "live" / f"{name}.js")
    described = LiveFigure.figures[name]()._controls
    room = {1200: 760, 1280: 560, 360: 328}[width]  # for the figure; at 1280 px its controls are beside it
    # as one text: Playwright takes a tree apart node by node
    given = json.dumps([states(name), described, room])
    faults = sheet.evaluate("(given) => faults(JSON.parse(given))", given)
    assert not faults, f"{len(faults)} faults, such as:\n" + "\n".join(faults[:12])
