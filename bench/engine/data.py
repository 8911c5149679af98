"""The data that both sides learn from. No library is needed.

`TEXTS` are for files that the engine reads as `text:PATH`. `spiral`, `images` and `sample_order` are what engine/data
makes of a seed, so that the peer sees the same samples in the same order; the engine's tests and data_test.py pin the same
numbers.
"""

import math
import random
from statistics import NormalDist

MASK = 2**64 - 1
SYMBOLS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ .,!?-'\n"
TEXT_BYTES = 12 << 20  # more than 300 steps of GPT-2 read: no window comes twice


def triples(size=TEXT_BYTES, seed=1):
    """Text from a second-order Markov source over 60 symbols. Five letters of eight depend on the last one, which is
    learnt within a few dozen steps, the others on the last but one, for which attention is needed: the loss stays on
    a plateau until that is found."""
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


def pairs(size=TEXT_BYTES, seed=1):
    """Text of 256 byte values of which each depends on the last one alone. Some are a thousand times as frequent as
    others and so learnt earlier: the loss falls without a plateau."""
    source = random.Random(seed)
    symbols = range(256)
    frequent = [1 / (rank + 1) ** 1.5 for rank in symbols]
    rows = []
    for _ in symbols:
        own = [weight * source.gammavariate(0.2, 1) for weight in frequent]
        rows.append(bytes(source.choices(symbols, own, k=256)))
    last = 0
    text = bytearray()
    while len(text) < size:
        chunk = bytearray()
        for slot in source.randbytes(min(1 << 20, size - len(text))):
            last = rows[last][slot]
            chunk.append(last)
        text += chunk
    return bytes(text)


TEXTS = {"triples": triples, "pairs": pairs}


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


IMAGE_FIELDS = 7  # patterns have as many fields in each direction
IMAGE_NOISE_STARTS = 4 << 20


def images(seed, samples, classes=1000, size=224):
    """What engine/data/synthetic_images.cpp paints: the patterns of all classes (7 × 7 fields of 3 colours each), a bank
    of noise, and where in it the noise of each sample begins. Sample i is of class i modulo `classes`."""
    patterns = _bytes_below_128(seed, "data.synthetic-images.patterns", classes * IMAGE_FIELDS**2 * 3)
    noise = _bytes_below_128(seed, "data.synthetic-images.noise", IMAGE_NOISE_STARTS + 3 * size**2)
    key = _stream_key(seed, "data.synthetic-images")
    return patterns, noise, [_philox(i, key)[0] % IMAGE_NOISE_STARTS for i in range(samples)]


def _bytes_below_128(seed, purpose, count):
    key = _stream_key(seed, purpose)
    words = bytearray()
    for block in range(-(-count // 16)):
        for word in _philox(block, key):
            words += (word & 0x7F7F7F7F).to_bytes(4, "little")
    return bytes(words[:count])


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
