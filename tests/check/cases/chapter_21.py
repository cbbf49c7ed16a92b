"""Right answers and known mistakes of chapter 21."""

import math


def to_five(config):
    stated = dict(config.get("rope_scaling") or {})
    rule = stated.pop("type", None) or stated.pop("rope_type", "default")
    rest = {name: value for name, value in config.items() if name not in ("rope_theta", "rope_scaling")}
    return rest | {"rope_parameters": {"rope_type": rule, "rope_theta": config["rope_theta"], **stated}}


def keeps_type(config):
    rest = {name: value for name, value in config.items() if name not in ("rope_theta", "rope_scaling")}
    stated = {"rope_type": "default", **(config.get("rope_scaling") or {})}
    stated["rope_type"] = stated.get("type", stated["rope_type"])
    return rest | {"rope_parameters": {**stated, "rope_theta": config["rope_theta"]}}


def in_place(config):
    config.pop("rope_scaling")
    return config


def loses_base(config):
    inside = (config.get("rope_parameters") or {}).get("rope_theta")
    read = config.get("rope_scaling") or config.get("rope_parameters") or {}
    stated = inside or config.get("rope_theta")
    return read.get("rope_theta", config.get("rope_theta", 1e4)) != stated


RIGHT = {
    "21.1": [16],
    "21.2": [round(0.1 * math.log(40) + 1, 4)],
    "21.3": [to_five],
    "21.4": [loses_base],
}
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
    ],
    "21.4": [
        (lambda config: True, "it should be False"),
        (lambda config: False, "it should be True"),
        (lambda config: 7, "True or False"),
    ],
}
