"""python3 -m unittest discover -s bench/engine -p '*_test.py'"""

import json
import sys
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import compare
import gradients
import peer

TENSORS = [f"h.{i}" for i in range(10)]


def errors(bf16=1.0, bf16_all=1.5, fp32=0.001, **other):
    """Times autocast's, the same for all tensors, or for those named."""
    found = {"autocast": {name: 0.004 * (i + 1) for i, name in enumerate(TENSORS)}}
    for precision, factor in (("bf16", bf16), ("bf16_all", bf16_all), ("fp32", fp32)):
        found[precision] = {name: factor * error for name, error in found["autocast"].items()}
    for name, factor in other.items():
        found["bf16"][name.replace("_", ".")] *= factor
    return found


class Verdict(unittest.TestCase):
    def verdict(self, found):
        verdict, reasons, passed = gradients.judge(found)
        return verdict, passed, reasons

    def test_errors_as_large_as_autocasts_pass(self):
        for factor in (0.91, 1.0):
            self.assertEqual(self.verdict(errors(bf16=factor))[:2], ("as autocast", True))

    def test_one_tensor_that_is_further_off_is_named(self):
        verdict, passed, reasons = self.verdict(errors(h_3=1.2))
        self.assertEqual((verdict, passed), ("further off than autocast", False))
        self.assertEqual(reasons[0], "h.3: 1.20 times as far off as autocast")

    def test_most_tensors_a_little_further_off_do_not_pass(self):
        found = errors(bf16=1.02)
        for few in (TENSORS[:1], TENSORS[:2]):
            for name in few:
                found["bf16"][name] *= 0.9
            verdict, passed, reasons = self.verdict(found)
            # A coin falls nine times in ten on one side in 1 % of cases, eight times in 5 %.
            self.assertEqual(passed, len(few) == 2, reasons)
        self.assertEqual(reasons, ["8 of 10 tensors are further off than with autocast"])

    def test_being_nearer_passes_and_is_told(self):
        verdict, passed, reasons = self.verdict(errors(bf16=0.99))
        self.assertEqual((verdict, passed), ("as autocast", True))
        self.assertEqual(reasons, ["0 of 10 tensors are further off than with autocast"])

    def test_where_the_control_passes_nothing_is_proved(self):
        self.assertEqual(self.verdict(errors(bf16_all=1.0))[:2], ("notices nothing", False))
        self.assertEqual(self.verdict(errors(bf16_all=1.02))[:2], ("as autocast", True))

    def test_another_batch_shows_in_fp32(self):
        self.assertEqual(self.verdict(errors(fp32=0.5))[:2], ("other model or batch", False))

    def test_missing_tensors_and_nan_cannot_be_compared(self):
        for wrong in (None, float("nan"), float("inf")):
            found = errors()
            found["bf16"]["h.3"] = wrong
            verdict, passed, reasons = self.verdict(found)
            self.assertEqual((verdict, passed), ("cannot be compared", False))
            self.assertIn("h.3", reasons[0])

    def test_the_table_begins_with_the_worst(self):
        lines = gradients.table(errors(h_3=1.2)).splitlines()
        self.assertTrue(lines[1].startswith("h.3"), lines[1])
        self.assertTrue(lines[-1].startswith("median of 10"))


class Names(unittest.TestCase):
    def test_the_engine_goes_without_the_models_name(self):
        self.assertIn("wte.weight", peer.engine_names("transformer.wte.weight"))
        self.assertIn("lm_head.weight", peer.engine_names("lm_head.weight"))


class Runs(unittest.TestCase):
    def test_every_precision_starts_from_the_peers_weights(self):
        asked = []

        def run_peer(*arguments):
            asked.append(arguments)
            return {"errors": errors()}

        with tempfile.TemporaryDirectory() as folder, mock.patch.object(compare, "run_peer", run_peer):
            fake = Path(folder) / "engine"
            fake.write_text(f"#!{sys.executable}\nimport json, sys\n"
                            "spec = json.load(open(sys.argv[sys.argv.index('--spec') + 1]))\n"
                            "open(sys.argv[sys.argv.index('--gradients') + 1], 'w').write(json.dumps(spec))\n")
            fake.chmod(0o755)
            changes = {"model": {"layers": 2, "vocabulary": 256}}
            options = SimpleNamespace(device="cpu", changes=changes)
            self.assertEqual(gradients.measure(fake, options, Path(folder)), errors())
            specs = [json.loads((Path(folder) / f"{name}.safetensors").read_text()) for name in gradients.PRECISIONS]
        self.assertEqual([spec["precision"] for spec in specs], ["fp32", "bf16", "bf16_all"])
        for spec in specs:
            self.assertEqual((spec["device"], spec["model"]["layers"], spec["steps"]), ("cpu", 2, 1))
            self.assertTrue(spec["model"]["weights"].endswith("gpt2-1.index.json"))
        self.assertEqual(json.loads(asked[0][asked[0].index("--changes") + 1]), changes)
        self.assertEqual(asked[1][-1], "autocast,fp32,bf16,bf16_all")


if __name__ == "__main__":
    unittest.main()
