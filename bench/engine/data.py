"""The data that both sides learn from. No library is needed.

`corpus` is text for a file that the engine reads as `text:PATH`. `spiral` and `sample_order` are what engine/data makes
of a seed, so that the peer sees the same samples in the same order; the engine's tests and data_test.py pin the same
numbers.
"""

import math
import random
from statistics import NormalDist

MASK = 2**64 - 1
SYMBOLS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ .,!?-'\n"
CORPUS_BYTES = 32 << 20  # ten times what 200 steps of GPT-2 read: no window comes twice


def corpus(size=CORPUS_BYTES, seed=1):
    """Text from a second-order Markov source over 60 symbols. Five letters of eight depend on the last one, which is
    learnt within a few dozen steps, the others on the last but one, for which attention is needed."""
    source = random.Random(seed)
    rows = [[b"" for _ in SYMBOLS] for _ in SYMBOLS]
    after_last = [_slots(source, 160) for _ in SYMBOLS]
    after_last_but_one = [_slots(source, 96) for _ in SYMBOLS]
    for i, second in enumerate(after_last_but_one):
        for j, first in enumerate(after_last):
            rows[i][j] = first + second
    before, last = 0, 0
    text = bytearray()
    while len(text) < size:
        chunk = bytearray()
        for slot in source.randbytes(min(1 << 20, size - len(text))):
            before, last = last, rows[before][last][slot]
            chunk.append(last)
        text += chunk.translate(SYMBOLS.ljust(256))
    return bytes(text)


def _slots(source, count):
    """`count` equally likely places, filled with symbols of which a handful are common."""
    weights = [source.gammavariate(0.1, 1) for _ in SYMBOLS]
    return bytes(source.choices(range(len(SYMBOLS)), weights, k=count))


def spiral(seed, samples, arms, noise):
    """Points (x, y) and their classes, as engine/data/spiral.cpp draws them."""
    key = _stream_key(seed, "data.spiral")
    normal = NormalDist(0, 1)
    points = []
    for i in range(samples):
        way, x, y = _uniforms(key, 2 * i, 3)
        radius = 0.5 + 3.5 * way
        angle = 2 * math.pi * (1.25 * way + (i % arms) / arms)
        points.append((radius * math.cos(angle) + noise * normal.inv_cdf(x),
                       radius * math.sin(angle) + noise * normal.inv_cdf(y)))
    return points, [i % arms for i in range(samples)]


def sample_order(seed, samples, batch, steps):
    """The samples of each step, as engine/data/sample_order.cpp chooses them. At least a batch of samples."""
    key = _stream_key(seed, "data.order")
    per_epoch = samples // batch
    order = []
    for epoch in range(-(-steps // per_epoch)):
        keys = _philox(2 * epoch, key) + _philox(2 * epoch + 1, key)
        wanted = min(per_epoch, steps - len(order)) * batch
        places = [_permuted(place, samples, keys) for place in range(wanted)]
        order += [places[first:first + batch] for first in range(0, wanted, batch)]
    return order


def _permuted(place, samples, keys):
    side = max(16, math.isqrt(samples - 1) + 1)
    while True:
        left, right = divmod(place, side)
        for k in range(0, 8, 2):
            left = (left + _scrambled(keys[k], right, side)) % side
            right = (right + _scrambled(keys[k + 1], left, side)) % side
        place = left * side + right
        if place < samples:
            return place


def _scrambled(key, value, bound):
    bits = (key << 32 | value) + 0x9E3779B97F4A7C15 & MASK
    return (_mixed(bits) >> 32) * bound >> 32


def _mixed(bits):
    bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9 & MASK
    return (bits ^ bits >> 27) * 0x94D049BB133111EB & MASK


def _stream_key(seed, purpose):
    bits = 0xCBF29CE484222325
    for byte in f"{seed}:{purpose}".encode():
        bits = (bits ^ byte) * 0x100000001B3 & MASK
    bits = _mixed(bits)
    return bits ^ bits >> 31


def _philox(block, key):
    a, b, c, d = block & 0xFFFFFFFF, block >> 32, 0, 0
    k0, k1 = key & 0xFFFFFFFF, key >> 32
    for _ in range(10):
        first, second = 0xD2511F53 * a, 0xCD9E8D57 * c
        a, b, c, d = second >> 32 ^ b ^ k0, second & 0xFFFFFFFF, first >> 32 ^ d ^ k1, first & 0xFFFFFFFF
        k0, k1 = k0 + 0x9E3779B9 & 0xFFFFFFFF, k1 + 0xBB67AE85 & 0xFFFFFFFF
    return [a, b, c, d]


def _uniforms(key, block, count):
    """From two blocks at most."""
    words = _philox(block, key) + _philox(block + 1, key)
    return [max((words[2 * i] << 32 | words[2 * i + 1]) >> 11, 0.5) * 2.0**-53 for i in range(count)]
