r"""A KV cache, which stores keys and values so that a new token costs only one row of attention."""

from numbers import Integral
from typing import Any

from array_api_compat import array_namespace, device, is_numpy_array

from rope_edu.arrays import Array
from rope_edu.encodings.validation import check_floats, check_one_of, check_positive_int


class KVCache:
    r"""The rotated keys and the values of one attention layer.

        append(k, v):   K ← [K; k],   V ← [V; v];   earlier entries never change

    Rotated keys can be stored because the angle of a key depends only on its position. `append` returns views of
    the cache. Later calls do not change them, because memory is never reused once it has been returned. Do not
    write to these views (NumPy raises an error). If a torch key or value requires a gradient, `append` concatenates
    into new arrays instead.

    A cache holds at most `capacity` tokens (None: no limit), and its memory grows in blocks of `block` tokens. With
    `when_full="evict"`, new tokens replace the oldest; with "error", `append` raises ValueError.
    A `capacity` or `block` that is not a whole number ≥ 1, or a misspelt `when_full`, raises ValueError.

    >>> import numpy as np
    >>> cache, token = KVCache(capacity=2, when_full="evict"), np.ones((1, 1, 4))
    >>> for n in range(3):
    ...     keys, values = cache.append(n * token, token)
    >>> keys[0, :, 0].tolist(), cache.length, cache.seen  # token 0 has been evicted
    ([1.0, 2.0], 2, 3)

    Chapter 11. Plain form: `plain.decode_with_cache`.
    """

    def __init__(self, capacity: int | None = None, *, block: int = 64, when_full: str = "error") -> None:
        self.capacity = None if capacity is None else check_positive_int("capacity", capacity)
        self.block = check_positive_int("block", block)
        self.when_full = check_one_of("when_full", when_full, ("error", "evict"))
        self.clear()

    def clear(self) -> None:
        """Discard all tokens and start again at position 0."""
        self._k: Any = None
        self._v: Any = None
        self._start = self._stop = self._seen = 0

    @property
    def length(self) -> int:
        """Number of tokens in the cache."""
        return self._stop - self._start

    @property
    def seen(self) -> int:
        """Number of tokens appended so far, which is the position of the next one."""
        return self._seen

    @property
    def reserved(self) -> int:
        """Number of tokens for which memory is allocated."""
        return 0 if self._k is None else self._k.shape[-2]

    def append(self, k: Array, v: Array) -> tuple[Any, Any]:
        r"""Store the keys and values of new tokens; return views of all stored keys and values.

        Tokens are evicted before the method returns. If a chunk of tokens triggers this, only its last query sees
        the full window of `capacity` tokens; for an exact sliding window, append one token at a time.

        `k` is a float array `(…, heads, new, head_dim)`, already rotated; `v` is `(…, heads, new, v_dim)`.
        ValueError, with the cache unchanged, if they do not match each other or the cache, or if there is no room.

        Chapter 11.
        """
        self._check(k, v)
        new = k.shape[-2]
        self._make_room(new)
        if self._k is not None and _needs_grad(k, v, self._k, self._v):
            xp, (held_k, held_v) = array_namespace(k), self._held()
            self._k, self._v = xp.concat((held_k, k), axis=-2), xp.concat((held_v, v), axis=-2)
            self._start, self._stop = 0, self._k.shape[-2]
        else:
            self._write(k, v)
        self._seen += new
        return self._held()

    def evict(self, n: int) -> None:
        """Discard the `n` oldest tokens without renumbering the rest. ValueError unless `n` is 0 to `length`."""
        if isinstance(n, bool) or not isinstance(n, Integral) or not 0 <= n <= self.length:
            raise ValueError(f"n must be a whole number from 0 to the {self.length} tokens held, got {n!r}")
        self._start += int(n)

    def __repr__(self) -> str:
        limit = "" if self.capacity is None else f" of {self.capacity}"
        return f"<KVCache: {self.length}{limit} tokens held, {self.seen} seen, {self.reserved} reserved>"

    def _make_room(self, new: int) -> None:
        """Make room for `new` tokens by evicting the oldest ones, or raise ValueError."""
        if self.capacity is None or self.length + new <= self.capacity:
            return
        if new > self.capacity:
            raise ValueError(f"{new} new tokens exceed the cache's capacity of {self.capacity}: append fewer")
        if self.when_full == "error":
            raise ValueError(
                f"the cache holds {self.length} of at most {self.capacity} tokens, no room for {new} more; "
                'make it larger, evict some, or choose when_full="evict"'
            )
        self.evict(self.length + new - self.capacity)

    def _write(self, k: Array, v: Array) -> None:
        """Write k and v after the stored tokens, allocating more memory if necessary."""
        new = k.shape[-2]
        if self._k is None or self._stop + new > self.reserved:
            blocks = -(-(self.length + new) // self.block)
            blocks += self._start > 0  # a spare block, so that a sliding window is rarely copied
            self._k, self._v = (self._reallocated(old, x, blocks) for old, x in ((self._k, k), (self._v, v)))
            self._start, self._stop = 0, self.length
        self._k[..., self._stop : self._stop + new, :] = k
        self._v[..., self._stop : self._stop + new, :] = v
        self._stop += new

    def _reallocated(self, old: Array | None, x: Array, blocks: int) -> Any:
        """Allocate `blocks` blocks of memory like `x`, and copy the stored tokens into them."""
        xp = array_namespace(x)
        shape = (*x.shape[:-2], blocks * self.block, x.shape[-1])
        memory = xp.empty(shape, dtype=x.dtype, device=device(x))
        if old is not None:
            memory[..., : self.length, :] = old[..., self._start : self._stop, :]
        return memory

    def _held(self) -> tuple[Any, Any]:
        k, v = (_locked(x[..., self._start : self._stop, :]) for x in (self._k, self._v))
        return k, v

    def _check(self, k: Array, v: Array) -> None:
        """Reject keys and values that do not match each other or the cache."""
        for name, x in (("k", k), ("v", v)):
            check_floats(name, x)
            if x.ndim < 2:
                raise ValueError(f"{name} must be (…, heads, new, width), got shape {tuple(x.shape)}")
        _check_kind("v", v, k, "as k is")
        if k.shape[:-1] != v.shape[:-1]:
            raise ValueError(
                "k and v must have the same heads and tokens, (…, heads, new), "
                f"got {tuple(k.shape[:-1])} and {tuple(v.shape[:-1])}"
            )
        if self._k is not None:
            _check_like("k", k, self._k)
            _check_like("v", v, self._v)


def _check_kind(name: str, x: Array, other: Array, comparison: str) -> None:
    if is_numpy_array(x) != is_numpy_array(other):
        raise ValueError(f"{name} must be {type(other).__name__} {comparison}, got {type(x).__name__}")


def _check_like(name: str, x: Array, held: Array) -> None:
    """Reject an `x` whose type, dtype, device or shape differs from those of the stored array."""
    _check_kind(name, x, held, "like the cache")
    for attribute in ("dtype", "device"):
        seen, expected = getattr(x, attribute), getattr(held, attribute)
        if seen != expected:
            raise ValueError(f"{name} must have the cache's {attribute}, {expected}, got {seen}")
    if (x.shape[:-2], x.shape[-1]) != (held.shape[:-2], held.shape[-1]):
        shape = ", ".join(map(str, (*held.shape[:-2], "new", held.shape[-1])))
        raise ValueError(f"{name} must be ({shape}) like the cache, got {tuple(x.shape)}")


def _needs_grad(*arrays: Array) -> bool:
    return any(getattr(x, "requires_grad", False) for x in arrays)


def _locked(view: Any) -> Any:
    """Make a NumPy view read-only; torch has no read-only tensors."""
    if is_numpy_array(view):
        view.flags.writeable = False
    return view
