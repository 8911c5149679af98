import { describe, expect, test } from "vitest";
import { countGpus, countThrottled, hottestOf, meansOf, seriesLabel, standouts, type GpuView } from "./gpus";

const gpu = (node: string, index: string, values: Record<string, number | null>, online = true): GpuView => ({ node, uuid: `GPU-${node}-${index}`, index, name: "H200", values, online });

test("GPUs are busy, idle or silent, and may be hot", () => {
  const all = [gpu("a", "0", { "gpu.util": 0.9, "gpu.temperature_c": 90 }), gpu("a", "1", { "gpu.util": 0 }), gpu("b", "0", { "gpu.util": 1 }, false), gpu("b", "1", {})];
  expect(countGpus(all)).toEqual({ all: 4, busy: 1, idle: 1, hot: 1, silent: 2 });
});

test("the hottest GPU is one that says so now", () => {
  const all = [gpu("a", "0", { "gpu.temperature_c": 60 }), gpu("a", "1", { "gpu.temperature_c": 71 }), gpu("b", "0", { "gpu.temperature_c": 99 }, false), gpu("b", "1", {})];
  expect(hottestOf(all)?.uuid).toBe("GPU-a-1");
  expect(hottestOf([gpu("b", "1", { "gpu.temperature_c": null })])).toBeNull();
});

test("a GPU is slowed by heat or hardware, or just at its power limit", () => {
  const of = (gpu: string, reason: string, last: number | null) => ({ labels: { gpu, reason }, last });
  const all = [of("1", "sw_thermal", 1), of("1", "sw_power", 1), of("1", "hw_slowdown", 1), of("2", "sw_power", 1), of("3", "idle", 1), of("4", "hw_thermal", 0), of("5", "sw_power", null)];
  expect(countThrottled(all)).toEqual({ slowed: 1, atPowerLimit: 1 });
});

describe("what stands out is pointed out", () => {
  const found = (all: GpuView[], given?: (node: string) => string) => standouts(all, (one, metric) => one.values[metric], given).map(({ kind, nodes }) => `${kind} ${nodes.join()}`);
  test("heat, uneven load within a node, memory without work", () => {
    const all = [
      gpu("a", "0", { "gpu.util": 1, "gpu.temperature_c": 91 }),
      gpu("a", "1", { "gpu.util": 0.1 }),
      gpu("b", "0", { "gpu.util": 0, "gpu.memory_used_bytes": 60, "gpu.memory_total_bytes": 100 }),
      gpu("c", "0", { "gpu.util": 0.5 }), gpu("c", "1", { "gpu.util": 0.6 }),
    ];
    expect(found(all)).toEqual(["hot a", "underused b", "imbalance a"]);
  });
  test("the worst of each kind first", () => {
    const pair = (node: string, low: number, celsius: number) => [gpu(node, "0", { "gpu.util": 1, "gpu.temperature_c": celsius }), gpu(node, "1", { "gpu.util": low })];
    expect(found([...pair("a", 0.4, 60), ...pair("b", 0.1, 88), ...pair("c", 0.2, 91)])).toEqual(["hot c", "hot b", "imbalance b", "imbalance c", "imbalance a"]);
  });
  test("nodes that do not share the work, by their means", () => {
    expect(found([gpu("a", "0", { "gpu.util": 0.9 }), gpu("a", "1", { "gpu.util": 0.9 }), gpu("b", "0", { "gpu.util": 0.3 }), gpu("b", "1", { "gpu.util": 0.4 }), gpu("c", "0", { "gpu.util": 0.6 })])).toEqual(["uneven b,a"]);
    expect(found([gpu("a", "0", { "gpu.util": 0.6 }), gpu("b", "0", { "gpu.util": 0.4 })])).toEqual([]);
  });
  test("nodes that had nothing to do, apart from those that were given to somebody", () => {
    const all = [gpu("a", "0", { "gpu.util": 0.01 }), gpu("b", "0", { "gpu.util": 0 }), gpu("c", "0", { "gpu.util": 0 }), gpu("d", "0", {}), gpu("e", "0", { "gpu.util": 0 }, false)];
    expect(found(all, (node) => (node === "b" ? "night (ada)" : ""))).toEqual(["underused b", "idle a,c"]);
  });
});

test("a GPU's mean counts every value once", () => {
  const series = [{ name: "gpu.util", labels: { node: "a", gpu: "G" }, unit: "ratio", buckets: [[0, 0, 1, 0.2, 30], [10, 0, 1, 0.8, 10], [20, null, null, null, 0]] as [number, number | null, number | null, number | null, number][] }];
  expect(meansOf({ from_ms: 0, to_ms: 30, width_ms: 10, tier: "raw", series, problems: [] }).get("G")).toBeCloseTo(0.35);
  expect(meansOf(undefined).size).toBe(0);
});

test("a series is called by where it is", () => {
  const names = new Map([["GPU-1", "gpu01 GPU 3"]]);
  expect(seriesLabel({ node: "gpu01", gpu: "GPU-1" }, names)).toBe("gpu01 GPU 3");
  expect(seriesLabel({ node: "gpu01", gpu: "GPU-1", reason: "sw_power" }, names, false)).toBe("GPU 3 sw_power");
  expect(seriesLabel({ node: "gpu01" }, names)).toBe("gpu01");
  expect(seriesLabel({ node: "gpu01", mount: "/" }, names, false)).toBe("/");
});
