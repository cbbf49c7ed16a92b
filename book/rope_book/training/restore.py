r"""Convert the page's models to PyTorch modules."""

import torch

from rope_book.results.page_models import PageModel
from rope_book.training.transformer import TinyTransformer
from rope_edu.encodings import RopeSpec, plain_rope


def restore(
    model: PageModel, rope: RopeSpec | None = None, *, dtype: torch.dtype = torch.float64
) -> TinyTransformer:
    r"""Convert one of the page's models to a `TinyTransformer` in evaluation mode, with any rotation.

    Args:
        model: a model from `load_page_models`.
        rope: a half_split rotation with the head_dim of the model; plain RoPE, as in training, if None.
        dtype: the dtype of the weights.

    Raises:
        ValueError: `rope` has a different head_dim or layout.

    >>> from rope_book.results import load_page_models
    >>> page_model = load_page_models()["back"]
    >>> tokens = torch.tensor(page_model.texts[:1, : page_model.trained_places])
    >>> answers = restore(page_model)(tokens).argmax(-1)[0, 6:]
    >>> bool((answers == torch.tensor(page_model.answers[0, 6 : page_model.trained_places])).all())
    True

    Chapter 18.
    """
    rope = plain_rope(model.head_dim, model.base, layout="half_split") if rope is None else rope
    if rope.layout != "half_split" or rope.head_dim != model.head_dim:
        raise ValueError(f"rope must be half_split, for heads of {model.head_dim} features, got {rope!r}")
    sizes = {name: model.config[name] for name in ("d_model", "n_layers", "n_heads", "d_ff")}
    module = TinyTransformer(len(model.alphabet), encoding=rope, **sizes).to(dtype)
    weights = {name: torch.tensor(weight, dtype=dtype) for name, weight in model.weights.items()}
    module.load_state_dict(weights)
    return module.eval()
