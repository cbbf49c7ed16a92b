"""The rotary embedding to take home: transformers' numbers, after casts, compiled, loaded from meta, decoding."""

import ast
import copy
from pathlib import Path

import nbformat
import numpy as np
import pytest
import torch
from torch import nn
from transformers import GlmConfig, LlamaConfig
from transformers.models.glm import modeling_glm
from transformers.models.gptj import modeling_gptj
from transformers.models.llama import modeling_llama

import rope_edu
from rope_doctor import diagnose, rope_from_config
from rope_edu.encodings import LAYOUTS, partial_rope, plain_rope, yarn
from rope_edu.nn import RotaryEmbedding, rotary_cos_sin, rotary_functions, rotate_heads
from rope_edu.nn import rotary as rotary_file

ROOT = Path(__file__).resolve().parents[3]
CHAPTERS = ("07_turn_matrix_into_code", "10_put_rope_in_attention")
ROUNDING = {torch.float32: 2.0**-24, torch.bfloat16: 2.0**-8, torch.float16: 2.0**-11}  # half an eps
BATCH, LENGTH, HEAD_DIM = 2, 48, 64


def q_and_k(dtype=torch.float32, length=LENGTH, head_dim=HEAD_DIM):
    """Eight query heads, two key heads."""
    generator = torch.Generator().manual_seed(7)
    return (
        torch.randn(BATCH, n, length, head_dim, generator=generator, dtype=torch.float64).to(dtype)
        for n in (8, 2)
    )


def sizes(x):
    """Bound of |first| + |second| in each pair, whatever the layout: twice the largest feature."""
    return 2 * x.double().abs().amax()


def exact(x, spec, positions):
    """The library's rotation in float64."""
    angles = rope_edu.rope_angles(positions, spec.inv_freq)
    angles = angles[..., None, :, :] if angles.ndim > 2 else angles
    return rope_edu.apply_rope(x.double(), angles, layout=spec.layout, attention_factor=spec.attention_factor)


def rounded_once(x, spec):
    """Largest error: cos, sin, two products and a sum in float32, then one rounding to the dtype of x."""
    u = ROUNDING[x.dtype]
    return spec.attention_factor * sizes(x) * (4 * 2.0**-24 + (u if u > 2.0**-24 else 0)) * (1 + u)


def module_of(spec, head_dim=HEAD_DIM):
    return RotaryEmbedding(
        head_dim, inv_freq=spec.inv_freq, layout=spec.layout, attention_factor=spec.attention_factor
    )


SPECS = {
    "interleaved": plain_rope(HEAD_DIM),
    "half_split": plain_rope(HEAD_DIM, layout="half_split"),
    "partial": partial_rope(HEAD_DIM, 32, layout="half_split"),
    "yarn": yarn(HEAD_DIM, 4.0, 4096).replace(layout="half_split"),
}


@pytest.mark.parametrize("dtype", ROUNDING, ids=str)
@pytest.mark.parametrize("name", SPECS)
def test_any_rule_is_rotated_in_float32_and_rounded_once(name, dtype):
    spec, rope = SPECS[name], module_of(SPECS[name])
    for x, turned in zip(q_and_k(dtype), rope(*q_and_k(dtype), offset=5), strict=True):
        assert turned.dtype == dtype
        error = (turned.double() - exact(x, spec, range(5, 5 + LENGTH))).abs().max()
        assert error <= rounded_once(x, spec)


def test_base_and_rotary_dim_give_their_frequencies():
    assert np.allclose(RotaryEmbedding(64, 5e5).inv_freq, rope_edu.inv_freq(64, 5e5), rtol=1e-15)
    assert np.allclose(RotaryEmbedding(64, rotary_dim=16).inv_freq, rope_edu.inv_freq(16), rtol=1e-15)


def peer(name, dtype):
    """q and k as transformers rotates them, and the module that should do the same."""
    q, k = q_and_k(dtype)
    positions = torch.arange(LENGTH).expand(BATCH, LENGTH)
    heads = {"hidden_size": 8 * HEAD_DIM, "num_attention_heads": 8, "num_key_value_heads": 2}
    if name == "GPT-J":
        table = modeling_gptj.create_sinusoidal_positions(LENGTH, 32).to(dtype)  # the first 32 features
        sin, cos = table.chunk(2, dim=-1)
        turned = []
        for x in (q.transpose(1, 2), k.transpose(1, 2)):  # (batch, seq, heads, head_dim)
            part = modeling_gptj.apply_rotary_pos_emb(x[..., :32], sin[None], cos[None])
            turned.append(torch.cat((part, x[..., 32:]), -1).transpose(1, 2))
        return turned, RotaryEmbedding(HEAD_DIM, rotary_dim=32)
    if name == "GLM":
        config = GlmConfig(head_dim=HEAD_DIM, **heads)
        cos_sin = modeling_glm.GlmRotaryEmbedding(config)(q, positions)
        rotary_dim = int(HEAD_DIM * config.rope_parameters["partial_rotary_factor"])
        module = RotaryEmbedding(HEAD_DIM, config.rope_parameters["rope_theta"], rotary_dim=rotary_dim)
        return modeling_glm.apply_rotary_pos_emb(q, k, *cos_sin), module
    scaling = {"rope_type": "yarn", "rope_theta": 10_000.0, "factor": 4.0}
    scaling |= {"original_max_position_embeddings": 4096}
    rope = scaling if name == "Llama with YaRN" else {"rope_type": "default", "rope_theta": 5e5}
    config = LlamaConfig(max_position_embeddings=16_384, rope_parameters=rope, **heads)
    cos_sin = modeling_llama.LlamaRotaryEmbedding(config)(q, positions)
    spec = rope_from_config(config.to_dict())
    return modeling_llama.apply_rotary_pos_emb(q, k, *cos_sin), module_of(spec)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", ["Llama", "Llama with YaRN", "GPT-J", "GLM"])
def test_transformers_rotates_alike(name, dtype):
    theirs, rope = peer(name, dtype)
    u = ROUNDING[dtype]
    # theirs: cos or sin, a product and a sum, each rounded to the dtype; ours: one rounding
    rounding = 4 * u * rope.attention_factor * (1 + 4 * u)
    # and angles in float32 from a frequency off by at most ln(b) + 4 units of rounding
    angles = (LENGTH - 1) * (np.log(5e5) + 4) * 2.0**-24
    for ours, expected, x in zip(rope(*q_and_k(dtype)), theirs, q_and_k(dtype), strict=True):
        assert ours.dtype == expected.dtype
        assert (ours.double() - expected.double()).abs().max() <= sizes(x) * (rounding + angles)


def test_position_a_million_is_as_exact_as_position_one():
    q, k = q_and_k(length=3)
    spec, far = SPECS["half_split"], range(10**6, 10**6 + 3)
    turned, _ = module_of(spec)(q, k, offset=10**6)
    assert (turned.double() - exact(q, spec, far)).abs().max() <= rounded_once(q, spec)
    llama = modeling_llama.LlamaRotaryEmbedding(LlamaConfig(hidden_size=HEAD_DIM, num_attention_heads=1))
    theirs, _ = modeling_llama.apply_rotary_pos_emb(q, k, *llama(q, torch.tensor([list(far)] * BATCH)))
    assert (theirs.double() - exact(q, spec, far)).abs().max() > 1000 * rounded_once(q, spec)


class WithABuffer(RotaryEmbedding):
    """The same with its frequencies in a buffer: the mistake that the casts below must catch."""

    def __init__(self, head_dim):
        super().__init__(head_dim)
        numbers = self.inv_freq
        del self.inv_freq
        self.register_buffer("inv_freq", torch.tensor(numbers, dtype=torch.float64))


CASTS = {
    "bfloat16": lambda rope: rope.to(torch.bfloat16),
    "half": lambda rope: rope.half(),
    "double": lambda rope: rope.double(),
    "twice": lambda rope: rope.half().float(),
    "copied": copy.deepcopy,
    "to_empty": lambda rope: rope.to("meta").to_empty(device="cpu"),
}


@pytest.mark.parametrize("name", CASTS)
def test_no_cast_and_no_move_changes_the_rotation(name):
    q, k = q_and_k()
    expected, _ = RotaryEmbedding(HEAD_DIM)(q, k, offset=4000)
    assert torch.equal(CASTS[name](RotaryEmbedding(HEAD_DIM))(q, k, offset=4000)[0], expected)


@pytest.mark.filterwarnings("ignore:To copy construct from a tensor")
def test_a_buffer_would_have_been_changed():
    q, k = q_and_k()
    expected, _ = RotaryEmbedding(HEAD_DIM)(q, k, offset=4000)
    assert torch.equal(WithABuffer(HEAD_DIM)(q, k, offset=4000)[0], expected)
    for name in ("bfloat16", "half", "twice"):
        turned, _ = CASTS[name](WithABuffer(HEAD_DIM))(q, k, offset=4000)
        assert (turned - expected).abs().max() > 0.1


class Layer(nn.Module):
    """One projection and the rotation of its output, as it is and doubled."""

    def __init__(self):
        super().__init__()
        self.project = nn.Linear(HEAD_DIM, HEAD_DIM)
        self.rope = RotaryEmbedding(HEAD_DIM, layout="half_split")

    def forward(self, x):
        return self.rope(self.project(x), 2 * x)


def test_a_model_made_on_meta_and_loaded_strictly_rotates_as_the_saved_one():
    saved = Layer()
    with torch.device("meta"):
        loaded = Layer()
    loaded = loaded.to_empty(device="cpu")
    loaded.load_state_dict(saved.state_dict(), strict=True)
    x, _ = q_and_k()
    for ours, expected in zip(loaded(x), saved(x), strict=True):
        assert torch.equal(ours, expected)
    assert set(saved.state_dict()) == {"project.weight", "project.bias"}
    assert not [*saved.rope.parameters(), *saved.rope.buffers()]


@pytest.mark.sampled
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    ("dtype", "backend"), [(torch.float32, "aot_eager"), (torch.bfloat16, "inductor")], ids=str
)
def test_one_graph_for_torch_compile(layout, dtype, backend):
    torch._dynamo.reset()
    rope = RotaryEmbedding(HEAD_DIM, layout=layout).to(dtype)
    compiled = torch.compile(rope, fullgraph=True, backend=backend)
    spec = SPECS[layout]
    for x, turned in zip(q_and_k(dtype), compiled(*q_and_k(dtype), offset=9), strict=True):
        assert turned.dtype == dtype
        error = (turned.double() - exact(x, spec, range(9, 9 + LENGTH))).abs().max()
        assert error <= rounded_once(x, spec)  # a fused product and sum rounds less often, not more


def test_a_compiled_decoder_does_not_compile_anew_at_every_token():
    torch._dynamo.reset()
    graphs = torch._dynamo.testing.CompileCounter()
    compiled = torch.compile(RotaryEmbedding(HEAD_DIM), fullgraph=True, backend=graphs)
    q, k = q_and_k(length=1)
    for offset in range(20):
        compiled(q, k, offset)
    assert graphs.frame_count <= 3  # 0, a first number, any number


@pytest.mark.parametrize("layout", LAYOUTS)
def test_decoding_step_by_step_is_the_whole_text(layout):
    q, k = q_and_k()
    rope = RotaryEmbedding(HEAD_DIM, layout=layout)
    steps = [rope(q[:, :, i : i + 1], k[:, :, i : i + 1], offset=i) for i in range(LENGTH)]
    for whole, parts in zip(rope(q, k), zip(*steps, strict=True), strict=True):
        # a cosine of one number may be taken by another routine than that of many: one rounding apart
        torch.testing.assert_close(torch.cat(parts, 2), whole, rtol=0, atol=float(sizes(q)) * 2.0**-23)


def test_positions_may_be_given_for_all_rows_or_for_each():
    q, k = q_and_k()
    rope = RotaryEmbedding(HEAD_DIM)
    assert torch.equal(rope(q, k, positions=torch.arange(3, 3 + LENGTH))[1], rope(q, k, offset=3)[1])
    padded = (torch.arange(LENGTH) - torch.tensor([[0], [6]])).clamp(min=0)  # left padding of row 1
    for together, x in zip(rope(q, k, positions=padded), (q, k), strict=True):
        assert (together.double() - exact(x, SPECS["interleaved"], padded)).abs().max() <= 4e-7 * sizes(x)
        for row in range(BATCH):
            alone, _ = rope(x[row : row + 1], x[row : row + 1], positions=padded[row])
            assert torch.equal(together[row : row + 1], alone)


@pytest.mark.parametrize("name", SPECS)
def test_the_clinic_finds_no_mistake(name):
    spec, rope = SPECS[name], module_of(SPECS[name]).to(torch.bfloat16)

    def rotate(x, positions):
        x = torch.tensor(x)
        return rope(x, x, positions=torch.tensor(positions))[0].numpy()

    found = diagnose(rotate, HEAD_DIM, against=spec)
    assert found.mistakes == ()
    assert (found.layout, found.sense, found.rotary_dim) == (spec.layout, 1, 2 * spec.inv_freq.size)


def test_a_gradient_is_turned_back():
    rope = RotaryEmbedding(HEAD_DIM, layout="half_split", rotary_dim=32)
    q, k = (x.requires_grad_() for x in q_and_k(torch.float64))
    upstream_q, upstream_k = q_and_k(torch.float64)
    sum(
        (a * b).sum() for a, b in zip(rope(q, k), (upstream_k.repeat(1, 4, 1, 1), upstream_k), strict=True)
    ).backward()
    back = rope(upstream_q, upstream_k, positions=-torch.arange(LENGTH))[1]
    torch.testing.assert_close(k.grad, back, rtol=0, atol=1e-12)
    torch.testing.assert_close(q.grad, back.repeat(1, 4, 1, 1), rtol=0, atol=1e-12)


def test_a_misspelt_layout_and_a_head_of_another_width_are_refused():
    with pytest.raises(ValueError, match="layout='half' is neither interleaved nor half_split"):
        RotaryEmbedding(64, layout="half")
    q, k = q_and_k()
    with pytest.raises(ValueError, match="32 wide, got 64"):
        RotaryEmbedding(32)(q, k)


# -- NumPy and JAX


@pytest.mark.parametrize("name", SPECS)
def test_the_two_functions_rotate_in_numpy_as_the_library_does(name):
    spec, (q, _) = SPECS[name], q_and_k(torch.float64)
    cos, sin = rotary_cos_sin(range(3, 3 + LENGTH), spec.inv_freq, spec.attention_factor)
    turned = rotate_heads(q.numpy(), cos, sin, spec.layout)
    assert np.abs(turned - exact(q, spec, range(3, 3 + LENGTH)).numpy()).max() < 1e-13
    with pytest.raises(ValueError, match="layout='half' is neither"):
        rotate_heads(q.numpy(), cos, sin, "half")


@pytest.mark.makers
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_jax_runs_the_same_code_as_it_stands_and_compiled(layout, dtype):
    import jax
    from jax import numpy as jnp

    spec, (q, _) = SPECS[layout], q_and_k(dtype)
    cos, sin = rotary_cos_sin(range(10**6, 10**6 + LENGTH), spec.inv_freq)
    x = jnp.asarray(q.float().numpy(), dtype=str(dtype).removeprefix("torch."))
    expected = exact(q, spec, range(10**6, 10**6 + LENGTH)).numpy()
    for rotate in (rotate_heads, jax.jit(rotate_heads, static_argnames="layout")):
        turned = rotate(x, cos, sin, layout=layout)
        assert turned.dtype == x.dtype
        assert np.abs(np.asarray(turned, np.float64) - expected).max() <= rounded_once(q, spec)


@pytest.mark.long
@pytest.mark.makers
def test_jax_decodes_by_a_traced_position_and_follows_a_gradient():
    import jax
    from jax import numpy as jnp

    spec, (q, _) = SPECS["half_split"], q_and_k()
    x, table = jnp.asarray(q.numpy()), rotary_cos_sin(range(LENGTH), spec.inv_freq)
    whole = rotate_heads(x, *table, "half_split")

    @jax.jit
    def step(x, position):
        return rotate_heads(x, *(jnp.asarray(part)[position][None] for part in table), "half_split")

    for position in (0, 7, LENGTH - 1):
        error = np.abs(step(x[:, :, position][:, :, None], position)[:, :, 0] - whole[:, :, position])
        assert error.max() <= 2 * rounded_once(q, spec)
    gradient = jax.grad(lambda x: (rotate_heads(x, *table, "half_split") ** 2).sum())(x)
    assert np.abs(gradient - 2 * x).max() <= 8 * rounded_once(q, spec)  # lengths stay, so x comes back


# -- The page


def definitions(source):
    """Classes and functions of a source by name: the first paragraph of the docstring, and the code as parsed."""
    found = {}
    for node in ast.parse(source).body:
        if not isinstance(node, ast.ClassDef | ast.FunctionDef):
            continue
        doc = ast.get_docstring(node) or ""
        node.body = node.body[1:] if doc else node.body
        found[node.name] = (doc.partition("\n\n")[0], ast.unparse(node))
    return found


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_the_class_in_the_chapter_is_that_of_the_library(chapter):
    cells = nbformat.read(ROOT / "notebooks" / f"{chapter}.ipynb", as_version=4).cells
    sources = [cell.source for cell in cells if "class RotaryEmbedding" in cell.source]
    assert len(sources) == 1
    shown = definitions(sources[0])["RotaryEmbedding"]
    assert shown == definitions(Path(rotary_file.__file__).read_text())["RotaryEmbedding"]
    assert "rope_edu" not in sources[0]


def test_the_functions_in_chapter_7_are_those_of_the_library():
    cells = nbformat.read(ROOT / "notebooks" / f"{CHAPTERS[0]}.ipynb", as_version=4).cells
    (source,) = [cell.source for cell in cells if "def rotary_cos_sin" in cell.source]
    assert definitions(source) == definitions(Path(rotary_functions.__file__).read_text())


def test_the_file_alone_is_enough():
    source = Path(rotary_file.__file__).read_text()
    imports = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Import | ast.ImportFrom)]
    modules = {getattr(node, "module", None) or node.names[0].name for node in imports}
    assert modules == {"collections.abc", "torch"}
