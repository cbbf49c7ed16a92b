r"""Score one of the page's models on its texts, position by position."""

import numpy as np
import torch

from rope_book.results.page_models import PageModel
from rope_edu.encodings import RopeSpec

from .restore import restore


def answered(model: PageModel, rope: RopeSpec, places: int) -> tuple[np.ndarray, np.ndarray]:
    r"""Return whether the model is right (1 or 0), and its loss (nats), at the first `places` positions.

    Both arrays have the shape `(texts, places)`, with NaN where the answer does not count.

    >>> from rope_book.results import load_page_models
    >>> from rope_edu.encodings import plain_rope
    >>> model = load_page_models()["back"]
    >>> right, loss = answered(model, plain_rope(model.head_dim, model.base), model.trained_places)
    >>> right.shape, float(np.nanmean(right))
    ((4, 33), 1.0)

    Chapter 18.
    """
    answers = torch.tensor(model.answers[:, :places])
    with torch.no_grad():
        logits = restore(model, rope.replace(layout="half_split"))(torch.tensor(model.texts[:, :places]))
    counts = answers >= 0
    loss = -torch.log_softmax(logits, -1).gather(-1, answers.clamp(min=0)[..., None])[..., 0]
    right = (logits.argmax(-1) == answers).double()
    return tuple(torch.where(counts, rows, torch.nan).numpy() for rows in (right, loss))
