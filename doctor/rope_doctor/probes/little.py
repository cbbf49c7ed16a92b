r"""A two-layer model for demonstrating `check_model`: correct by default, wrong on request."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from rope_edu.encodings.spec import RopeSpec, plain_rope

HEADS, HEAD_DIM, VOCABULARY = 4, 16, 40


class LittleRotary(nn.Module):
    """A spec's rotary module, which returns each pair's cosine and sine twice, as in transformers."""

    inv_freq: Tensor

    def __init__(self, spec: RopeSpec) -> None:
        super().__init__()
        self.factor = spec.attention_factor
        self.register_buffer("inv_freq", torch.tensor(spec.inv_freq, dtype=torch.float32), persistent=False)

    def forward(self, x: Tensor, position_ids: Tensor) -> tuple[Tensor, Tensor]:
        angles = position_ids[..., None].float() * self.inv_freq.float()
        angles = torch.cat((angles, angles), dim=-1)
        return (self.factor * angles.cos()).to(x.dtype), (self.factor * angles.sin()).to(x.dtype)


class LittleLayer(nn.Module):
    """Multi-head attention with half_split rotation and a separate rotary module."""

    def __init__(self, spec: RopeSpec, times: int) -> None:
        super().__init__()
        self.rotary, self.times = LittleRotary(spec), times
        self.qkv = nn.Linear(HEADS * HEAD_DIM, 3 * HEADS * HEAD_DIM)
        self.out = nn.Linear(HEADS * HEAD_DIM, HEADS * HEAD_DIM)

    def forward(self, x: Tensor, position_ids: Tensor) -> Tensor:
        q, k, v = self.qkv(x).unflatten(-1, (3, HEADS, HEAD_DIM)).permute(2, 0, 3, 1, 4)
        cos, sin = (table.unsqueeze(1) for table in self.rotary(x, position_ids))
        for _ in range(self.times):
            q, k = rotated(q, cos, sin), rotated(k, cos, sin)
        heads = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return x + self.out(heads.transpose(1, 2).flatten(2))


def rotated(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Return x with its first features rotated in half_split pairs and the others unchanged."""
    head, rest = x.tensor_split([cos.shape[-1]], dim=-1)
    first, second = head.chunk(2, dim=-1)
    return torch.cat((head * cos + torch.cat((-second, first), dim=-1) * sin, rest), dim=-1)


class Little(nn.Module):
    r"""A decoder with one layer per spec and no cache; by default, two layers with heads of 16 and base 10,000.

    `times` is how often each layer rotates its queries and keys; 1 is correct.

    >>> model = Little()
    >>> tuple(model(torch.tensor([[3, 1, 4]])).shape)
    (1, 3, 40)

    Chapter 24.
    """

    def __init__(self, specs: Sequence[RopeSpec] | None = None, times: int = 1) -> None:
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(7)
            self.embedding = nn.Embedding(VOCABULARY, HEADS * HEAD_DIM)
            specs = [plain_rope(HEAD_DIM, layout="half_split")] * 2 if specs is None else specs
            self.layers = nn.ModuleList(LittleLayer(spec, times) for spec in specs)

    def forward(self, input_ids: Tensor, position_ids: Tensor | None = None) -> Tensor:
        if position_ids is None:
            position_ids = torch.arange(input_ids.shape[1]).expand(input_ids.shape)
        x = self.embedding(input_ids)
        for layer in self.layers:
            x = layer(x, position_ids)
        return x @ self.embedding.weight.T


def emptied(model: Little, left: Callable[[Tensor], Tensor] = torch.zeros_like) -> Little:
    """Fill a model's frequencies with what `to_empty` may leave in memory, 0 by default, and return the model."""
    for module in model.modules():
        if isinstance(module, LittleRotary):
            module.inv_freq = left(module.inv_freq)
    return model
