r"""What a text longer than those of training costs SmolLM2, by place and by remedy."""

from typing import Any

import numpy as np

from rope_book.results.real import load_real

TOKENS = 12_288
YARDSTICK = "late"  # the same model on the same tokens, never beyond its trained length
REMEDIES = {  # reading -> (name, rule whose colour it has)
    "plain": ("as trained", "rope"),
    "pi-2": ("PI by 2", "pi"),
    "ntk-aware-2": ("NTK-aware by 2", "ntk-aware"),
    "by-parts-2": ("by parts, by 2", "ntk-by-parts"),
    "yarn-2": ("YaRN by 2", "yarn"),
    "all-held": ("distances held at 4,096", ""),
    "slow-held": ("slow pairs held at 4,096", ""),
    "fast-held": ("fast pairs held at 4,096", ""),
    "window": ("a window of 4,096", ""),
}


def costs() -> dict[str, Any]:
    r"""Return the cost of every remedy by place, in nats per token more than the yardstick.

    A place is one of the sixteen parts of the text. Before the yardstick begins, it is the model as trained.
    `remedies` holds those that were measured on every text: name, called, rule, and by text, and for their
    "mean", sixteen costs.
    """
    measured = load_real("real_length")
    kinds = list(measured["meta"]["texts"])
    bins = {
        (row["name"], row["text"]): np.array(row["bins"], float)
        for row in measured["passes"]
        if row["tokens"] == TOKENS
    }

    def cost(name: str, kind: str) -> np.ndarray:
        late, plain = bins[YARDSTICK, kind], bins["plain", kind]
        return bins[name, kind] - np.where(np.isnan(late), plain, late)

    remedies = []
    for name, (called, rule) in REMEDIES.items():
        if all((name, kind) in bins for kind in kinds):
            by_text = {kind: cost(name, kind) for kind in kinds}
            by_text["mean"] = np.mean(list(by_text.values()), axis=0)
            rounded = {kind: values.round(3).tolist() for kind, values in by_text.items()}
            remedies.append({"name": name, "called": called, "rule": rule, "costs": rounded})
    return {"trained": measured["meta"]["trained"], "tokens": TOKENS, "remedies": remedies}
