import { expect, test } from "vitest";
import type { AlertView, RunRow } from "../api/types";
import { markKinds, markOfAlert, markOfRun, within } from "./marks";

const run = (more: Partial<RunRow>) => ({ id: "r", name: "night", state: "ended", created_ns: 0, started_ns: 60e9, duration_ns: 30e9, ...more }) as RunRow;

test("a run is marked where it ran, not when it was asked for", () => {
  expect(markOfRun(run({}), 1e6)).toEqual({ x: 60e3, to: 90e3, label: "run night", tone: "info" });
  expect(markOfRun(run({ state: "running", duration_ns: 0 }), 1e6)).toMatchObject({ x: 60e3, to: 1e6 });
  expect(markOfRun(run({ state: "queued", started_ns: 0 }), 1e6)).toBeNull();
});

test("several kinds may be marked at once", () => {
  expect(markKinds("")).toEqual(["alerts"]);
  expect(markKinds("runs,events")).toEqual(["events", "runs"]);
  expect(markKinds("none")).toEqual([]);
});

test("what began before a time and reaches into it counts", () => {
  const alert = (since: number, until?: number) => markOfAlert({ rule: "hot", node: "a", severity: "warning", since_ns: since * 1e6, ...(until === undefined ? {} : { resolved_at_ns: until * 1e6 }) } as AlertView, 130);
  expect(within([alert(95, 95), alert(10, 50), alert(1, 5), alert(20), alert(120)], { from: 40, to: 100 }).map(({ x }) => x)).toEqual([10, 20, 95]);
});
