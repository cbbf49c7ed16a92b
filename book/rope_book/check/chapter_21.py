"""Chapter 21 exercises: read a config."""

import copy

from rope_book.check.answers import Answer, of_function, truth
from rope_book.check.exercise import Verdict, judges

SHAPE = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 1}
RULES = (
    None,
    {"type": "linear", "factor": 2.0},
    {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096},
)


@judges("21.3")
@of_function
def _to_five(convert: Answer) -> Verdict:
    """Judge exercise 21.3 on configs without a rule, with `type` and with `rope_type`."""
    for rule in RULES:
        config = SHAPE | {"rope_theta": 5e5, "rope_scaling": rule}
        given = copy.deepcopy(config)
        result = convert(given)
        if given != config:
            return "The file that you were given has changed: work on a copy."
        if not isinstance(result, dict):
            return f"It must return a dict, got {type(result).__name__}."
        if left := [name for name in ("rope_theta", "rope_scaling") if name in result]:
            return f"{left[0]} of the old spelling is still there."
        stated = result.get("rope_parameters")
        if not isinstance(stated, dict) or stated.get("rope_theta") != 5e5:
            return "The base belongs in rope_parameters."
        named = (rule or {}).get("rope_type", (rule or {}).get("type", "default"))
        if stated.get("rope_type") != named:
            return f"rope_type must be {named!r} there, got {stated.get('rope_type')!r}."
        if "type" in stated:
            return "type is the old name of rope_type: one of them is enough."
        kept = {name: value for name, value in (rule or {}).items() if name not in ("type", "rope_type")}
        expected = SHAPE | {"rope_parameters": {"rope_type": named, "rope_theta": 5e5, **kept}}
        if result != expected:
            return f"For {config} it should be {expected}, got {result}."
    return True


@judges("21.4")
@of_function
def _loses(loses_base: Answer) -> Verdict:
    """Judge exercise 21.4 on configs with the base at each possible level."""
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
