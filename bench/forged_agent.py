#!/usr/bin/env python3
"""What one bad node, and people who look, cost everybody else.

Starts `assay serve`, honest nodes (`assay fleet-sim`), and one forged agent with a good key that speaks the documented protocol
(docs/reference/agent-protocol.md) and sends as fast as it is let, on several connections: late samples, each into a minute of its own;
floods of events of made-up times; ever new series; times of a clock that jumps; hellos without end; bytes that are no batches; large
requests whose bodies never come, also with the token of a viewer and of a user, each under many spellings of its name; 5,000 connections
that say nothing and 3,000 that say a byte a second, from addresses of their own. Meanwhile viewers
ask for events that do not exist and for all series. The honest nodes must never be called silent, their acknowledgements must come, and
the leader must stay small.

  bench/forged_agent.py [--nodes 20] [--seconds 60] [--viewers 16] [--events 0] [--only ATTACK] [--assay PATH]

--events N: that many events are in the store before it begins (1500000 takes a minute).
"""
import argparse
import http.client
import json
import os
import random
import resource
import secrets
import shutil
import socket
import sqlite3
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cluster import Leader, percentile, status_kib  # noqa: E402

GOAL_P99_MS, GOAL_MB = 1000, 512
SECOND = 1_000_000_000


def varint(number):
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def integer(number):
    return varint(number << 1 if number >= 0 else (-number << 1) - 1)


def text(words):
    raw = words.encode()
    return varint(len(raw)) + raw


def raw_value(value):
    return varint(4) + struct.pack("<d", value)  # no scale: eight bytes as they are


def batch(stream, sequence, names=(), first_name=0, samples=(), events=()):
    """`names`: (metric, labels); `samples`: (number, time, value), each at a time of its own; `events`: (time, kind, message)."""
    out = bytearray(b"\x01" + text(stream) + varint(sequence) + varint(first_name) + varint(len(names)))
    for metric, labels in names:
        out += text(metric) + text("count") + varint(len(labels))
        for label, value in labels.items():
            out += text(label) + text(value)
    out += varint(len(samples))
    before = 0
    for number, at, value in samples:
        out += integer(at - before) + varint(1) + integer(number) + raw_value(value)
        before = at
    out += varint(len(events))
    for at, kind, message in events:
        out += integer(at) + text(kind) + text("GPU-0") + text(message) + varint(0)
    return bytes(out + b"\x00")


class ForgedAgent:
    """One node's key, and whatever is sent with it."""

    def __init__(self, leader, name):
        self.name, self.key = name, "assay_" + secrets.token_hex(32)
        self.place = urllib.parse.urlparse(leader.url)
        secret = open(leader.join).read().strip().removeprefix("assay-join:").split("@")[0]
        self.answers, self.lock = {}, threading.Lock()
        status, answer = self.post("/agent/v1/join", json.dumps({"node": name, "key": self.key}).encode(), secret)
        assert status == 200, answer

    def connect(self):
        return http.client.HTTPConnection(self.place.hostname, self.place.port, timeout=60)

    def post(self, path, body, secret=None, connection=None, ahead_ns=0):
        connection = connection or self.connect()
        connection.request("POST", path, body, {"Authorization": "Bearer " + (secret or self.key), "Assay-Node": self.name,
                                                "Assay-Sent": str(time.time_ns() + ahead_ns)})
        response = connection.getresponse()
        answer = response.read()
        with self.lock:
            self.answers[response.status] = self.answers.get(response.status, 0) + 1
        return response.status, answer

    def hello(self, stream, facts=None):
        self.post("/agent/v1/hello", json.dumps({"schema": 1, "stream": stream, "assay": "0", "period_ms": 1000, "simulated": False,
                                                 "facts": facts or {}, "allow": [], "sources": []}).encode())


def late_samples(stream, sequence):
    now, names = time.time_ns(), [("forged.late", {"n": str(i)}) for i in range(8)]
    at = sorted(now - random.randrange(14 * 86400) * SECOND for _ in range(4000))
    return batch(stream, sequence, names, samples=[(i % 8, t, i) for i, t in enumerate(at)]), 0


def event_flood(stream, sequence):
    now = time.time_ns()
    return batch(stream, sequence, events=[(now - random.randrange(7 * 86400) * SECOND, "xid", secrets.token_hex(200))
                                           for _ in range(4000)]), 0


def new_series(stream, sequence):
    now, names = time.time_ns(), [("forged." + secrets.token_hex(8), {"n": secrets.token_hex(50)}) for _ in range(5000)]
    return batch(stream, sequence, names, samples=[(i, now + i, i) for i in range(len(names))]), 0


def lies_about_time(stream, sequence):
    ahead = random.choice([0, 2, 50, -300]) * 3600 * SECOND
    return batch(stream, sequence, [("forged.clock", {})], samples=[(0, time.time_ns() + ahead, 1.0)]), ahead


def no_batch(stream, sequence):
    return secrets.token_bytes(4_000_000), 0


BATCHES = [late_samples, event_flood, new_series, lies_about_time, no_batch]


def attack(agent, make, until, mistakes):
    """Each under a stream of its own, a new one for each request: names are said every time."""
    connection = agent.connect()
    while time.monotonic() < until:
        stream = secrets.token_hex(8)
        try:
            agent.hello(stream)
            body, ahead = make(stream, 1)
            agent.post("/agent/v1/batch", varint(len(body)) + body, connection=connection, ahead_ns=ahead)
        except (OSError, http.client.HTTPException) as problem:
            mistakes.append(str(problem))
            connection = agent.connect()


def hello_flood(agent, leader, until, mistakes):
    """Ever new streams and facts: each would be written down."""
    while time.monotonic() < until:
        try:
            agent.hello(secrets.token_hex(8), {"boot": secrets.token_hex(8)})
        except (OSError, http.client.HTTPException) as problem:
            mistakes.append(str(problem))


def spelled(secret):
    """The same token, so that only somebody who reads it as the leader does knows whose it is."""
    scheme = "".join(random.choice([letter.lower(), letter.upper()]) for letter in "bearer")
    return scheme + " " * random.randrange(1, 20) + secret


def token_of(leader, role):
    file = os.path.join(leader.data, f"{role}-{secrets.token_hex(4)}.token")
    subprocess.run([leader.assay, "token", "create", "--role", role, "--out", file, "--data", leader.data, "--quiet"], check=True)
    with open(file) as opened:
        return opened.read().strip()


def held_bodies(agent, leader, until, mistakes):
    """As many as anybody may have, and more, begun anew whenever the leader gives up waiting for them."""
    people = [token_of(leader, role) for role in ("viewer", "user")]
    wanted = [("/api/v1/runs/x/frames", secret, "", 17 << 20) for secret in people]
    wanted += [(path, agent.key, f"Assay-Node: {agent.name}\r\n", size) for path, size in
               (("/agent/v1/jobs/x/frames", 17 << 20), ("/agent/v1/commands/x", 8 << 20), ("/agent/v1/batch", 4 << 20))]
    while time.monotonic() < until:
        held = []
        for path, secret, fields, size in wanted * 60:
            try:
                connection = socket.create_connection((agent.place.hostname, agent.place.port), timeout=10)
                connection.sendall(f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: {spelled(secret)}\r\n{fields}"
                                   f"Content-Length: {size}\r\n\r\n".encode())
                held.append(connection)
            except OSError as problem:
                mistakes.append(str(problem))
        time.sleep(min(5, max(0, until - time.monotonic())))
        for connection in held:
            connection.close()


def many_connections(agent, leader, until, mistakes):
    """Those that the leader ends are opened anew. Half of what ATTACKS ask for, since each is made twice."""
    idle, slow = [None] * 2500, [None] * 1500
    address = f"127.0.0.{random.randrange(2, 250)}"

    def renew(connections, say):
        for at, connection in enumerate(connections):
            try:
                if connection is None:
                    connection = socket.create_connection((agent.place.hostname, agent.place.port), timeout=10, source_address=(address, 0))
                    connection.setblocking(False)
                    connections[at] = connection
                if say:
                    connection.send(b"G")
                elif connection.recv(1000) == b"":
                    raise ConnectionResetError
            except BlockingIOError:
                pass  # it says nothing, and nor do we
            except OSError:
                connections[at] = None

    while time.monotonic() < until:
        renew(idle, False)
        renew(slow, True)
        time.sleep(1)
    for connection in idle + slow:
        if connection is not None:
            connection.close()


def sends(make):
    def flood(agent, leader, until, mistakes):
        attack(agent, make, until, mistakes)
    flood.__name__ = make.__name__
    return flood


ATTACKS = [sends(make) for make in BATCHES] + [hello_flood, held_bodies, many_connections]


def look(leader, until, pages, mistakes):
    """A viewer that follows every cursor to its end, over and over."""
    questions = ["/api/v1/events?kind=nosuch&node=forged", "/api/v1/events?about=nosuch", "/api/v1/series", "/api/v1/alerts?all=true"]
    while time.monotonic() < until:
        question, cursor = random.choice(questions), ""
        while time.monotonic() < until:
            try:
                answer = leader.get(question + cursor)
            except OSError as problem:
                mistakes.append(f"{question}: {problem}")
                break
            pages.append(1)
            if not answer.get("next"):
                break
            name = "after" if question.endswith("series") else "before"
            cursor = ("&" if "?" in question else "?") + name + "=" + urllib.parse.quote(str(answer["next"]))


def fill_events(data, count):
    """As a leader of some years would have them."""
    database = sqlite3.connect(os.path.join(data, "leader", "cluster.db"))
    now = time.time_ns()
    rows = ((now - i * 10 * SECOND, f"old{i % 50:02}", "inventory", "", f"event {i}", "{}") for i in range(count))
    database.executemany("INSERT OR IGNORE INTO event (time, node, kind, about, message, value_list) VALUES (?, ?, ?, ?, ?, ?)", rows)
    database.execute("INSERT OR REPLACE INTO event_count SELECT node, count(*) FROM event GROUP BY node")
    database.commit()
    database.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=20)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--viewers", type=int, default=16)
    parser.add_argument("--events", type=int, default=0)
    parser.add_argument("--only", choices=[make.__name__ for make in ATTACKS], help="this attack alone")
    parser.add_argument("--assay", default=os.path.join(os.path.dirname(__file__), "../build/release/bin/assay"))
    options = parser.parse_args()
    assay = os.path.abspath(options.assay)
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    data = tempfile.mkdtemp(prefix="assay-bench-")
    leader = Leader(assay, data, False)
    fill_events(data, options.events)
    fleet = subprocess.Popen([assay, "fleet-sim", str(options.nodes), "--leader", leader.url, "--token-file", leader.join, "--duration",
                              f"{options.seconds}s", "--json"], stdout=subprocess.PIPE)
    time.sleep(5)  # everybody has joined
    agent, mistakes, pages = ForgedAgent(leader, "forged"), [], []
    until = time.monotonic() + options.seconds - 10
    chosen = [make for make in ATTACKS * 2 if options.only in (None, make.__name__)]
    threads = [threading.Thread(target=make, args=(agent, leader, until, mistakes)) for make in chosen]
    threads += [threading.Thread(target=look, args=(leader, until, pages, mistakes)) for _ in range(options.viewers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    output, _ = fleet.communicate()
    summary = json.loads(output)
    peak = status_kib(leader.process.pid, "VmHWM") * 1024 / 1e6
    status = leader.get("/api/v1/status")
    silent = [event for event in leader.get("/api/v1/events?kind=node_offline&limit=1000")["events"] if event["node"] != "forged"]
    # The fleet says goodbye by falling silent: what counts is what was said while it was there.
    end = time.time() - 5
    silent = [event for event in silent if event["time"] < time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(end))]
    stopping = time.monotonic()
    code = leader.stop()
    stopping = time.monotonic() - stopping

    result = summary.get("result") or {}
    p99 = result.get("batch_latency_ms", {}).get("p99", float("nan"))
    print(f"one forged agent and {options.viewers} viewers beside {options.nodes} honest nodes, {options.seconds} s, "
          f"{options.events:,} events from before")
    print(f"  acknowledgements        {p99:12.0f} ms p99   goal {GOAL_P99_MS} ms")
    print(f"  honest nodes silent     {len(silent):12} times   goal 0")
    print(f"  memory, highest         {peak:12.0f} MB   goal {GOAL_MB} MB")
    print(f"  forged requests         {sum(agent.answers.values()):12,} by answer: {json.dumps(agent.answers)}")
    print(f"  pages for viewers       {len(pages):12,}, {len(mistakes)} requests failed {sorted(set(mistakes))[:3]}")
    print(f"  the leader ended        {stopping:12.1f} s after it was told to, exit code {code}")
    for problem in status["problems"]:
        print(f"  {problem['level']:<8} {problem['text']}")
    shutil.rmtree(data)
    named = any(problem["kind"] == "refused" and problem["about"] == "forged" for problem in status["problems"])
    good = summary.get("ok") and p99 < GOAL_P99_MS and not silent and peak < GOAL_MB and named and code == 0
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
