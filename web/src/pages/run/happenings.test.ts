import { describe, expect, test } from "vitest";
import type { AlertView, EventView, RunCurve } from "../../api/types";
import { around, happeningsOf, machinesOf, marksOf, throttlings } from "./happenings";

const ns = (seconds: number) => seconds * 1e9;
function throttle(max: (number | null)[], labels: Record<string, string>): RunCurve {
  return { name: "gpu.throttle", labels, unit: "", span: ns(10), begin: max.map((_, i) => ns(100 + 10 * i)), points: max.map(() => 1), finite: max.map(() => 1), min: max, max, sum: max, last: max };
}
const alert = (node: string, about: string, since: number, until?: number) =>
  ({ id: "a", rule: "over_heating", severity: "critical", node, about, what: "It is hot.", since_ns: ns(since), ...(until ? { resolved_at_ns: ns(until) } : {}) }) as AlertView;
const event = (node: string, about: string, second: number) => ({ id: 1, time: new Date(second * 1000).toISOString(), node, about, kind: "xid", message: "79", values: {} }) as EventView;
const machines = machinesOf({ node: "gpu01", gpus: ["GPU-a"], further: [{ node: "gpu02", gpus: ["GPU-b"] }] });
const time = { from: 100e3, to: 200e3 };

describe("clocks that were held down", () => {
  test("are a stretch for each time, and being idle is none", () => {
    const found = throttlings([throttle([1, 0.2, 0, null, 1], { gpu: "GPU-abcdefghijkl", reason: "hw_thermal" }), throttle([1], { reason: "idle" })]);
    expect(found.map(({ at, to, what }) => [at, to, what])).toEqual([[100e3, 120e3, "GPU GPU-abcdefgh: hw thermal"], [140e3, 150e3, "GPU GPU-abcdefgh: hw thermal"]]);
  });
});

describe("what happened during a run", () => {
  test("is what overlaps its time, on its nodes and its GPUs", () => {
    const alerts = [alert("gpu01", "GPU-a", 50, 99), alert("gpu01", "GPU-a", 50, 101), alert("gpu01", "GPU-b", 150), alert("gpu02", "GPU-b", 150), alert("gpu03", "", 150), alert("gpu01", "", 201)];
    const events = [event("gpu01", "", 120), event("gpu01", "GPU-b", 120), event("gpu02", "", 99)];
    expect(happeningsOf(machines, time, alerts, events, []).map(({ at, node, kind }) => [at, node, kind])).toEqual([
      [50e3, "gpu01", "alert: over heating"], [120e3, "gpu01", "xid"], [150e3, "gpu02", "alert: over heating"],
    ]);
  });
  test("happened on its node where its series do not say so", () => {
    const [held] = happeningsOf(machinesOf({ node: "gpu01" }), time, [], [], [throttle([1], { reason: "sw_power_cap" })]);
    expect(held?.node).toBe("gpu01");
    expect(machinesOf(undefined).size).toBe(0);
  });
  test("is marked where it is on the axis, and no earlier than the run", () => {
    const found = happeningsOf(machines, time, [alert("gpu01", "", 50), alert("gpu02", "", 150, 160)], [], []);
    expect(marksOf(found, "relative", time).map(({ x, to }) => [x, to])).toEqual([[0, undefined], [50, 60]]);
    expect(marksOf(found, "wall", time).map(({ x, to }) => [x, to])).toEqual([[100e3, undefined], [150e3, 160e3]]);
  });
  test("may go on as long as the run does", () => {
    const found = happeningsOf(machines, { from: 100e3, to: Infinity }, [alert("gpu02", "", 150)], [event("gpu01", "", 9e9)], []);
    expect(found.map(({ at }) => at)).toEqual([150e3, 9e12]);
    expect(marksOf(found, "relative", { from: 100e3, to: Infinity })[0]?.to).toBeUndefined();
  });
  test("is shown with some time around it", () => {
    expect(around({ at: 50e3, tone: "bad", node: "n", kind: "k", what: "w" }, time)).toEqual({ from: -20e3, to: 220e3 });
    expect(around({ at: 150e3, to: 900e3, tone: "bad", node: "n", kind: "k", what: "w" }, time)).toEqual({ from: 30e3, to: 320e3 });
  });
});
