"""Known mistakes, and more right answers, of chapter 21."""

import math


def keeps_type(config):
    rest = {name: value for name, value in config.items() if name not in ("rope_theta", "rope_scaling")}
    stated = {"rope_type": "default", **(config.get("rope_scaling") or {})}
    stated["rope_type"] = stated.get("type", stated["rope_type"])
    return rest | {"rope_parameters": {**stated, "rope_theta": config["rope_theta"]}}


def in_place(config):
    config.pop("rope_scaling")
    return config


def moved(config, **stated):
    rest = {name: value for name, value in config.items() if name not in ("rope_theta", "rope_scaling")}
    return rest | {"rope_parameters": {**(config["rope_scaling"] or {}), **stated}}


def without_base(config):
    return moved(config, rope_type="default")


def without_default(config):
    return moved(config, rope_theta=config["rope_theta"])


def without_rule(config):
    named = keeps_type(config)["rope_parameters"]["rope_type"]
    return moved({**config, "rope_scaling": None}, rope_type=named, rope_theta=config["rope_theta"])


WRONG = {
    "21.1": [
        (32, "Those are features"),
        (40, "the whole head"),
        (80, "features of one head"),
        (512, "the model's width"),
        (7, "how wide"),
    ],
    "21.2": [
        (1.0, "not 1"),
        (0.1 * math.log10(40) + 1, "natural"),
        (40, "That is s"),
        (0.3689, "And 1 more"),
        (1.8739, "its square"),
        (1.369, "Nearly"),
        (2.0, "the ratio"),
    ],
    "21.3": [
        (lambda config: dict(config), "still there"),
        (in_place, "work on a copy"),
        (keeps_type, "type is the old name"),
        (lambda config: 3, "It must return a dict"),
        (without_base, "The base belongs in rope_parameters."),
        (without_default, "rope_type must be 'default' there, got None."),
        (without_rule, "it should be"),
    ],
    "21.4": [
        (lambda config: True, "it should be False"),
        (lambda config: False, "it should be True"),
        (lambda config: 7, "True or False"),
    ],
}
