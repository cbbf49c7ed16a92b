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
