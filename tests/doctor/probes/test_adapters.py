"""Decoders of ONNX Runtime and JAX pass through the adapters that are handed out, and their faults are found."""

import functools

import numpy as np
import pytest

from rope_doctor.command.examples import adapters
from rope_doctor.probes import check_decoder

pytestmark = pytest.mark.makers
WORDS, HEADS, WIDTH, ROWS = 40, 2, 16, 4096  # rows of the tables of cosines and sines
LONG = {"length": 64, "chunk": 24}
ROOM = 128  # tokens in JAX's cache
GRAPH = f"""
<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
decoder (int64[b,s] input_ids, int64[b,t] attention_mask, int64[b,s] position_ids,
         float[b,{HEADS},p,{WIDTH}] past_key, float[b,{HEADS},p,{WIDTH}] past_value)
    => (float[b,s,{WORDS}] logits, float[b,{HEADS},t,{WIDTH}] key, float[b,{HEADS},t,{WIDTH}] value)
{{
    x = Gather(embedding, input_ids)
    joined = MatMul(x, qkv)
    split = Reshape(joined, in_heads)
    turned = Transpose<perm = [2, 0, 3, 1, 4]>(split)
    q_flat, k_flat, v_flat = Split<axis = 0>(turned)
    q, k, v = SQUEEZED
    q_rotated = com.microsoft.RotaryEmbedding(q, position_ids, cosines, sines)
    k_rotated = com.microsoft.RotaryEmbedding(k, position_ids, cosines, sines)
    key = Concat<axis = 2>(past_key, k_rotated)
    value = Concat<axis = 2>(past_value, v)
    k_turned = Transpose<perm = [0, 1, 3, 2]>(key)
    scores = MatMul(q_rotated, k_turned)
    ids_shape = Shape(input_ids)
    mask_shape = Shape(attention_mask)
    new = Gather<axis = 0>(ids_shape, one)
    all = Gather<axis = 0>(mask_shape, one)
    seen = Sub(all, new)
    places = Range(zero, all, one)
    own = Range(seen, all, one)
    column = Unsqueeze(own, one_axis)
    causal = LessOrEqual(places, column)
    shown = Cast<to = 9>(attention_mask)
    shown_wide = Unsqueeze(shown, mask_axes)
    visible = And(causal, shown_wide)
    masked = Where(visible, scores, nothing)
    weights = Softmax<axis = -1>(masked)
    mixed = MatMul(weights, value)
    mixed_turned = Transpose<perm = [0, 2, 1, 3]>(mixed)
    mixed_joined = Reshape(mixed_turned, in_tokens)
    y = Add(x, mixed_joined)
    logits = MatMul(y, out)
}}
""".replace(
    "    q, k, v = SQUEEZED\n",
    "".join(f"    {name} = Squeeze({name}_flat, zero_axis)\n" for name in "qkv"),
)


def weights():
    draw = np.random.default_rng(0)
    width = HEADS * WIDTH
    return {
        "embedding": draw.normal(size=(WORDS, width)),
        "qkv": 0.4 * draw.normal(size=(width, 3 * width)) / np.sqrt(WIDTH),
        "out": draw.normal(size=(width, WORDS)),
    }


@functools.cache
def session():
    onnx, runtime = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")
    angles = np.outer(np.arange(ROWS), 1e4 ** -(np.arange(0, WIDTH, 2) / WIDTH))
    floats = weights() | {"cosines": np.cos(angles), "sines": np.sin(angles), "nothing": -1e30}
    wholes = {"in_heads": [0, 0, 3, HEADS, WIDTH], "in_tokens": [0, 0, HEADS * WIDTH], "zero": 0, "one": 1}
    wholes |= {"zero_axis": [0], "one_axis": [1], "mask_axes": [1, 2]}
    model = onnx.parser.parse_model(GRAPH)
    for values, width in ((floats, np.float32), (wholes, np.int64)):
        for name, value in values.items():
            model.graph.initializer.append(onnx.numpy_helper.from_array(np.asarray(value, width), name))
    return runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


class Restarting:
    """A session that is fed with positions from 0 in every call."""

    def __init__(self, inner):
        self.inner, self.get_inputs = inner, inner.get_inputs

    def run(self, names, feed):
        positions = feed["position_ids"]
        return self.inner.run(names, feed | {"position_ids": positions - positions.min()})


def test_an_exported_decoder_is_right_and_one_fed_from_0_is_not():
    report = check_decoder(adapters.of_onnxruntime(session(), WORDS), **LONG)
    assert report.verdict.status == 0, str(report)
    assert report.of("step by step").outcome == report.of("left padding").outcome == "same"
    wrong = check_decoder(adapters.of_onnxruntime(Restarting(session()), WORDS), **LONG)
    assert wrong.verdict.status == 1
    assert wrong.of("step by step").outcome == "differs"


def in_jax(*, rotates_keys=True):
    """Return a decoder in JAX, and a function that makes its cache of a fixed size."""
    jax = pytest.importorskip("jax")
    jnp, held = jax.numpy, {name: np.asarray(value, np.float32) for name, value in weights().items()}
    speeds = (1e4 ** -(np.arange(0, WIDTH, 2) / WIDTH)).astype(np.float32)
    places = np.arange(ROOM)

    def rotate(x, positions):
        angles = positions[:, None, :, None] * speeds
        one, two = jnp.split(x, 2, axis=-1)
        cos, sin = jnp.cos(angles), jnp.sin(angles)
        return jnp.concatenate((one * cos - two * sin, two * cos + one * sin), axis=-1)

    @jax.jit
    def forward(tokens, positions, shown, keys, values, count):
        x = jnp.asarray(held["embedding"])[tokens]
        parts = (x @ held["qkv"]).reshape(*tokens.shape, 3, HEADS, WIDTH)
        q, k, v = parts.transpose(2, 0, 3, 1, 4)
        k = rotate(k, positions) if rotates_keys else k
        keys = jax.lax.dynamic_update_slice(keys, k, (0, 0, count, 0))
        values = jax.lax.dynamic_update_slice(values, v, (0, 0, count, 0))
        scores = rotate(q, positions) @ keys.swapaxes(-1, -2)
        causal = places <= (count + jnp.arange(tokens.shape[1]))[:, None]
        scores = jnp.where(causal & (shown[:, None, None] == 1), scores, -1e30)
        mixed = (jax.nn.softmax(scores) @ values).swapaxes(1, 2).reshape(x.shape)
        return (x + mixed) @ held["out"], keys, values

    def apply(tokens, positions, mask, cache):
        shown = np.zeros((len(tokens), ROOM), int)
        shown[:, : mask.shape[1]] = mask
        logits, keys, values = forward(
            tokens, positions, shown, cache["keys"], cache["values"], cache["count"]
        )
        return logits, {"keys": keys, "values": values, "count": cache["count"] + tokens.shape[1]}

    def new_cache(rows):
        empty = np.zeros((rows, HEADS, ROOM, WIDTH), np.float32)
        return {"keys": empty, "values": empty, "count": 0}

    return apply, new_cache


def test_a_decoder_in_jax_is_right_and_one_whose_keys_are_not_rotated_is_not():
    report = check_decoder(adapters.of_jax(*in_jax(), WORDS), **LONG)
    assert report.verdict.status == 0, str(report)
    wrong = check_decoder(adapters.of_jax(*in_jax(rotates_keys=False), WORDS), **LONG)
    assert (wrong.verdict.status, wrong.of("moved").outcome) == (1, "differs")
