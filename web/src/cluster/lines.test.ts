import { expect, test } from "vitest";
import { GrowingLines, linesOf } from "./lines";

const answer = { from_ms: 0, to_ms: 20, width_ms: 10, tier: "raw" as const, problems: [], series: [{ name: "gpu.power_w", labels: { node: "n" }, unit: "W", buckets: [[0, 100, 700, 300, 10], [10, null, null, null, 0]] as [number, number | null, number | null, number | null, number][] }] };
const series = { id: 1, node: "n", name: "gpu.power_w", labels: { node: "n" }, unit: "W" };

/** The only line of an answer after the stream has told that. */
function grown(x: number[], y: (number | null)[], until?: number) {
  const lines = new GrowingLines(linesOf(answer));
  lines.take([["gpu.power_w|node=n", { series, x, y }]], undefined, until);
  return lines.list[0];
}

test("new values leave the extremes of those before them in place", () => {
  expect(grown([5, 10, 11, 12], [1, 2, 50, null])).toMatchObject({ x: [0, 10, 11, 12], y: [300, null, 50, null], low: [100, null, 50, null], high: [700, null, 50, null], counts: [10, 0, 1, 0] });
});

test("where the view is held still, nothing later is taken", () => {
  expect(grown([11, 12, 13], [1, 2, 3], 12)?.x).toEqual([0, 10, 11, 12]);
  expect(grown([11], [1], 10)?.x).toEqual([0, 10]);
});

test("what is told again is taken once, and lines stay the same while they grow", () => {
  const lines = new GrowingLines(linesOf(answer));
  const [before, line] = [lines.list, lines.list[0]];
  const live = { series, x: [11], y: [1] as (number | null)[] };
  lines.take([["gpu.power_w|node=n", live]]);
  live.x.push(12);
  live.y.push(2);
  lines.take([["gpu.power_w|node=n", live]]);
  expect(lines.list).toBe(before);
  expect(lines.list[0]).toBe(line);
  expect(line?.x).toEqual([0, 10, 11, 12]);
});

test("what nobody sees any more is given up, in step", () => {
  const lines = new GrowingLines(linesOf(answer));
  const x = Array.from({ length: 1000 }, (_, i) => 11 + i);
  lines.take([["gpu.power_w|node=n", { series, x, y: x }]], 500);
  const line = lines.list[0];
  for (let i = 0; i < 20; ++i) lines.take([["gpu.power_w|node=n", { series, x, y: x }]], 500);
  expect(line?.x[0]).toBeGreaterThan(300);
  expect(line?.x[0]).toBeLessThanOrEqual(500);
  expect(line?.x.at(-1)).toBe(1010);
  expect([line?.y, line?.low, line?.high].every((one) => one?.join() === line?.x.join())).toBe(true);
  expect(line?.counts?.length).toBe(line?.x.length);
});

test("a line that is new has its values alone, and the list is another one", () => {
  const lines = new GrowingLines(linesOf(answer));
  const before = lines.list;
  lines.take([["other", { series, x: [1], y: [2] }]]);
  expect(lines.list).not.toBe(before);
  expect(lines.list[1]).toEqual({ key: "other", label: "", labels: { node: "n" }, unit: "W", x: [1], y: [2] });
});
