"""python3 -m unittest discover -s bench/engine -p '*_test.py'"""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace

import compare
from workloads import WORKLOADS, checked_loss, workload_named

GPT2 = workload_named("gpt2")


def measured(figure, loss=2.0, parameters=10):
    return {"figure": figure, "checked_loss": loss, "parameters": parameters, "trainable_parameters": parameters}


class Verdict(unittest.TestCase):
    def verdict(self, peer, ours, variant="eager SDPA", workload=GPT2):
        row = compare.judge(workload, variant, peer, ours)
        return row.verdict, row.passed

    def test_faster_with_the_same_loss_is_ahead(self):
        self.assertEqual(self.verdict(measured(100), measured(150, 2.019)), ("ahead", True))

    def test_slower_fails_only_beside_eager_code(self):
        self.assertEqual(self.verdict(measured(100), measured(99)), ("behind", False))
        self.assertEqual(self.verdict(measured(100), measured(99), "torch.compile"), ("behind", True))

    def test_a_speed_with_another_loss_does_not_count(self):
        for loss in (2.03, 1.97, float("nan")):
            self.assertEqual(self.verdict(measured(100), measured(900, loss)), ("loss differs: does not count", False))

    def test_another_model_does_not_count(self):
        verdict, passed = self.verdict(measured(100), measured(900, parameters=9))
        self.assertIn("other model", verdict)
        self.assertFalse(passed)

    def test_other_images_are_compared_by_speed_alone(self):
        resnet = workload_named("resnet50")
        self.assertEqual(self.verdict(measured(9, 7.0), measured(10, 1.0), "eager", resnet), ("ahead", True))

    def test_a_failure_is_named(self):
        self.assertEqual(self.verdict(measured(100), "oom: too large"), ("engine failed: oom: too large", False))
        self.assertEqual(self.verdict("no gcc", measured(100), "torch.compile"), ("Python failed: no gcc", False))

    def test_probes_agree_within_two_percent(self):
        for ours, passed in ((1.019, True), (0.981, True), (1.021, False), (0.97, False)):
            self.assertEqual(compare.judge_probe("p", "B/s", "m", [{"m": 1.0}], [{"m": ours}]).passed, passed)


class Engine(unittest.TestCase):
    def run_fake(self, script):
        with tempfile.TemporaryDirectory() as folder:
            fake = Path(folder) / "engine"
            fake.write_text(f"#!{sys.executable}\nimport json, os, sys\n"
                            "out = open(os.environ['ASSAY_EVENTS'].removeprefix('file:'), 'a')\n"
                            "emit = lambda **event: print(json.dumps(event), file=out)\n" + script)
            fake.chmod(0o755)
            return compare.run_engine(fake, GPT2.engine_spec(240, "corpus.txt"), Path(folder))

    def test_the_measurement_is_read_from_its_events(self):
        found = self.run_fake(
            "emit(type='hello', parameters=7, trainable_parameters=7)\n"
            "emit(type='steps', first=0, loss=[3.0] * 180)\n"
            "emit(type='steps', first=180, loss=[2.0] * 20 + [1.0] * 40)\n"
            "emit(type='result', metrics=dict(steps_done=240, step_seconds=0.5, samples_per_second=64))\n")
        self.assertEqual(found["checked_loss"], 2.0)
        self.assertEqual((found["steps"], found["parameters"], found["samples_per_second"]), (240, 7, 64))
        self.assertEqual(compare.combined([found], "steps_per_second")["figure"], 2)

    def test_its_error_is_told(self):
        with self.assertRaisesRegex(compare.Failed, "oom: too large"):
            self.run_fake("emit(type='error', kind='oom', message='too large')\nsys.exit(1)\n")
        with self.assertRaisesRegex(compare.Failed, "exit code 3: gone"):
            self.run_fake("print('gone', file=sys.stderr)\nsys.exit(3)\n")

    def test_one_that_cannot_be_started_is_told(self):
        with tempfile.TemporaryDirectory() as folder, self.assertRaises(compare.Failed):
            compare.run_engine(Path(folder) / "none", {}, Path(folder))


class Rounds(unittest.TestCase):
    def test_contestants_take_turns_and_a_failure_stops_nobody_else(self):
        turns = []
        comparison = compare.Comparison("engine", Path("."), SimpleNamespace(quick=False, steps=None))
        comparison.train_engine = lambda workload, name: turns.append(name) or {"tokens_per_second": 9, **measured(9)}

        def peer(workload, name):
            turns.append(name)
            if name == "torch.compile":
                raise compare.Failed("no compiler")
            return {"tokens_per_second": 4 + len(turns), **measured(0)}

        comparison.train_peer = peer
        rows = comparison.compare(GPT2)
        self.assertEqual(turns, ["eager SDPA", "engine", "torch.compile", "eager SDPA", "engine"])
        self.assertEqual([row.verdict for row in rows], ["ahead", "Python failed: no compiler"])
        self.assertEqual((rows[0].python, rows[0].ours), (6.5, 9))
        self.assertIn("Python failed", compare.table(rows))


class Settings(unittest.TestCase):
    def test_the_checked_loss_is_that_of_the_first_two_hundred_steps(self):
        self.assertEqual(checked_loss(list(range(1000))), sum(range(180, 200)) / 20)
        self.assertEqual(checked_loss(list(range(100))), sum(range(80, 100)) / 20)
        self.assertIsNone(checked_loss([]))

    def test_specs_are_json_without_validation_data(self):
        for workload in WORKLOADS:
            spec = json.loads(json.dumps(workload.engine_spec(10, "corpus.txt", "start.safetensors")))
            self.assertEqual(spec["dataset"]["validation"], 0)
            self.assertEqual(spec["model"]["weights"], "start.safetensors")
            self.assertNotIn("weights", workload.spec["model"])

    def test_wrong_arguments_are_refused(self):
        for arguments in (["--only", "gpt3"], ["--steps", "2"]):
            done = subprocess.run([sys.executable, str(compare.FOLDER / "compare.py"), *arguments], capture_output=True)
            self.assertEqual(done.returncode, 2)


if __name__ == "__main__":
    unittest.main()
