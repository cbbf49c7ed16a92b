"""Cached keys, step by step: their stored and their correct angles, and the work that the cache saves."""

from rope_edu.encodings import dynamic_ntk, rope_angles

HEAD_DIM, BASE, TRAINED, FACTOR = 8, 100, 8, 4
NUMBER = 2  # bytes per number
STORES = ("rotated", "unrotated", "dynamic")


def key_angle(store: str, pair: int, position: int, length: int) -> float:
    """Return the angle, in radians, of one pair of the key at `position`, with frequencies for `length` tokens.

    The frequencies depend on the length only in the "dynamic" store, once it exceeds the trained length.

    >>> key_angle("rotated", 0, 3, 100)
    3.0

    Chapter 11.
    """
    used = length if store == "dynamic" else TRAINED
    frequencies = dynamic_ntk(HEAD_DIM, TRAINED, length=used, factor=FACTOR, base=BASE).inv_freq
    return float(rope_angles(position, frequencies)[pair])


def held_keys(store: str, pair: int, capacity: int, step: int) -> list[dict[str, float]]:
    """Return {position, stored, used, wanted} of each key in the cache after `step` tokens, oldest first.

    Angles are in radians: as stored, as this step's query uses them, and as they should be. A key is stored when it
    is the newest; the "unrotated" store keeps it unrotated and rotates it at every step.

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
    """Count rotated keys and dot products over all steps so far, and bytes stored: [with the cache, without one].

    Without a cache, every step rotates every key again, and every token attends to its window again. A cache stores
    a key and a value of 16-bit numbers per token, and every step reads all of them.

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
