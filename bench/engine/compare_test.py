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
import peer
from workloads import Learning, WORKLOADS, learning_rate, workload_named

GPT2 = workload_named("gpt2")


def options(**given):
    return SimpleNamespace(**{"quick": False, "steps": None, "part": None, "rounds": 2, "check": None, "seeds": None,
                              "engine_changes": {}, **given})


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
            "emit(type='steps', first=0, loss=[3.0] * 180, step_seconds=[9.0] * 10 + [0.25] * 170)\n"
            "emit(type='steps', first=180, loss=[2.0] * 20 + [1.0] * 40, step_seconds=[0.25] * 59 + [23.25])\n"
            "emit(type='result', metrics=dict(steps_done=240, step_seconds=0.25))\n")
        self.assertEqual(found["losses"], [3.0] * 180 + [2.0] * 20 + [1.0] * 40)
        self.assertEqual((found["steps"], found["parameters"]), (240, 7))
        self.assertAlmostEqual(found["step_seconds"], 0.35, msg="all steps but the first ten, as Python's are counted")
        self.assertEqual(found["steady_step_seconds"], 0.25)

    def test_the_loss_scale_is_told(self):
        found = self.run_fake(
            "emit(type='hello', parameters=7, trainable_parameters=7)\n"
            "emit(type='steps', first=0, loss=[3.0] * 20, step_seconds=[0.5] * 20)\n"
            "emit(type='result', metrics=dict(steps_done=20, step_seconds=0.5, loss_scale=32768.0, skipped_steps=1))\n")
        self.assertEqual((found["loss_scale"], found["skipped_steps"]), (32768, 1))
        self.assertEqual(compare.summary(found), "500 ms a step, loss scale 32768")

    def test_its_error_is_told(self):
        with self.assertRaisesRegex(compare.Failed, "oom: too large"):
            self.run_fake("emit(type='error', kind='oom', message='too large')\nsys.exit(1)\n")
        with self.assertRaisesRegex(compare.Failed, "exit code 3: gone"):
            self.run_fake("print('gone', file=sys.stderr)\nsys.exit(3)\n")
        with self.assertRaisesRegex(compare.Failed, "no steps"):
            self.run_fake("emit(type='result', metrics=dict(steps_done=0))\n")

    def test_one_that_cannot_be_started_is_told(self):
        with tempfile.TemporaryDirectory() as folder, self.assertRaises(compare.Failed):
            compare.run_engine(Path(folder) / "none", {}, Path(folder))


class Rounds(unittest.TestCase):
    def test_contestants_take_turns_and_a_failure_stops_nobody_else(self):
        turns = []
        comparison = compare.Comparison("engine", Path("."), options(part="speed"))
        comparison.train_engine = lambda workload, name: turns.append(name) or {"step_seconds": 0.5, "losses": [1.0]}

        def train_peer(workload, name):
            turns.append(name)
            if name == "torch.compile":
                raise compare.Failed("no compiler")
            return {"step_seconds": 1.0}

        comparison.train_peer = train_peer
        comparison.compare(GPT2)
        self.assertEqual(turns, ["eager SDPA", "engine", "torch.compile", "eager SDPA", "engine"])
        self.assertEqual([one["side"] for one in comparison.runs], turns)
        self.assertEqual(comparison.runs[1], {"workload": "gpt2", "side": "engine", "round": 1, "step_seconds": 0.5})
        self.assertEqual(comparison.runs[2]["failure"], "no compiler")


class Memory(unittest.TestCase):
    def test_as_many_runs_at_a_time_as_fit(self):
        gigabyte = 1 << 30
        self.assertEqual(compare.runs_at_a_time(5, 100 * gigabyte, 8 * gigabyte), 5)
        self.assertEqual(compare.runs_at_a_time(5, 40 * gigabyte, 8 * gigabyte), 3)
        self.assertEqual(compare.runs_at_a_time(5, 5 * gigabyte, 8 * gigabyte), 1)
        self.assertEqual(compare.runs_at_a_time(5, None, 8 * gigabyte), 1)
        self.assertEqual(compare.runs_at_a_time(5, gigabyte, None), 1)


class Machine(unittest.TestCase):
    HERE = {"transformers": "5.0", "torchvision": "0.26", "safetensors": "0.6"}

    def missing(self, facts, name, learns=True, free=1 << 40):
        with mock.patch.object(peer.shutil, "disk_usage", lambda _: SimpleNamespace(free=free)):
            return peer.what_is_missing(facts, [workload_named(name)], "/tmp", learns)

    def test_a_package_that_is_needed_is_named_before_anything_runs(self):
        for name in ("spiral-mlp", "gpt2", "resnet50", "mistral-lora"):
            self.assertEqual(self.missing(self.HERE, name), [])
        self.assertEqual(self.missing({**self.HERE, "transformers": None}, "resnet50"), [])
        self.assertIn("transformers", self.missing({**self.HERE, "transformers": None}, "gpt2")[0])
        self.assertIn("torchvision", self.missing({**self.HERE, "torchvision": None}, "resnet50")[0])
        self.assertIn("safetensors", self.missing({**self.HERE, "safetensors": None}, "spiral-mlp")[0])
        self.assertEqual(self.missing({**self.HERE, "safetensors": None}, "spiral-mlp", learns=False), [])

    def test_weights_of_7b_need_room(self):
        self.assertIn("17 GB in /tmp, where 9 GB are free", self.missing(self.HERE, "mistral-lora", free=9 * 10**9)[0])
        self.assertEqual(self.missing(self.HERE, "mistral-lora", learns=False, free=0), [])
        self.assertEqual(self.missing(self.HERE, "gpt2", free=9 * 10**9), [])


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
                                      {"losses": [spec["seed"] * 1.0], "gpu_memory_peak_bytes": 1}):
                return comparison.curves_of(workload_named("resnet50"), Learning(4, (4,)), (1, 2, 3, 4, 5)), specs

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

    def test_seeds_can_be_trained_in_parts(self):
        comparison = compare.Comparison("engine", Path("."), options(part="learning", seeds=range(4, 40)))
        trained = []
        comparison.curves_of = lambda workload, check, seeds: trained.append((check.name, seeds)) or ({}, {})
        comparison.compare(GPT2)
        self.assertEqual(trained, [("pairs", [4, 5]), ("warmed-up", [4, 5]), ("small", [4, 5, 6, 7, 8, 9, 10])])
        self.assertEqual([one["check"] for one in comparison.curves], ["pairs", "warmed-up", "small"])

    def test_specs_are_json_without_validation_data(self):
        for workload in WORKLOADS:
            spec = json.loads(json.dumps(workload.engine_spec(10, "corpus.txt", "start.safetensors")))
            self.assertEqual(spec["dataset"]["validation"], 0)
            self.assertEqual(spec["model"]["weights"], "start.safetensors")
            self.assertNotIn("weights", workload.spec["model"])

    def test_wrong_arguments_are_refused(self):
        for arguments in (["--only", "gpt3"], ["--steps", "2"], ["--check", "none", "--part", "learning"], ["--check", "small"],
                          ["--seeds", "1-2"], ["--seeds", "some", "--part", "learning"]):
            done = subprocess.run([sys.executable, str(compare.FOLDER / "compare.py"), *arguments], capture_output=True)
            self.assertEqual(done.returncode, 2)


if __name__ == "__main__":
    unittest.main()
