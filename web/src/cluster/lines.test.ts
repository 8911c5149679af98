import { expect, test } from "vitest";
import { linesOf, withLive } from "./lines";

const answer = { from_ms: 0, to_ms: 20, width_ms: 10, tier: "raw" as const, problems: [], series: [{ name: "gpu.power_w", labels: { node: "n" }, unit: "W", buckets: [[0, 100, 700, 300, 10], [10, null, null, null, 0]] as [number, number | null, number | null, number | null, number][] }] };
const series = { id: 1, node: "n", name: "gpu.power_w", labels: { node: "n" }, unit: "W" };

test("new values leave the extremes of those before them in place", () => {
  const [line] = linesOf(answer);
  if (!line) throw new Error("no line");
  const longer = withLive(line, { series, x: [5, 10, 11, 12], y: [1, 2, 50, null] });
  expect(longer).toMatchObject({ x: [0, 10, 11, 12], y: [300, null, 50, null], low: [100, null, 50, null], high: [700, null, 50, null], counts: [10, 0, 1, 0] });
});

test("a line without anything new is the same, and one that is new has its values alone", () => {
  const [line] = linesOf(answer);
  if (!line) throw new Error("no line");
  expect(withLive(line, { series, x: [10], y: [2] })).toBe(line);
  expect(withLive({ key: "k", label: "", labels: {}, unit: "W", x: [], y: [] }, { series, x: [1], y: [2] })).toEqual({ key: "k", label: "", labels: {}, unit: "W", x: [1], y: [2] });
});

test("where the view is held still, nothing later is taken", () => {
  const [line] = linesOf(answer);
  if (!line) throw new Error("no line");
  expect(withLive(line, { series, x: [11, 12, 13], y: [1, 2, 3] }, 12).x).toEqual([0, 10, 11, 12]);
  expect(withLive(line, { series, x: [11], y: [1] }, 10)).toBe(line);
});
