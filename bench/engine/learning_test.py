"""python3 -m unittest discover -s bench/engine -p '*_test.py'"""

import random
import unittest
from types import SimpleNamespace

import learning

CHECK = SimpleNamespace(steps=100, fixed=(50, 100), name="triples", level=3.6, window=20, seeds=(0, 1, 2, 3, 4))
TEN = SimpleNamespace(**{**vars(CHECK), "seeds": tuple(range(10))})


def curve(leaves_plateau_at, noise=0.0, steps=100):
    """Falls from 6 to a plateau at once, and later from there."""
    return [6.0, *((4.0 if i < leaves_plateau_at else 3.3) + noise for i in range(1, steps))]


class Learning(unittest.TestCase):
    def verdicts(self, peers, ours, check=CHECK):
        found = learning.compare_curves(check, dict(enumerate(peers)), dict(enumerate(ours)))
        return [one.verdict for one in found], learning.overall(found)

    def test_the_same_curves_are_alike(self):
        curves = [curve(at) for at in (60, 65, 70, 72, 74)]
        self.assertEqual(self.verdicts(curves, curves), (["alike", "alike", "alike"], "alike"))

    def test_a_few_lucky_seeds_are_no_pass(self):
        for seeds in (1, 2, 4):
            found = learning.finding("loss", [0.0001, 0.0002, 0.0001, 0.0002][:seeds], 0.01)
            self.assertEqual(found.verdict, "cannot tell", seeds)

    def test_missing_seeds_and_short_curves_are_told(self):
        curves = dict(enumerate([curve(60)] * 5))
        for wrong, words in (({0: curve(60)}, "no losses of seed 1"),
                             ({**curves, 3: curve(60)[:99]}, "99 of 100 losses of seed 3")):
            with self.assertRaisesRegex(ValueError, words):
                learning.compare_curves(CHECK, curves, wrong)
            with self.assertRaisesRegex(ValueError, words):
                learning.compare_curves(CHECK, wrong, curves)

    def test_a_loss_that_has_hardly_fallen_says_nothing(self):
        check = SimpleNamespace(**{**vars(CHECK), "level": None, "fixed": (100,)})
        for start, verdict in ((3.3 * 1.09, "cannot tell"), (3.3 * 1.11, "alike")):
            curves = [[start, *[3.3] * 99]] * 5
            self.assertEqual(self.verdicts(curves, curves, check)[1], verdict)

    def test_a_later_descent_is_found_though_it_ends_at_the_same_loss(self):
        peers = [curve(at) for at in (40, 42, 44, 46, 48)]
        ours = [curve(at + 25) for at in (40, 42, 44, 46, 48)]
        found, overall = self.verdicts(peers, ours)
        self.assertEqual(found[1:], ["alike", "differs"])
        self.assertEqual(overall, "differs")

    def level_verdict(self, peers, ours):
        check = SimpleNamespace(**{**vars(TEN), "fixed": ()})
        return self.verdicts([curve(at) for at in peers], [curve(at) for at in ours], check)[1]

    def test_never_getting_there_differs(self):
        self.assertEqual(self.level_verdict([60] * 10, [1000] * 10), "differs")
        self.assertEqual(self.level_verdict([60] * 10, [1000] * 9 + [60]), "differs")

    def test_one_seed_that_does_not_get_there_spoils_nothing(self):
        ours = [62, 58, 61, 59, 60, 61, 60, 59, 62, 1000]
        self.assertEqual(self.level_verdict([60] * 10, ours), "alike")
        self.assertEqual(self.level_verdict(ours, [60] * 10), "alike")

    def test_several_of_them_cannot_be_told(self):
        self.assertEqual(self.level_verdict([60] * 10, [60] * 8 + [1000] * 2), "cannot tell")
        self.assertEqual(self.level_verdict([1000] * 10, [1000] * 10), "cannot tell")
        self.assertEqual(self.level_verdict([85] * 10, [85] * 8 + [1000] * 2), "cannot tell")

    def test_a_quarter_later_is_not_alike_where_some_do_not_get_there(self):
        self.assertEqual(self.level_verdict([40] * 9 + [1000], [60] * 9 + [1000]), "differs")
        self.assertEqual(self.level_verdict([60] * 9 + [1000], [40] * 9 + [1000]), "differs")

    def test_five_seeds_are_too_few_for_signs(self):
        check = SimpleNamespace(**{**vars(CHECK), "fixed": ()})
        curves = [curve(at) for at in (60, 60, 60, 60, 1000)]
        self.assertEqual(self.verdicts(curves, curves, check)[1], "cannot tell")

    def test_who_is_later_is_known_from_what_was_seen(self):
        self.assertIs(learning.later(30, 20, 1.25, 100), True)
        self.assertIs(learning.later(24, 20, 1.25, 100), False)
        self.assertIs(learning.later(None, 70, 1.25, 100), True)
        self.assertIsNone(learning.later(None, 90, 1.25, 100))
        self.assertIs(learning.later(90, None, 1.25, 100), False)
        self.assertIsNone(learning.later(None, None, 1.25, 100))

    def test_the_power_is_what_a_normal_difference_gives(self):
        self.assertAlmostEqual(learning.power(30, 0.0215, 0.01), 0.385, places=2)
        self.assertEqual(learning.seeds_needed(0.0215, 0.01, 0.8), 51)
        self.assertEqual(learning.seeds_needed(0.0001, 0.01, 0.8), 5)
        draw = random.Random(1)
        alike = [learning.finding("x", [draw.gauss(0, 0.0215) for _ in range(51)], 0.01).verdict for _ in range(2000)]
        self.assertAlmostEqual(alike.count("alike") / 2000, 0.8, delta=0.03)

    def test_the_power_of_signs(self):
        self.assertAlmostEqual(learning.sign_power(10, 0.99), 0.996, places=3)
        self.assertAlmostEqual(learning.sign_power(10, 0.5), 11 / 1024)
        self.assertEqual(learning.sign_power(5, 1.0), 0)
        self.assertEqual(learning.sign_power(6, 1.0), 1)

    def test_students_points_go_on_beyond_the_table(self):
        for freedom, value in ((15, 2.131), (16, 2.120), (29, 2.045), (50, 2.009)):
            self.assertAlmostEqual(learning.student(freedom), value, places=3)

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
