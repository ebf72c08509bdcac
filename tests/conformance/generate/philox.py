# SPDX-License-Identifier: Apache-2.0
"""Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC11) and the draws
that the random ops make from a key (seed, generator, call)."""

import numpy as np

from dtypes import WIDE
from special import PI

LOW = 0xFFFFFFFF


def block(counter, key):
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(10):
        p0, p1 = c0 * 0xD2511F53, c2 * 0xCD9E8D57
        c0, c1, c2, c3 = (p1 >> 32) ^ c1 ^ k0, p1 & LOW, (p0 >> 32) ^ c3 ^ k1, p0 & LOW
        k0, k1 = (k0 + 0x9E3779B9) & LOW, (k1 + 0xBB67AE85) & LOW
    return [c0, c1, c2, c3]


def words(key, index):
    """The four words of block `index` for key = (seed, generator, call)."""
    seed, generator, call = (k & 0xFFFFFFFFFFFFFFFF for k in key)
    counter = (index & LOW, index >> 32, call & LOW, (generator & LOW) ^ (((call >> 32) << 16) & LOW))
    return block(counter, (seed & LOW, seed >> 32))


def draws32(key, count):
    return [w for b in range(-(-count // 4)) for w in words(key, b)][:count]


def draws64(key, count):
    pairs = [words(key, b) for b in range(-(-count // 2))]
    return [d for w in pairs for d in (w[0] | w[1] << 32, w[2] | w[3] << 32)][:count]


def uniform(key, count, dtype):
    if dtype == "f32":
        return np.array([(w >> 8) * 2.0**-24 for w in draws32(key, count)], np.float64)
    return np.array([(d >> 11) * 2.0**-53 for d in draws64(key, count)], np.float64)


def normal(key, count, dtype):
    """Box-Muller on neighbours: u1 in (0, 1], u2 in [0, 1)."""
    even = count + count % 2
    if dtype == "f32":
        numbers, scale = [w >> 8 for w in draws32(key, even)], WIDE(2.0**-24)
    else:
        numbers, scale = [d >> 11 for d in draws64(key, even)], WIDE(2.0**-53)
    values = []
    for first, second in zip(numbers[0::2], numbers[1::2]):
        radius = np.sqrt(-2 * np.log(WIDE(first + 1) * scale))
        angle = 2 * PI * WIDE(second) * scale
        values += [radius * np.cos(angle), radius * np.sin(angle)]
    return np.array(values[:count], WIDE)


def integers(key, count, low, high):
    return np.array([low + (d * (high - low) >> 64) for d in draws64(key, count)], np.int64)


def self_check():
    """Known answers of the Random123 distribution (kat_vectors)."""
    assert block((0, 0, 0, 0), (0, 0)) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    assert block((LOW,) * 4, (LOW,) * 2) == [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]
    assert block((0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344), (0xA4093822, 0x299F31D0)) == [
        0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1]
