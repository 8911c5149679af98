import { describe, expect, it } from "vitest";
import { flameOf } from "./flame_trace";
import { isTrace, readableOn, topNames } from "./flame_top";

const whole = (name: string, ts: number, dur: number, tid = 1) => ({ ph: "X", name, ts, dur, pid: 1, tid });

describe("topNames", () => {
  it("adds up by name, over threads, the longest first", () => {
    const flame = flameOf([whole("a", 0, 10), whole("b", 10, 30), whole("a", 5, 25, 2)]);
    expect(topNames(flame, 0, 40, 20).map(({ name, total, count }) => [name, total, count])).toEqual([["a", 35, 2], ["b", 30, 1]]);
  });
  it("counts what is within its like once", () => {
    const flame = flameOf([whole("f", 0, 100), whole("f", 10, 50), whole("g", 70, 10)]);
    const [first] = topNames(flame, 0, 100, 20);
    expect(first).toMatchObject({ name: "f", total: 100, count: 2, longest: 100, event: 0 });
  });
  it("takes what is within the time, and no more than asked for", () => {
    const flame = flameOf([whole("a", 0, 10), whole("b", 10, 10), whole("c", 20, 10)]);
    expect(topNames(flame, 5, 12, 20).map(({ name, total }) => [name, total])).toEqual([["a", 5], ["b", 2]]);
    expect(topNames(flame, 0, 30, 1)).toHaveLength(1);
  });
  it("says nothing of a trace without events", () => expect(topNames(flameOf([]), 0, 1, 20)).toEqual([]));
});

describe("isTrace", () => {
  it("knows what engine and profilers write", () => {
    for (const name of ["trace.json", "rank0.trace.json", "out/trace.json", "gpu-trace.json"]) expect(isTrace(name)).toBe(true);
    for (const name of ["trace.json.gz", "retrace.json", "spec.yaml", "trace.jsonl"]) expect(isTrace(name)).toBe(false);
  });
});

describe("readableOn", () => {
  it("is dark on light and light on dark", () => {
    expect(readableOn("#f0e442")).toBe("#000000");
    expect(readableOn("#4d4d4d")).toBe("#ffffff");
  });
});
