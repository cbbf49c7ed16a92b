"""Simulate a key cache step by step: the keys' stored and correct angles, and the work that the cache saves."""

from rope_edu.encodings import dynamic_ntk, rope_angles

HEAD_DIM, BASE, TRAINED, FACTOR = 8, 100, 8, 4
NUMBER = 2  # bytes per number
STORES = ("rotated", "unrotated", "dynamic")


def key_angle(store: str, pair: int, position: int, length: int) -> float:
    """Return a pair's angle, in radians, in the key at `position`, with the frequencies for `length` tokens.

    Only the "dynamic" store has frequencies that depend on the length, once the length exceeds the trained length.

    >>> key_angle("rotated", 0, 3, 100)
    3.0

    Chapter 11.
    """
    used = length if store == "dynamic" else TRAINED
    frequencies = dynamic_ntk(HEAD_DIM, TRAINED, length=used, factor=FACTOR, base=BASE).inv_freq
    return float(rope_angles(position, frequencies)[pair])


def held_keys(store: str, pair: int, capacity: int, step: int) -> list[dict[str, float]]:
    """Return {position, stored, used, wanted} for each key in the cache after `step` tokens, oldest first.

    The three angles are in radians: the key's angle as stored, as used for this step's scores, and as it should be.
    Each key is stored in the step that computes it. The "unrotated" store rotates all its keys again at every step.

    >>> [key["position"] for key in held_keys("rotated", 0, 2, 5)]
    [3, 4]

    Chapter 11.
    """
    keys = []
    for position in range(max(0, step - capacity), step):
        used = key_angle(store, pair, position, position + 1)
        stored = 0.0 if store == "unrotated" else used
        wanted = key_angle(store, pair, position, step)
        keys.append({"position": position, "stored": stored, "used": used, "wanted": wanted})
    return keys


def decoding_work(store: str, capacity: int, step: int) -> dict[str, list[int]]:
    """Return how many keys were rotated and dot products computed, and the bytes stored, as [with cache, without].

    Without a cache, every step recomputes the whole text: it rotates every key and lets every token attend to its
    window again. The cache stores a key and a value per token, in 16-bit numbers.

    >>> decoding_work("rotated", 16, 3)
    {'turned': [3, 6], 'products': [6, 10], 'bytes': [96, 0]}

    Chapter 11.
    """
    seen = [min(t, capacity) for t in range(1, step + 1)]
    return {
        "turned": [sum(seen) if store == "unrotated" else step, sum(range(1, step + 1))],
        "products": [sum(seen), sum(sum(seen[:t]) for t in range(1, step + 1))],
        "bytes": [min(step, capacity) * 2 * HEAD_DIM * NUMBER, 0],
    }
