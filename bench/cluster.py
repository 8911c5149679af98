#!/usr/bin/env python3
"""What a leader costs under the load of a whole cluster, and how soon a value is on a screen.

Starts `assay serve` and `assay fleet-sim` (nodes that replay what was recorded on an H200), takes the leader's CPU time
and memory from /proc, follows the live stream as a dashboard would, and asks the questions of a dashboard meanwhile.

  bench/cluster.py [--nodes 1000] [--gpus 10] [--metrics 31] [--seconds 600] [--assay PATH] [--tls]

10 GPUs x 31 metrics that have a value every second, and those of the host, are the values of 8 GPUs x 40 metrics.
"""
import argparse
import json
import os
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request

GOAL_CORES, GOAL_MB, GOAL_LATENCY_MS = 1.0, 1000, 500
LIVE_NODES = 20  # a screen's worth


def cpu_seconds(pid):
    fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def status_kib(pid, name):
    for line in open(f"/proc/{pid}/status"):
        if line.startswith(name):
            return int(line.split()[1])
    return 0


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else float("nan")


class Leader:
    def __init__(self, assay, data, tls):
        self.assay, self.data = assay, data
        self.log = open(os.path.join(data, "leader.log"), "w")
        command = [assay, "serve", "--listen", "127.0.0.1:0", "--data", data] + (["--tls"] if tls else [])
        self.process = subprocess.Popen(command, stderr=self.log)
        endpoint = os.path.join(data, "leader", "endpoint.json")
        for _ in range(200):
            if os.path.exists(endpoint):
                break
            time.sleep(0.05)
        self.url = json.load(open(endpoint))["url"]
        self.token = open(os.path.join(data, "leader", "owner.token")).read().strip()
        self.context = ssl._create_unverified_context()  # loopback, and our own child
        self.join = os.path.join(data, "join.token")
        subprocess.run([assay, "token", "create", "--role", "agent", "--out", self.join, "--data", data, "--quiet"], check=True)

    def open(self, path):
        request = urllib.request.Request(self.url + path, headers={"Authorization": "Bearer " + self.token})
        return urllib.request.urlopen(request, context=self.context)

    def get(self, path):
        with self.open(path) as response:
            return json.load(response)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)


class LiveClient(threading.Thread):
    """Takes the age of every value when it arrives. Values of the first seconds are not counted: everybody joins then."""

    def __init__(self, leader):
        super().__init__(daemon=True)
        self.leader, self.ages, self.counting = leader, [], False

    def run(self):
        nodes = ",".join(f"sim{i + 1:03}" for i in range(LIVE_NODES)) + "," + ",".join(f"sim{i + 1:04}" for i in range(LIVE_NODES))
        try:
            with self.leader.open(f"/api/v1/live?metrics=gpu.power_w,gpu.util,gpu.temperature_c&nodes={nodes}") as stream:
                for line in stream:
                    if not line.startswith(b"data:") or not self.counting:
                        continue
                    now = time.time() * 1000
                    self.ages += [now - value[1] for value in json.loads(line[5:])["values"]]
        except OSError:
            pass


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--gpus", type=int, default=10)
    parser.add_argument("--metrics", type=int, default=31)
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--assay", default=os.path.join(os.path.dirname(__file__), "../build/release/bin/assay"))
    parser.add_argument("--tls", action="store_true")
    options = parser.parse_args()
    assay = os.path.abspath(options.assay)
    data = tempfile.mkdtemp(prefix="assay-bench-")
    leader = Leader(assay, data, options.tls)
    live = LiveClient(leader)
    live.start()
    fleet = subprocess.Popen(
        [assay, "fleet-sim", str(options.nodes), "--gpus", str(options.gpus), "--metrics", str(options.metrics), "--leader", leader.url,
         "--token-file", leader.join, "--duration", f"{options.seconds}s", "--json"], stdout=subprocess.PIPE)
    time.sleep(min(20, options.seconds / 3))  # joining and naming series is done
    live.counting = True
    pid = leader.process.pid
    start, cpu, samples = time.monotonic(), cpu_seconds(pid), leader.get("/api/v1/status")["samples"]
    questions = []
    while fleet.poll() is None and time.monotonic() - start < options.seconds - min(25, options.seconds / 3):
        time.sleep(5)
        asked = time.monotonic()
        leader.get("/api/v1/query?q=" + urllib.parse.quote("gpu.power_w node=sim0001 last=1h"))
        questions.append((time.monotonic() - asked) * 1000)
    passed, used = time.monotonic() - start, cpu_seconds(pid) - cpu
    stored = leader.get("/api/v1/status")["samples"] - samples
    live.counting = False
    output, _ = fleet.communicate()
    summary = json.loads(output)
    peak = status_kib(pid, "VmHWM") * 1024 / 1e6
    status = leader.get("/api/v1/status")
    code = leader.stop()

    rate, cores, p99 = stored / passed, used / passed, percentile(live.ages, 0.99)
    print(f"leader: {options.nodes} nodes, {status['series']} series, {passed:.0f} s, {'TLS' if options.tls else 'plain HTTP'}")
    print(f"  samples stored          {rate:12,.0f} /s")
    print(f"  CPU                     {100 * cores:12.1f} % of a core, {1e9 * used / max(stored, 1):.0f} ns per sample   goal {100 * GOAL_CORES:.0f} %")
    print(f"  memory, highest         {peak:12.0f} MB   goal {GOAL_MB} MB")
    print(f"  value to live client    {percentile(live.ages, 0.5):12.0f} ms median, {p99:.0f} ms p99 of {len(live.ages):,}   goal p99 {GOAL_LATENCY_MS} ms")
    print(f"  query meanwhile         {percentile(questions, 0.5):12.1f} ms median, one node's GPUs, an hour")
    print(f"  fleet                   {json.dumps(summary.get('result', summary.get('error')))}")
    print(f"  leader                  exit code {code}, {status['samples_refused']} samples refused, problems: {status['problems']}")
    shutil.rmtree(data)
    good = summary.get("ok") and cores <= GOAL_CORES and peak <= GOAL_MB and p99 <= GOAL_LATENCY_MS and not status["problems"]
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
