r"""Record the queries and keys that enter attention in a live torch model.

Attention is intercepted in three forms: `scaled_dot_product_attention` of torch, the attention functions of
transformers, and any matrix product (`matmul`, `bmm`, `einsum`) whose result has one entry per pair of tokens.
"""

import contextlib
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from rope_doctor.probes.layer_kinds import LAYER

OTHER_PARTS = re.compile(r"(^|[._])(vision|visual|image|audio|speech|video|patch|pixel)", re.IGNORECASE)
BLOCK = re.compile(LAYER.pattern.removesuffix(r"(?:\.|$)") + "$")  # a layer, but not its submodules
MASKS = ("mask", "attn_mask", "attention_mask")  # argument names in torch and in transformers
PRODUCTS = {"matmul", "__matmul__", "bmm", "baddbmm", "einsum"}


@dataclass(frozen=True)
class Call:
    """An attention call, with q, k and v `(batch, heads, seq, width)`; v is None for a matrix product."""

    layer: str  # name of the calling module
    q: Any
    k: Any
    v: Any = None
    scale: float | None = None  # factor on q·k, or None if it cannot be observed
    before: tuple[Any, ...] = ()  # submodule outputs of the calling module, at the first token
    mask: Any = None  # (batch, heads, seq, keys); None if it is causal and limited only by `window`
    window: int | None = None  # width in tokens, for a kernel that takes no mask


@dataclass
class _Recorder:
    count: int  # tokens in the text
    calls: list[Call] = field(default_factory=list)
    products: list[Call] = field(default_factory=list)
    evened: set[str] = field(default_factory=set)  # layers whose tokens were made equal
    running: list[str] = field(default_factory=list)
    outputs: dict[str, Any] = field(default_factory=dict)
    inside: int = 0

    @property
    def where(self) -> str:
        return self.running[-1] if self.running else ""

    @property
    def before(self) -> tuple[Any, ...]:
        return tuple(out for name, out in self.outputs.items() if name.startswith(self.where))

    def keep(self, name: str, out: Any) -> None:
        if hasattr(out, "detach") and out.ndim > 2:
            self.outputs[name] = out[0].flatten(1)[0].detach() if out.shape[1] else out

    def even_out(self, name: str, args: tuple[Any, ...], options: dict[str, Any]) -> tuple[Any, Any] | None:
        """Return the arguments with the first token's hidden state copied to all tokens; None if it is missing."""
        given = [*args, *options.values()]
        first = next((x for x in given if hasattr(x, "is_floating_point") and x.is_floating_point()), None)
        if first is None or self.count not in first.shape:
            return None
        axis = list(first.shape).index(self.count)

        def evened(x: Any) -> Any:
            if not hasattr(x, "is_floating_point") or x.shape != first.shape:
                return x
            return x.narrow(axis, 0, 1).expand_as(x)

        self.evened.add(name)
        return tuple(map(evened, args)), {key: evened(x) for key, x in options.items()}

    def through(self, attend: Callable[..., Any], first: int) -> Callable[..., Any]:
        """Wrap an attention function so that it records its queries and keys, which start at argument `first`."""

        def call(*args: Any, **options: Any) -> Any:
            if not self.inside:
                named = dict(zip(("query", "key", "value", "mask"), args[first:], strict=False)) | options
                q, k, v = (named[name].detach() for name in ("query", "key", "value"))
                mask = next((named[name] for name in MASKS if named.get(name) is not None), None)
                window = options.get("sliding_window") if "flash" in getattr(attend, "__name__", "") else None
                scale = next((options[name] for name in ("scaling", "scale") if options.get(name)), None)
                scale = q.shape[-1] ** -0.5 if scale is None else float(scale)
                self.calls.append(Call(self.where, q, k, v, scale, self.before, mask, window))
            self.inside += 1
            try:
                return attend(*args, **options)
            finally:
                self.inside -= 1

        return call

    def see_product(self, name: str, args: tuple[Any, ...], out: Any) -> None:
        """Record a matrix product if it has one entry per pair of tokens."""
        if self.inside or getattr(out, "ndim", 0) < 2:
            return
        factors = _of_einsum(args, self.count) if name == "einsum" else _of_matmul(args[-2:], self.count)
        if factors is not None and self.count in out.shape:
            q, k = (x.detach().reshape(1, -1, *x.shape[-2:]) for x in factors)
            self.products.append(Call(self.where, q, k, before=self.before))

    def found(self) -> list[Call]:
        """Return the attention calls, and the matrix products of layers without such a call."""
        seen = {_number(call.layer) for call in self.calls}
        return self.calls + [call for call in self.products if _number(call.layer) not in seen]


def _number(name: str) -> str | None:
    layer = LAYER.search(name)
    return layer[1] if layer else None


def _of_matmul(factors: tuple[Any, ...], count: int) -> tuple[Any, Any] | None:
    """Return q and k `(…, seq, width)` if the product is (seq, width) @ (width, seq), otherwise None."""
    if len(factors) != 2 or any(getattr(x, "ndim", 0) < 2 or not x.is_floating_point() for x in factors):
        return None
    q, k = factors[0], factors[1].mT
    return (q, k) if q.shape[-2] == count == k.shape[-2] != q.shape[-1] else None


def _of_einsum(args: tuple[Any, ...], count: int) -> tuple[Any, Any] | None:
    """Return q and k of one head, `(seq, width)`, if an einsum multiplies them, otherwise None."""
    equation, *factors = args
    if len(factors) == 1 and isinstance(factors[0], list | tuple):
        factors = list(factors[0])
    if not isinstance(equation, str) or len(factors) != 2 or "..." in equation or "->" not in equation:
        return None
    sources, result = equation.replace(" ", "").split("->")
    names = sources.split(",")
    summed = (set(names[0]) & set(names[1])) - set(result)
    tokens = [
        [letter for letter, size in zip(letters, x.shape, strict=True) if size == count and letter in result]
        for letters, x in zip(names, factors, strict=True)
    ]
    if len(summed) != 1 or [len(letters) for letters in tokens] != [1, 1] or tokens[0] == tokens[1]:
        return None
    width = summed.pop()
    rows = []
    for letters, (token,), x in zip(names, tokens, factors, strict=True):
        kept = [letter for letter in letters if letter in (token, width)]
        one_head = x[tuple(slice(None) if letter in kept else 0 for letter in letters)]
        rows.append(one_head if kept == [token, width] else one_head.mT)
    return rows[0], rows[1]


@contextlib.contextmanager
def recorded(model: Any, count: int) -> Iterator[_Recorder]:
    """Record attention while a text of `count` tokens runs, with all tokens made equal in every layer."""
    from unittest import mock

    import torch
    from torch.overrides import TorchFunctionMode

    recorder = _Recorder(count)

    class Products(TorchFunctionMode):
        def __torch_function__(self, func: Any, _: Any, args: Any = (), kwargs: Any = None) -> Any:
            out = func(*args, **(kwargs or {}))
            name = getattr(func, "__name__", "")
            if name in PRODUCTS:
                recorder.see_product(name, args, out)
            return out

    with contextlib.ExitStack() as stack:
        for name, module in model.named_modules():
            hooks = [
                module.register_forward_pre_hook(lambda *_, name=name: recorder.running.append(name)),
                module.register_forward_hook(lambda *_: recorder.running.pop() and None, always_call=True),
            ]
            if BLOCK.search(name) and not OTHER_PARTS.search(name):
                even = lambda _, args, options, name=name: recorder.even_out(name, args, options)  # noqa: E731
                hooks.append(module.register_forward_pre_hook(even, with_kwargs=True))
            if not any(True for _ in module.children()):
                hooks.append(
                    module.register_forward_hook(lambda _, args, out, name=name: recorder.keep(name, out))
                )
            for hook in hooks:
                stack.callback(hook.remove)
        functional = torch.nn.functional
        own = recorder.through(functional.scaled_dot_product_attention, 0)
        stack.enter_context(mock.patch.object(functional, "scaled_dot_product_attention", own))
        transformers = sys.modules.get("transformers.modeling_utils")
        if interface := getattr(transformers, "AttentionInterface", None):
            get = interface.get_interface
            theirs = lambda self, name, default: recorder.through(get(self, name, default), 1)  # noqa: E731
            stack.enter_context(mock.patch.object(interface, "get_interface", theirs))
        if hasattr(torch.compiler, "set_stance"):  # runs compiled parts as plain Python
            stack.enter_context(torch.compiler.set_stance("force_eager"))
        stack.enter_context(Products())
        yield recorder
