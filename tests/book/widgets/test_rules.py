"""Rules between controls: Python refuses what the page clamps; in all else the two agree."""

import random
import re

import pytest
import traitlets

from rope_book import widgets
from rope_book.widgets import LiveFigure, RotatePair
from rope_book.widgets._rules import AtMost, OnlyIf
from rope_book.widgets._traits import Control

from .drawn import along
from .v8 import scripts

RULED = sorted(
    name
    for name, figure in LiveFigure.figures.items()
    if any(not isinstance(rule, OnlyIf) for control in figure.controls().values() for rule in control.rules)
)
SHOWING = sorted(
    name
    for name, figure in LiveFigure.figures.items()
    if any(isinstance(rule, OnlyIf) for control in figure.controls().values() for rule in control.rules)
)
STATES, MOVES = 120, 40
REFUSED = r"^\w+\.\w+ must be (at most|at least|that of) .+, got .+\.$"


def drawn(control: Control, chance: random.Random) -> object:
    """Return a value in the control's own range, one in four times an end of it."""
    if control.kind == "slider":
        share = chance.choice([0, 1]) if chance.random() < 0.25 else chance.random()
        value = min(control.high, max(control.low, round(along(control, share), 3)))
        return control.clean(round(value) if control.whole else value)
    if control.kind == "choice":
        return chance.choice(list(control.options))
    if control.kind == "toggle":
        return chance.random() < 0.5
    if control.kind == "point":
        return [chance.uniform(-control.limit, control.limit) for _ in "xy"]
    if control.kind == "text":
        return "".join(chance.choices(control.letters, k=chance.randint(0, control.most)))
    if control.kind == "sketch":
        return [chance.uniform(-1, 1) for _ in range(chance.randint(0, control.most))]
    if control.kind == "numbers":
        return [chance.uniform(control.low, control.high) for _ in range(chance.randint(0, control.most))]
    return " ".join(chance.choices(["one", "other", "word"], k=chance.randint(1, control.max_words)))


def state(figure: LiveFigure) -> dict:
    return {name: getattr(figure, name) for name in figure.controls()}


@pytest.fixture(scope="module")
def settled():
    """Settle moves with the page's interpreter: settled(figure class, [(before, held), …]) -> [changes, …]."""
    with scripts("lib/rules") as v8:

        def ask(
            figure: type[LiveFigure], moves: list[tuple[dict, dict]], function: str = "settle"
        ) -> list[dict]:
            controls = {control["name"]: control for control in figure()._controls}
            call = f"(moves, controls) => moves.map((move) => {function}(controls, ...move))"
            return v8.answer([(call, [moves, controls])])[0]

        yield ask


def outcome(make) -> tuple[LiveFigure | None, str]:
    """Return the result, or the sentence of its error."""
    try:
        return make(), ""
    except traitlets.TraitError as error:
        return None, str(error)


@pytest.mark.parametrize("name", RULED)
def test_a_constructor_refuses_what_the_page_clamps(settled, name):
    figure, chance = LiveFigure.figures[name], random.Random(name)
    controls, first = figure.controls(), state(figure())
    given = [
        {each: drawn(controls[each], chance) for each in controls if chance.random() < 0.5}
        for _ in range(STATES)
    ]
    clamped = settled(figure, [(first, each) for each in given])
    refused, accepted = 0, []
    for values, more in zip(given, clamped, strict=True):
        made, sentence = outcome(lambda values=values: figure(**values))
        refused += made is None
        assert (made is None) == any(each in values for each in more), (values, more, sentence)
        if made is None:
            assert re.match(REFUSED, sentence), sentence
        else:
            accepted.append(state(made))
            assert accepted[-1] == {**first, **values, **more}
    assert 0 < refused < STATES
    for held, more in zip(accepted, settled(figure, [(first, held) for held in accepted]), strict=True):
        assert {**held, **more} == held  # a link carries the whole state


@pytest.mark.parametrize("name", RULED)
def test_a_move_in_python_is_a_move_in_the_page(settled, name):
    figure, chance = LiveFigure.figures[name], random.Random(f"{name} moves")
    controls, moved, made, refusals = figure.controls(), [], figure(), []
    for _ in range(MOVES):
        trait = chance.choice([each for each in controls if controls[each].kind != "point"])
        before, value = state(made), drawn(controls[trait], chance)
        held = {trait: value} | made.along(trait, value)
        _, sentence = outcome(lambda trait=trait, value=value: setattr(made, trait, value))
        moved.append((before, held, state(made), sentence))
        refusals += [sentence] if sentence else []
    for (before, held, after, sentence), more in zip(
        moved, settled(figure, [(before, held) for before, held, *_ in moved]), strict=True
    ):
        assert bool(sentence) == any(each in held for each in more), (before, held, more, sentence)
        assert after == (before if sentence else {**before, **held, **more})
    assert all(re.match(REFUSED, sentence) for sentence in refusals)


@pytest.mark.parametrize("name", SHOWING)
def test_a_control_that_means_nothing_is_dimmed_and_shown_when_a_hand_moves_it(settled, name):
    figure = LiveFigure.figures[name]
    first = state(figure())
    for trait, control in figure.controls().items():
        for rule in (rule for rule in control.rules if isinstance(rule, OnlyIf)):
            options = figure.controls()[rule.where]
            for option in getattr(options, "options", (True, False)):
                now = first | {rule.where: option}
                (used,) = settled(figure, [[now]], "inUse")
                (turned,) = settled(figure, [(now, {trait: control.default_value})], "shown")
                assert (trait in used) == (option in rule.values)
                assert turned == ({} if option in rule.values else {rule.where: rule.values[0]})
                assert (
                    getattr(figure(**{rule.where: option, trait: control.default_value}), rule.where)
                    == option
                )


@pytest.mark.parametrize("name", RULED)
def test_rules_name_controls_and_bounds_that_they_can_take(name):
    controls = LiveFigure.figures[name].controls()
    for trait, control in controls.items():
        for rule in control.rules:
            if isinstance(rule, AtMost):
                limit = controls[rule.limit]
                ends = {"slider": lambda c=limit: [c.low, c.high], "choice": lambda c=limit: list(c.options)}
                values = ends.get(limit.kind, lambda c=limit: ["one", " ".join(["word"] * c.max_words)])()
                for value in values:
                    most = rule.most({rule.limit: value})
                    assert control.clean(min(most, control.high)) >= control.low, (
                        f"{trait} at {rule.limit}={value}"
                    )


def test_sentences_say_what_is_allowed_and_where_it_comes_from():
    for values, sentence in {
        (
            "BiasMatrix",
            ("length", 8),
            ("query", 40),
        ): "BiasMatrix.query must be at most 7 (length − 1), got 40.",
        ("AngleChart", ("n", 3), ("position", 5)): "AngleChart.position must be at most 3 (n), got 5.",
        (
            "Ramps",
            ("head_dim", 64),
            ("pair", 32),
        ): "Ramps.pair must be at most 31 (half of head_dim − 1), got 32.",
        (
            "OrderBlindness",
            ("sentence", "a b"),
            ("look", 3),
        ): "OrderBlindness.look must be at most 2 (words of sentence), got 3.",
        (
            "ScoreDistance",
            ("reach", 100_000),
            ("distance", 0),
        ): "ScoreDistance.distance must be at least 1 while reach is 100000, got 0.",
        (
            "BaseBound",
            ("model", "Llama 3 8B"),
            ("base", 3e4),
        ): "BaseBound.base must be that of model 'Llama 3 8B', got 30000.0.",
    }.items():
        figure, *given = values
        with pytest.raises(traitlets.TraitError, match=f"^{re.escape(sentence)}$"):
            getattr(widgets, figure)(**dict(given))


def test_a_lock_set_in_code_holds_the_distance_and_a_reset_does_not_move_it():
    figure = RotatePair(position=12, key_position=8)
    figure.lock = True
    figure.position = 20
    assert (figure.position, figure.key_position) == (20, 16)
    figure.key_position = 3
    assert (figure.position, figure.key_position) == (7, 3)
    with pytest.raises(traitlets.TraitError, match="position must be from 4 to 64 while lock is True, got 3"):
        figure.position = 3
    figure.reset()
    assert (figure.position, figure.key_position) == (12, 8)
    figure.position = 9
    assert (figure.position, figure.key_position) == (9, 8)
