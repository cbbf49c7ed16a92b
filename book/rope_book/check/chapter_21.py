"""Exercises of chapter 21: read a config."""

import copy
import math

from rope_book.check.answers import Answer, number, of_function, truth, whole
from rope_book.check.exercise import Verdict, close, judges

SHAPE = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 1}
RULES = (
    None,
    {"type": "linear", "factor": 2.0},
    {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096},
)


@judges("21.1")
def _counts_pairs(pairs: object) -> Verdict:
    """Judge exercise 21.1: 80 features a head, 32 turn, 16 pairs."""
    pairs = whole(pairs, "A number of pairs is whole.")
    known = {
        32: "Those are features; two of them make a pair.",
        80: "Those are the features of one head; 0.4 of them turn, and two make a pair.",
        40: "That is the whole head; only 0.4 of it turns.",
        512: "That is 0.4 of the model's width: the heads share it.",
    }
    return pairs == 16 or known.get(pairs, f"{pairs} it is not: how wide is one head?")


@judges("21.2")
def _stretch(factor: object) -> Verdict:
    """Judge exercise 21.2: a null factor is the ratio of the lengths, 40."""
    factor, right = number(factor), 0.1 * math.log(40) + 1
    if close(factor, right, 6e-5):
        return True
    known = [
        (1, 1e-9, "A missing factor is not 1: the lengths say how far the file stretches."),
        (40, 1e-9, "That is s; now 0.1 · ln s + 1."),
        (0.1 * math.log10(40) + 1, 1e-3, "ln is the natural logarithm."),
        (0.1 * math.log2(40) + 1, 1e-3, "ln is the natural logarithm."),
        (right - 1, 1e-3, "And 1 more: a stretch of 1 has the factor 1."),
        (right**2, 1e-3, "That is its square, by which the logits grow."),
        (right, 2e-3, "Nearly: four decimals are asked for."),
    ]
    said = (words for value, near, words in known if close(factor, value, near))
    return next(said, "s is the ratio of the two lengths.")


@judges("21.3")
@of_function
def _to_five(convert: Answer) -> Verdict:
    """Judge exercise 21.3 on a file without a rule and on two with one, each named in its own way."""
    for rule in RULES:
        config = SHAPE | {"rope_theta": 5e5, "rope_scaling": rule}
        given = copy.deepcopy(config)
        found = convert(given)
        if given != config:
            return "The file that you were given has changed: work on a copy."
        if not isinstance(found, dict):
            return f"It must return a dict, got {type(found).__name__}."
        if left := [name for name in ("rope_theta", "rope_scaling") if name in found]:
            return f"{left[0]} of the old spelling is still there."
        stated = found.get("rope_parameters")
        if not isinstance(stated, dict) or stated.get("rope_theta") != 5e5:
            return "The base belongs into rope_parameters."
        named = (rule or {}).get("rope_type", (rule or {}).get("type", "default"))
        if stated.get("rope_type") != named:
            return f"rope_type must be {named!r} there, got {stated.get('rope_type')!r}."
        if "type" in stated:
            return "type is the old name of rope_type: one of them is enough."
        kept = {name: value for name, value in (rule or {}).items() if name not in ("type", "rope_type")}
        expected = SHAPE | {"rope_parameters": {"rope_type": named, "rope_theta": 5e5, **kept}}
        if found != expected:
            return f"For {config} it should be {expected}, got {found}."
    return True


@judges("21.4")
@of_function
def _loses(loses_base: Answer) -> Verdict:
    """Judge exercise 21.4 on files with the base in each place."""
    inside = {"rope_type": "linear", "factor": 2.0, "rope_theta": 5e5}
    rule = {"rope_type": "linear", "factor": 2.0}
    cases = [
        (SHAPE | {"rope_theta": 5e5}, False),
        (SHAPE | {"rope_theta": 5e5, "rope_scaling": rule}, False),
        (SHAPE | {"rope_parameters": inside}, False),
        (SHAPE | {"rope_parameters": inside, "rope_scaling": None}, False),
        (SHAPE | {"rope_parameters": inside, "rope_scaling": rule}, True),
        (SHAPE | {"rope_parameters": inside, "rope_scaling": rule, "rope_theta": 5e5}, False),
        (SHAPE | {"rope_parameters": {**inside, "rope_theta": 1e4}, "rope_scaling": rule}, False),
    ]
    for config, expected in cases:
        if truth(loses_base(copy.deepcopy(config)), "It must return True or False.") is not expected:
            stated = {name: value for name, value in config.items() if name not in SHAPE}
            return f"For {stated} it should be {expected}."
    return True
