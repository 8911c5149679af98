"""python3 -m unittest discover -s bench/engine -p '*_test.py'"""

import os
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

import provenance

IDLE, POWER_CAP, SET_CLOCKS, HEAT = "0x0000000000000001", "0x0000000000000004", "0x0000000000000002", "0x0000000000000060"


class Watching(unittest.TestCase):
    def summary(self, *samples):
        watch = provenance.GpuWatch(read=mock.Mock(side_effect=samples))
        for _ in samples:
            watch.sample()
        return watch.summary()

    def test_only_time_at_work_counts(self):
        found = self.summary(["0", "345", "80", IDLE], ["100", "1700", "690", POWER_CAP], ["98", "1800", "650", SET_CLOCKS],
                             ["97", "1750", "660", HEAT], ["99", "1750", "660", "0x0"])
        self.assertEqual(found["samples_at_work"], 4)
        self.assertEqual(found["throttle_share"], 0.5)
        self.assertEqual(found["throttle_share_by_reason"]["power_cap"], 0.25)
        self.assertEqual(found["throttle_share_by_reason"]["sw_thermal"], 0.25)
        self.assertEqual(found["sm_clock_mean_mhz"], 1750)
        self.assertEqual(found["power_mean_w"], 665)

    def test_what_cannot_be_known_is_none(self):
        found = self.summary(None, ["100", "[N/A]", "[N/A]", "[N/A]"], ["100", "[N/A]", "[N/A]", "0x0"])
        self.assertEqual((found["samples_at_work"], found["throttle_share"]), (1, 0))
        self.assertIsNone(found["power_mean_w"])
        self.assertIsNone(self.summary()["throttle_share"])

    def test_its_thread_ends(self):
        with provenance.GpuWatch(read=lambda *_: ["100", "1", "1", "0x0"], period=0.001) as watch:
            while not watch.samples:
                time.sleep(0.001)
        self.assertFalse(watch.thread.is_alive())


class Asking(unittest.TestCase):
    def facts_with(self, script):
        with tempfile.TemporaryDirectory() as folder:
            if script:
                fake = Path(folder) / "nvidia-smi"
                fake.write_text("#!/bin/sh\n" + script)
                fake.chmod(0o755)
            with mock.patch.dict(os.environ, {"PATH": f"{folder}:/usr/bin:/bin" if script else folder}):
                return provenance.facts(), provenance.free_bytes()

    def test_the_gpu_is_asked(self):
        found, free = self.facts_with("case $* in *memory.free*) echo 1024;; "
                                      "*) echo 'NVIDIA H200, GPU-1, 580.1, 700.00, [N/A], 1980, 3201';; esac\n")
        self.assertEqual((found["gpu"], found["driver"], found["power_limit_w"]), ("NVIDIA H200", "580.1", 700))
        self.assertIsNone(found["power_limit_default_w"])
        self.assertEqual(found["sm_clock_max_mhz"], 1980)
        self.assertEqual(free, 1 << 30)

    def test_without_nvidia_smi_nothing_breaks(self):
        for script in (None, "exit 9\n", "echo nonsense\n"):
            found, free = self.facts_with(script)
            self.assertIsNone(found["gpu"])
            self.assertIsNone(free)


if __name__ == "__main__":
    unittest.main()
