"""python3 -m unittest discover -s bench/engine -p '*_test.py'"""

import unittest
from types import SimpleNamespace

import learning

CHECK = SimpleNamespace(fixed=(50, 100), name="triples", level=3.6, window=20)


def curve(leaves_plateau_at, noise=0.0, steps=100):
    return [(4.0 if i < leaves_plateau_at else 3.3) + noise for i in range(steps)]


class Learning(unittest.TestCase):
    def verdicts(self, peers, ours):
        found = learning.compare_curves(CHECK, dict(enumerate(peers)), dict(enumerate(ours)))
        return [one.verdict for one in found], learning.overall(found)

    def test_the_same_curves_are_alike(self):
        curves = [curve(at) for at in (60, 65, 70, 72, 74)]
        self.assertEqual(self.verdicts(curves, curves), (["alike", "alike", "alike"], "alike"))

    def test_one_lucky_seed_is_no_pass(self):
        self.assertEqual(self.verdicts([curve(60)], [curve(60)])[1], "cannot tell")

    def test_a_later_descent_is_found_though_it_ends_at_the_same_loss(self):
        peers = [curve(at) for at in (40, 42, 44, 46, 48)]
        ours = [curve(at + 25) for at in (40, 42, 44, 46, 48)]
        found, overall = self.verdicts(peers, ours)
        self.assertEqual(found[1:], ["alike", "differs"])
        self.assertEqual(overall, "differs")

    def test_never_getting_there_differs(self):
        peers = [curve(60)] * 5
        self.assertEqual(self.verdicts(peers, [curve(1000)] * 5)[1], "differs")

    def test_a_small_steady_difference_is_alike_and_a_wide_one_cannot_be_told(self):
        alike = learning.finding("loss", [0.004, 0.005, 0.003, 0.004, 0.005], 0.01)
        self.assertEqual(alike.verdict, "alike")
        wide = learning.finding("loss", [0.03, -0.03, 0.02, -0.02, 0.0], 0.01)
        self.assertEqual(wide.verdict, "cannot tell")
        self.assertEqual(learning.finding("loss", [0.02, 0.021, 0.019, 0.02, 0.02], 0.01).verdict, "differs")
        self.assertEqual(learning.finding("loss", [float("nan")] * 5, 0.01).verdict, "differs")

    def test_the_interval_is_students(self):
        found = learning.finding("x", [1.0, 2.0, 3.0, 4.0, 5.0], 10)
        self.assertAlmostEqual(found.high, 3 + 2.776 * (2.5 / 5) ** 0.5, places=3)

    def test_losses_are_means_of_the_steps_before(self):
        self.assertEqual(learning.loss_at(list(range(100)), 50, 20), sum(range(30, 50)) / 20)
        self.assertEqual(learning.steps_to(3.6, curve(30)), 36)
        self.assertIsNone(learning.steps_to(1.0, curve(30)))


if __name__ == "__main__":
    unittest.main()
