r"""SmolLM2's extra loss on texts beyond the trained length, for each remedy and each part of the text."""

from typing import Any

import numpy as np

from rope_book.results.real import load_real

TOKENS = 12_288
YARDSTICK = "late"  # the same model reading only the end of the text, within its trained length
REMEDIES = {  # reading -> (name, rule whose colour it uses)
    "plain": ("as trained", "rope"),
    "pi-2": ("PI by 2", "pi"),
    "ntk-aware-2": ("NTK-aware by 2", "ntk-aware"),
    "all-held": ("distances held at 4,096", ""),
    "slow-held": ("slow pairs held at 4,096", ""),
    "fast-held": ("fast pairs held at 4,096", ""),
}


def costs() -> dict[str, Any]:
    r"""Return each remedy's extra loss relative to the yardstick, for each part of the text, in nats per token.

    In parts that begin within the trained length, the yardstick is the model as trained. Each remedy has a name, a
    description, a rule, and one cost per part for each text and for the "mean" over texts.
    """
    measured = load_real("real_length")
    kinds, trained = list(measured["meta"]["texts"]), measured["meta"]["trained"]
    starts = np.linspace(0, TOKENS, measured["meta"]["bins"], endpoint=False)
    bins = {
        (row["name"], row["text"]): np.array(row["bins"], float)
        for row in measured["passes"]
        if row["tokens"] == TOKENS
    }

    def cost(name: str, kind: str) -> np.ndarray:
        yardstick = np.where(starts < trained, bins["plain", kind], bins[YARDSTICK, kind])
        return bins[name, kind] - yardstick

    remedies = []
    for name, (called, rule) in REMEDIES.items():
        by_text = {kind: cost(name, kind) for kind in kinds}
        by_text["mean"] = np.mean(list(by_text.values()), axis=0)
        rounded = {kind: values.round(3).tolist() for kind, values in by_text.items()}
        remedies.append({"name": name, "called": called, "rule": rule, "costs": rounded})
    return {"trained": trained, "tokens": TOKENS, "remedies": remedies}
