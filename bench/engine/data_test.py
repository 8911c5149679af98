"""python3 -m unittest discover -s bench/engine -p '*_test.py'"""

import math
import unittest
from collections import Counter

import data


class Data(unittest.TestCase):
    def test_blocks_are_those_of_the_reference_implementation(self):
        self.assertEqual(data._philox(0, 0), [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8])

    def test_streams_are_those_of_the_engine(self):  # pinned in src/base/random_test.cpp
        self.assertEqual(data._philox(0, data._stream_key(42, "golden"))[0], 3997426543)

    def test_the_order_is_that_of_the_engine(self):  # pinned in engine/data/sample_order_test.cpp
        order = data.sample_order(1, 9000, 32, 1001)
        self.assertEqual(order[0][:6], [4297, 4886, 2696, 6596, 5344, 2031])
        self.assertEqual(order[1000][26:], [5867, 1776, 1014, 2162, 6290, 3267])

    def test_an_epoch_takes_every_sample_once(self):
        order = data.sample_order(3, 96, 32, 7)
        self.assertEqual(len(order), 7)
        self.assertEqual(sorted(sum(order[:3], [])), list(range(96)))
        self.assertNotEqual(order[:3], order[3:6])

    def test_the_spiral_is_that_of_the_engine(self):  # pinned in engine/data/spiral_test.cpp
        points, classes = data.spiral(1, 10000, 2, 0.1)
        expected = {0: (-0.656945, -2.35016), 1: (-2.98945, 0.588742), 9999: (-3.15749, 0.320019)}
        for index, point in expected.items():
            self.assertAlmostEqual(points[index][0], point[0], places=5)
            self.assertAlmostEqual(points[index][1], point[1], places=5)
        self.assertEqual([classes[0], classes[1], classes[9999]], [0, 1, 1])

    def test_images_are_those_of_the_engine(self):  # pinned in engine/data/synthetic_images_test.cpp
        patterns, noise, starts = data.images(1, 2)
        self.assertEqual([patterns[k % 3] + noise[starts[0] + k] for k in range(6)], [46, 90, 35, 69, 77, 109])

    def test_pairs_depend_on_the_last_symbol_alone(self):
        text = data.pairs(1 << 20)
        self.assertEqual(text, data.pairs(1 << 20))
        entropies = [conditional_entropy(text, context) for context in (0, 1, 2)]
        self.assertGreater(entropies[0], entropies[1] + 0.5)
        self.assertLess(entropies[1], entropies[2] + 0.1)

    def test_triples_can_be_learnt_in_steps(self):
        text = data.triples(1 << 20)
        self.assertEqual(len(text), 1 << 20)
        self.assertEqual(text, data.triples(1 << 20))
        self.assertLessEqual(set(text), set(data.SYMBOLS))
        entropies = [conditional_entropy(text, context) for context in (0, 1, 2)]
        self.assertGreater(entropies[0], entropies[1] + 0.3)
        self.assertGreater(entropies[1], entropies[2] + 0.3)


def conditional_entropy(text, context):
    """Nats of a symbol after the `context` symbols before it."""
    joint = Counter(text[i:i + context + 1] for i in range(len(text) - context))
    given = Counter(text[i:i + context] for i in range(len(text) - context))
    return -sum(count * math.log(count / given[key[:-1]]) for key, count in joint.items()) / (len(text) - context)


if __name__ == "__main__":
    unittest.main()
