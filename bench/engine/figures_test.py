"""python3 -m unittest discover -s bench/engine -p '*_test.py'"""

import contextlib
import io
import json
import math
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import compare
import figures
import learning
from workloads import workload_named

GPT2 = workload_named("gpt2")
MLP = workload_named("spiral-mlp")
RESNET = workload_named("resnet50")

ALIKE = [learning.Finding("loss at 50", 0.001, -0.002, 0.004, 0.01, "alike")]
LATER = [*ALIKE, learning.Finding("steps to 3.6", 0.5, 0.3, 0.7, 0.25, "differs")]
UNSURE = [*ALIKE, learning.Finding("loss at 300", 0.0, -0.02, 0.02, 0.01, "cannot tell")]



def measured(figure, parameters=10):
    return {"figure": figure, "parameters": parameters, "trainable_parameters": parameters}


class Verdict(unittest.TestCase):
    def verdict(self, peer, ours, variant="eager SDPA", findings=ALIKE, problem=None):
        row = figures.judge(GPT2, variant, peer, ours, findings, problem)
        return row.verdict, row.passed

    def test_faster_and_learning_alike_is_ahead(self):
        self.assertEqual(self.verdict(measured(100), measured(150)), ("ahead", True))

    def test_slower_fails_only_beside_eager_code(self):
        self.assertEqual(self.verdict(measured(100), measured(99)), ("behind", False))
        self.assertEqual(self.verdict(measured(100), measured(99), "torch.compile"), ("behind", True))

    def test_a_speed_that_learns_otherwise_does_not_count(self):
        self.assertEqual(self.verdict(measured(100), measured(900), findings=LATER),
                         ("learns otherwise: does not count", False))

    def test_luck_is_no_pass(self):
        self.assertEqual(self.verdict(measured(100), measured(900), findings=UNSURE),
                         ("cannot tell whether it learns alike: does not count", False))
        self.assertEqual(self.verdict(measured(100), measured(900), findings=ALIKE, problem="Python failed"),
                         ("losses: Python failed: does not count", False))

    def test_a_quick_comparison_says_what_it_left_out(self):
        self.assertEqual(self.verdict(measured(100), measured(900), findings=None),
                         ("ahead, losses not compared", True))

    def test_another_model_does_not_count(self):
        verdict, passed = self.verdict(measured(100), measured(900, parameters=9))
        self.assertIn("other model", verdict)
        self.assertFalse(passed)

    def test_a_failure_is_named(self):
        self.assertEqual(self.verdict(measured(100), "oom: too large"), ("engine failed: oom: too large", False))
        self.assertEqual(self.verdict("no gcc", measured(100), "torch.compile"), ("Python failed: no gcc", False))

    def test_probes_agree_within_two_percent(self):
        for ours, passed in ((1.019, True), (0.981, True), (1.021, False), (0.97, False)):
            self.assertEqual(figures.judge_probe("p", "B/s", "m", [{"m": 1.0}], [{"m": ours}]).passed, passed)


def speed(workload, side, step_seconds, number=1, **more):
    return {"workload": workload, "side": side, "round": number, "step_seconds": step_seconds, "parameters": 10,
            "trainable_parameters": 10, **more}


def falling(check, slower=0.0):
    """A loss that halves on the way, a little different for each seed."""
    return {seed: [(7 + 0.001 * seed) * (1 + slower * math.sin(seed)) * 0.5 ** (i / check.steps)
                   for i in range(check.steps)] for seed in check.seeds}


def curves(workload, check, seeds=None, ours=None):
    chosen = check.seeds if seeds is None else seeds
    def part(all_curves):
        return {str(seed): all_curves[seed] for seed in chosen}
    return {"workload": workload.name, "check": check.name, "python": part(falling(check)),
            "ours": part(ours or falling(check, 1e-4))}


PROVENANCE = {"gpu": "NVIDIA H200", "power_limit_w": 700.0, "driver": "580.1", "torch": "2.11.0", "commit": "abc",
              "throttle_share": 0.6}


class Files(unittest.TestCase):
    def written(self, folder, *parts):
        paths = []
        for i, part in enumerate(parts):
            paths.append(Path(folder) / f"{i}.json")
            paths[-1].write_text(json.dumps({"provenance": [PROVENANCE], "runs": [], "curves": [], **part}))
        return paths

    def rows(self, *parts):
        with tempfile.TemporaryDirectory() as folder:
            return figures.rows_of(figures.read(self.written(folder, *parts)))

    def test_parts_are_put_together(self):
        check = RESNET.learning[0]
        speeds = {"runs": [speed("resnet50", "eager", 0.05), speed("resnet50", "eager", 0.07, 2),
                           speed("resnet50", "engine", 0.04), speed("resnet50", "torch.compile", 0.038)]}
        first = {"curves": [curves(RESNET, check, check.seeds[:20])]}
        second = {"curves": [curves(RESNET, check, check.seeds[20:])]}
        eager, compiled = self.rows(speeds, first, second)
        self.assertEqual((eager.verdict, eager.passed), ("ahead", True))
        self.assertAlmostEqual(eager.python, (256 / 0.05 + 256 / 0.07) / 2, msg="the median of two rounds")
        self.assertAlmostEqual(eager.ours, 6400)
        self.assertEqual(compiled.verdict, "behind")
        self.assertEqual(len(eager.learning), 3)

    def test_a_part_that_is_missing_makes_figures_that_do_not_count(self):
        check = RESNET.learning[0]
        speeds = {"runs": [speed("resnet50", "eager", 0.05), speed("resnet50", "engine", 0.04)]}
        row, = self.rows(speeds, {"curves": [curves(RESNET, check, check.seeds[:20])]})
        self.assertEqual(row.verdict, "losses: Python has no losses of seed 21: does not count")
        row, = self.rows(speeds)
        self.assertEqual(row.verdict, "ahead, losses not compared")
        gpt2 = {"runs": [speed("gpt2", "eager SDPA", 0.2), speed("gpt2", "engine", 0.06)],
                "curves": [curves(GPT2, GPT2.learning[0])]}
        row, = self.rows(gpt2)
        self.assertEqual(row.verdict, "losses: warmed-up: not compared: does not count")

    def test_a_seed_that_is_there_twice_is_refused(self):
        part = {"curves": [curves(RESNET, RESNET.learning[0])]}
        row, = self.rows(part, part)
        self.assertEqual(row.verdict, "losses: the losses of seed 1 are there twice")

    def test_a_failed_part_is_named(self):
        row, = self.rows({"curves": [{"workload": "resnet50", "check": "", "failure": "oom"}]})
        self.assertEqual((row.verdict, row.passed), ("losses: oom", False))

    def test_the_markdown_table_is_that_of_the_readme(self):
        runs = [speed("spiral-mlp", "eager", 1 / 462), speed("spiral-mlp", "fused Adam", 1 / 671),
                speed("spiral-mlp", "torch.compile", 1 / 551), speed("spiral-mlp", "CUDA graph", 1 / 9647),
                speed("spiral-mlp", "engine", 1 / 9623), speed("gpt2", "eager SDPA", 32768 / 164264),
                {"workload": "gpt2", "side": "torch.compile", "round": 1, "failure": "no compiler"},
                speed("gpt2", "engine", 32768 / 545938)]
        with tempfile.TemporaryDirectory() as folder:
            path, = self.written(folder, {"runs": runs, "curves": [curves(MLP, MLP.learning[0])]})
            with mock.patch("sys.argv", ["compare.py", "--from", str(path), "--markdown"]), \
                    contextlib.redirect_stdout(io.StringIO()) as printed:
                self.assertEqual(compare.main(), 1)
        lines = printed.getvalue().splitlines()
        self.assertEqual(lines[0], "| training | PyTorch eager | torch.compile | assay-engine | learning |")
        self.assertTrue(lines[2].startswith(
            "| MLP [64, 32, 16], batch 32, fp32 | 462 steps/s, fused Adam 671 steps/s | 551 steps/s, "
            "CUDA graph **9,647 steps/s** | 9,623 steps/s | alike: loss at 300 "), lines[2])
        self.assertEqual(lines[3], "| GPT-2 124M, 32 × 1024, `bf16`, AdamW | 164,264 tok/s | – | **545,938 tok/s** | "
                                   "not compared |")
        self.assertEqual(lines[-1], "GPU NVIDIA H200, power limit 700.0, driver 580.1, PyTorch 2.11.0, commit abc, held down "
                                    "60% of the time at work")
        for line in lines[:4]:
            self.assertEqual(line.count("|"), 6)

    def test_the_table_names_failures(self):
        row = figures.Row("gpt2", "torch.compile", "tok/s", verdict="Python failed: no compiler")
        self.assertIn("Python failed", figures.table([row]))


if __name__ == "__main__":
    unittest.main()
