"""python3 -m unittest discover -s bench/engine -p '*_test.py'"""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import compare
import learning
from workloads import Learning, WORKLOADS, learning_rate, workload_named

GPT2 = workload_named("gpt2")


ALIKE = [learning.Finding("loss at 50", 0.001, -0.002, 0.004, 0.01, "alike")]
LATER = [*ALIKE, learning.Finding("steps to 3.6", 0.5, 0.3, 0.7, 0.25, "differs")]
UNSURE = [*ALIKE, learning.Finding("loss at 300", 0.0, -0.02, 0.02, 0.01, "cannot tell")]


def options(**given):
    return SimpleNamespace(**{"quick": False, "steps": None, "part": None, "rounds": 2, "check": None, "engine_changes": {},
                              **given})


def measured(figure, parameters=10):
    return {"figure": figure, "parameters": parameters, "trainable_parameters": parameters}


class Verdict(unittest.TestCase):
    def verdict(self, peer, ours, variant="eager SDPA", workload=GPT2, findings=ALIKE):
        row = compare.judge(workload, variant, peer, ours, findings)
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
                         ("too few seeds to say: does not count", False))
        self.assertEqual(self.verdict(measured(100), measured(900), findings="Python failed"),
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
        self.assertEqual(found["losses"], [3.0] * 180 + [2.0] * 20 + [1.0] * 40)
        self.assertEqual((found["steps"], found["parameters"], found["samples_per_second"]), (240, 7, 64))
        self.assertEqual(compare.combined([found], "steps_per_second")["figure"], 2)

    def test_the_loss_scale_is_told(self):
        found = self.run_fake(
            "emit(type='hello', parameters=7, trainable_parameters=7)\n"
            "emit(type='result', metrics=dict(steps_done=240, step_seconds=0.5, loss_scale=32768.0, skipped_steps=1))\n")
        self.assertEqual((found["loss_scale"], found["skipped_steps"]), (32768, 1))
        self.assertEqual(compare.summary(found), "500 ms a step, loss scale 32768")

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
        comparison = compare.Comparison("engine", Path("."), options())
        comparison.train_engine = lambda workload, name: turns.append(name) or {"tokens_per_second": 9, **measured(9)}

        def peer(workload, name):
            turns.append(name)
            if name == "torch.compile":
                raise compare.Failed("no compiler")
            return {"tokens_per_second": 4 + len(turns), **measured(0)}

        comparison.train_peer = peer
        comparison.compare_learning = lambda workload: ALIKE
        rows = comparison.compare(GPT2)
        self.assertEqual(turns, ["eager SDPA", "engine", "torch.compile", "eager SDPA", "engine"])
        self.assertEqual([row.verdict for row in rows], ["ahead", "Python failed: no compiler"])
        self.assertEqual((rows[0].python, rows[0].ours), (6.5, 9))
        self.assertIn("Python failed", compare.table(rows))


class Starts(unittest.TestCase):
    """The engine follows Python seed by seed; both are scripts here."""

    def curves(self, peer_script, **given):
        with tempfile.TemporaryDirectory() as folder:
            peer = Path(folder) / "peer.py"
            peer.write_text("import json, sys\nfrom pathlib import Path\n"
                            "folder = Path(sys.argv[sys.argv.index('--starts') + 1])\n" + peer_script)
            comparison = compare.Comparison("engine", Path(folder), options(part="learning", **given))
            specs = []
            with mock.patch.object(compare, "FOLDER", Path(folder)), \
                    mock.patch.object(compare, "run_engine", lambda _, spec, __: specs.append(spec) or
                                      {"losses": [spec["seed"] * 1.0]}):
                return comparison.curves_of(workload_named("resnet50"), Learning(4, (4,))), specs

    def test_every_seed_starts_from_the_peers_weights(self):
        (peers, ours), specs = self.curves(
            "for seed in range(1, 6):\n"
            "    (folder / f'resnet50-{seed}.safetensors').touch()\n"
            "    (folder / f'resnet50-{seed}.index.json').touch()\n"
            "print(json.dumps({'curves': {seed: [seed + 0.5] for seed in range(1, 6)}}))\n")
        self.assertEqual(ours, {seed: [seed] for seed in range(1, 6)})
        self.assertEqual(peers, {seed: [seed + 0.5] for seed in range(1, 6)})
        self.assertEqual([Path(spec["model"]["weights"]).name for spec in specs],
                         [f"resnet50-{seed}.index.json" for seed in range(1, 6)])

    def test_a_change_of_our_side_alone_is_not_the_peers(self):
        _, specs = self.curves(
            "assert 'fp32' not in ' '.join(sys.argv)\n"
            "for seed in range(1, 6):\n"
            "    (folder / f'resnet50-{seed}.safetensors').touch()\n"
            "    (folder / f'resnet50-{seed}.index.json').touch()\n"
            "print(json.dumps({'curves': {}}))\n", engine_changes={"precision": "fp32"})
        self.assertEqual({spec["precision"] for spec in specs}, {"fp32"})

    def test_a_peer_that_fails_is_told_at_once(self):
        with self.assertRaisesRegex(compare.Failed, "no such model"):
            self.curves("sys.exit('no such model')\n")


class Settings(unittest.TestCase):
    def test_a_check_may_change_settings_of_the_model_one_by_one(self):
        changed = GPT2.changed({"model": {"layers": 2}, "batch_size": 4})
        self.assertEqual(changed.spec["model"], {**GPT2.spec["model"], "layers": 2})
        self.assertEqual((changed.spec["batch_size"], GPT2.spec["batch_size"]), (4, 32))

    def test_everything_is_compared_with_eager_and_compiled_code(self):
        for workload in WORKLOADS:
            self.assertIn("eager", workload.variants[0], workload.name)
            self.assertIn("torch.compile", workload.variants, workload.name)

    def test_every_way_of_mixing_precision_that_has_a_peer_is_compared(self):
        compared = {workload.spec["precision"] for workload in WORKLOADS}
        self.assertLessEqual({"fp32", "bf16", "bf16_all", "fp16"}, compared)

    def test_the_learning_rate_rises_as_the_engines_does(self):  # pinned in engine/optim/optim_test.cpp
        spec = {"learning_rate": 1.0, "warmup_steps": 10}
        self.assertEqual([learning_rate(spec, step) for step in (0, 4, 9, 10, 500)], [0.1, 0.5, 1.0, 1.0, 1.0])
        self.assertEqual(learning_rate({"learning_rate": 0.5}, 0), 0.5)

    def test_there_are_seeds_enough(self):
        for workload in WORKLOADS:
            self.assertTrue(workload.learning, workload.name)
            for check in workload.learning:
                self.assertGreaterEqual(len(set(check.seeds)), 5, workload.name)
            self.assertIn(workload.learning_variant or workload.variants[0], workload.variants)

    def test_specs_are_json_without_validation_data(self):
        for workload in WORKLOADS:
            spec = json.loads(json.dumps(workload.engine_spec(10, "corpus.txt", "start.safetensors")))
            self.assertEqual(spec["dataset"]["validation"], 0)
            self.assertEqual(spec["model"]["weights"], "start.safetensors")
            self.assertNotIn("weights", workload.spec["model"])

    def test_wrong_arguments_are_refused(self):
        for arguments in (["--only", "gpt3"], ["--steps", "2"], ["--check", "none", "--part", "learning"], ["--check", "small"]):
            done = subprocess.run([sys.executable, str(compare.FOLDER / "compare.py"), *arguments], capture_output=True)
            self.assertEqual(done.returncode, 2)


if __name__ == "__main__":
    unittest.main()
