"""Other implementations of the rotation, called as documented; those that are not installed are skipped.

A peer's `prepare` takes (length, dtype, head width, first position), prepares what the peer keeps between
calls, and returns a function of (q, k) with the sequence on axis `seq_axis`. Its `in_a_model` is the same for a
model that was moved to the dtype as a whole, with `module.to(dtype)`.
"""

import functools
import importlib
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch

from rope_edu import inv_freq
from rope_edu.fast import RotaryTable, rotate


class Peer(NamedTuple):
    """One implementation of the rotation."""

    name: str
    package: str  # the package it requires
    layout: str
    seq_axis: int
    prepare: Callable
    in_a_model: Callable | None


def angles_of(length: int, head_dim: int, start: int) -> torch.Tensor:
    """Compute float32 angles as all peers do."""
    frequencies = 1.0 / (10_000.0 ** (torch.arange(0, head_dim, 2).float() / head_dim))
    return torch.outer(torch.arange(start, start + length).float(), frequencies)


def transformers(length: int, dtype: torch.dtype, head_dim: int, start: int) -> Callable:
    """Compute Llama's cos and sin, in the model's dtype, once per forward pass for all layers; then rotate."""
    llama = importlib.import_module("transformers.models.llama.modeling_llama")
    angles = torch.cat([angles_of(length, head_dim, start)] * 2, dim=-1)[None]
    cos, sin = angles.cos().to(dtype), angles.sin().to(dtype)
    return lambda q, k: llama.apply_rotary_pos_emb(q, k, cos, sin)


def transformers_in_a_model(length: int, dtype: torch.dtype, head_dim: int, start: int) -> Callable:
    """Use Llama's module, which computes cos and sin in float32 from its stored frequencies."""
    llama = importlib.import_module("transformers.models.llama.modeling_llama")
    config = importlib.import_module("transformers").LlamaConfig(
        hidden_size=head_dim, num_attention_heads=1, head_dim=head_dim, max_position_embeddings=start + length
    )
    rotary = llama.LlamaRotaryEmbedding(config=config).to(dtype)
    cos, sin = rotary(torch.ones(1, dtype=dtype), torch.arange(start, start + length)[None])
    return lambda q, k: llama.apply_rotary_pos_emb(q, k, cos, sin)


def compiled_transformers(length: int, dtype: torch.dtype, head_dim: int, start: int) -> Callable:
    """Use the same function under torch.compile, with one graph per shape."""
    llama = importlib.import_module("transformers.models.llama.modeling_llama")
    angles = torch.cat([angles_of(length, head_dim, start)] * 2, dim=-1)[None]
    cos, sin = angles.cos().to(dtype), angles.sin().to(dtype)
    turn = torch.compile(llama.apply_rotary_pos_emb, dynamic=False)
    return lambda q, k: turn(q, k, cos, sin)


def rotary_embedding_torch(length: int, dtype: torch.dtype, head_dim: int, start: int) -> Callable:
    """Cache angles (recomputed far from 0); compute cos and sin at every call."""
    module = importlib.import_module("rotary_embedding_torch")
    rotary = module.RotaryEmbedding(dim=head_dim, cache_max_seq_len=length, cache_if_possible=not start)
    rotary.requires_grad_(False)
    return lambda q, k: (
        rotary.rotate_queries_or_keys(q, offset=start),
        rotary.rotate_queries_or_keys(k, offset=start),
    )


def rotary_embedding_torch_in_a_model(length: int, dtype: torch.dtype, head_dim: int, start: int) -> Callable:
    """Use its module, whose frequencies are a parameter."""
    module = importlib.import_module("rotary_embedding_torch")
    rotary = module.RotaryEmbedding(dim=head_dim, cache_if_possible=False).requires_grad_(False).to(dtype)
    return lambda q, k: tuple(rotary.rotate_queries_or_keys(x, offset=start) for x in (q, k))


def x_transformers(length: int, dtype: torch.dtype, head_dim: int, start: int) -> Callable:
    """Compute angles once per forward pass, and cos and sin at every call."""
    module = importlib.import_module("x_transformers.x_transformers")
    angles, scale = module.RotaryEmbedding(head_dim)(torch.arange(start, start + length))
    return lambda q, k: (
        module.apply_rotary_pos_emb(q, angles, scale),
        module.apply_rotary_pos_emb(k, angles, scale),
    )


def x_transformers_in_a_model(length: int, dtype: torch.dtype, head_dim: int, start: int) -> Callable:
    """Use its module, whose frequencies are a buffer; positions take their dtype."""
    module = importlib.import_module("x_transformers.x_transformers")
    angles, scale = module.RotaryEmbedding(head_dim).to(dtype)(torch.arange(start, start + length))
    return lambda q, k: tuple(module.apply_rotary_pos_emb(x, angles, scale) for x in (q, k))


def torchtune(length: int, dtype: torch.dtype, head_dim: int, start: int) -> Callable:
    """Cache cos and sin; look up positions."""
    module = importlib.import_module("torchtune.modules")
    rotary = module.RotaryPositionalEmbeddings(head_dim, max_seq_len=length + start)
    if not start:
        return lambda q, k: (rotary(q), rotary(k))
    where = torch.arange(start, start + length)[None]
    return lambda q, k: (rotary(q, input_pos=where), rotary(k, input_pos=where))


def torchtune_in_a_model(length: int, dtype: torch.dtype, head_dim: int, start: int) -> Callable:
    """Use its module, whose cos and sin are a buffer."""
    module = importlib.import_module("torchtune.modules")
    rotary = module.RotaryPositionalEmbeddings(head_dim, max_seq_len=length + start).to(dtype)
    where = torch.arange(start, start + length)[None]
    return lambda q, k: tuple(rotary(x, input_pos=where) for x in (q, k))


def meta(length: int, dtype: torch.dtype, head_dim: int, start: int) -> Callable:
    """Use the complex form of Meta's Llama, written from its description: widen, multiply, narrow."""
    angles = angles_of(length, head_dim, start)
    turn = torch.polar(torch.ones_like(angles), angles)[None, :, None]  # (1, seq, 1, pairs)

    def one(x: torch.Tensor) -> torch.Tensor:
        pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
        return torch.view_as_real(pairs * turn).flatten(3).type_as(x)

    return lambda q, k: (one(q), one(k))


def onnxruntime(length: int, dtype: torch.dtype, head_dim: int, start: int) -> Callable:
    """Use the operator RotaryEmbedding, with inputs and outputs bound to the tensors' memory."""
    if dtype not in (torch.float32, torch.float16):
        raise NotImplementedError("onnxruntime's RotaryEmbedding knows float32 and float16")
    session = _onnx_session(str(dtype).removeprefix("torch."))
    angles = angles_of(length, head_dim, start)
    tables = {
        "positions": torch.zeros(1, dtype=torch.int64),
        "cos": angles.cos().to(dtype),
        "sin": angles.sin().to(dtype),
    }
    bound: dict = {}

    def one(x: torch.Tensor) -> torch.Tensor:
        if x.data_ptr() not in bound:
            out, binding = torch.empty_like(x), session.io_binding()
            for name, tensor in {"x": x, **tables}.items():
                binding.bind_input(
                    name, "cpu", 0, _numpy_dtype(tensor), tuple(tensor.shape), tensor.data_ptr()
                )
            binding.bind_output("y", "cpu", 0, _numpy_dtype(out), tuple(out.shape), out.data_ptr())
            bound[x.data_ptr()] = binding, out, x
        binding, out, _ = bound[x.data_ptr()]
        session.run_with_iobinding(binding)
        return out

    return lambda q, k: (one(q), one(k))


@functools.cache
def _onnx_session(dtype: str):
    """Make a session for a model with this one operator."""
    onnx, runtime = importlib.import_module("onnx"), importlib.import_module("onnxruntime")
    kind, helper = getattr(onnx.TensorProto, dtype.upper().replace("FLOAT32", "FLOAT")), onnx.helper
    shapes = {"x": ["b", "h", "s", "d"], "positions": [1], "cos": ["s", "p"], "sin": ["s", "p"]}
    inputs = [
        helper.make_tensor_value_info(name, onnx.TensorProto.INT64 if name == "positions" else kind, shape)
        for name, shape in shapes.items()
    ]
    output = helper.make_tensor_value_info("y", kind, shapes["x"])
    node = helper.make_node("RotaryEmbedding", list(shapes), ["y"], domain="com.microsoft", interleaved=0)
    graph = helper.make_graph([node], "rotate", inputs, [output])
    sets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    model = helper.make_model(graph, opset_imports=sets, ir_version=8).SerializeToString()
    return runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def _numpy_dtype(tensor: torch.Tensor) -> type:
    return {torch.float32: np.float32, torch.float16: np.float16, torch.int64: np.int64}[tensor.dtype]


PEERS = (
    Peer("transformers", "transformers", "half_split", -2, transformers, transformers_in_a_model),
    Peer("transformers, compiled", "transformers", "half_split", -2, compiled_transformers, None),
    Peer("onnxruntime", "onnxruntime", "half_split", -2, onnxruntime, None),
    Peer(
        "rotary-embedding-torch",
        "rotary_embedding_torch",
        "interleaved",
        -2,
        rotary_embedding_torch,
        rotary_embedding_torch_in_a_model,
    ),
    Peer("x-transformers", "x_transformers", "interleaved", -2, x_transformers, x_transformers_in_a_model),
    Peer("torchtune", "torchtune", "interleaved", -3, torchtune, torchtune_in_a_model),
    Peer("Meta's form", "torch", "interleaved", -3, meta, meta),  # uses complex numbers, without a module
)


def assert_same_turn(peer: Peer, start: int) -> None:
    """Raise AssertionError if the peer does not rotate as we do."""
    shape = (1, 2, 6, 16) if peer.seq_axis == -2 else (1, 6, 2, 16)
    q, k = torch.randn(2, *shape, generator=torch.Generator().manual_seed(0)).unbind()
    table = RotaryTable(inv_freq(16), layout=peer.layout)
    ours = rotate(q, k, table=table, offset=start, seq_axis=peer.seq_axis)
    for mine, theirs in zip(ours, peer.prepare(6, q.dtype, 16, start)(q, k), strict=True):
        torch.testing.assert_close(theirs, mine, rtol=0, atol=1e-4)


def installed() -> tuple[list[Peer], list[str]]:
    """Return the available peers, and a sentence about each unavailable one."""
    peers, sentences = [], []
    for peer in PEERS:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                peer.prepare(4, torch.float32, 8, 0)
            peers.append(peer)
        except ImportError as error:
            sentences.append(
                f"{peer.name} is left out, it cannot be imported: {error}".strip().splitlines()[0]
            )
    return peers, sentences
