import { describe, expect, test } from "vitest";
import { bandExtent, drawBand, hasBand } from "./bands";
import type { Line } from "./chart_data";

const means = { key: "a", label: "a", x: [0, 10, 20, 30], y: [1, 2, 3, 4], low: [0, 1, null, 4], high: [2, 9, null, 4], counts: [3, 3, 0, 1] };
const values = { key: "b", label: "b", x: [0, 1], y: [1, 2], low: [1, 2], high: [1, 2], counts: [1, 1] };

describe("the band around a line", () => {
  test("is drawn where points are means, or were smoothed", () => {
    expect([hasBand(means), hasBand(values), hasBand({ ...values, raw: [1, 2] }), hasBand({ key: "c", label: "c", x: [], y: [] })]).toEqual([true, false, true, false]);
  });
  test("takes room for its spikes", () => {
    expect(bandExtent([means])).toEqual([0, 9]);
    expect(bandExtent([means], 15, 40)).toEqual([4, 4]);
    expect(bandExtent([])).toBeNull();
  });
  function pathOf(line: Line, xUnit: number): string[] {
    const path: string[] = [];
    const note = (name: string) => (...at: number[]) => path.push([name, ...at].join(" "));
    const ctx = new Proxy({}, { get: (_, name: string) => (["moveTo", "lineTo", "closePath"].includes(name) ? note(name) : () => undefined), set: () => true }) as unknown as CanvasRenderingContext2D;
    drawBand({ ctx, bbox: { left: 0, top: 0, width: 100, height: 50 }, valToPos: (value) => value }, line, { colour: "red", fill: 0.1, xUnit, logarithmic: true });
    return path;
  }
  test("goes along the largest values and back along the smallest, around gaps", () => {
    expect(pathOf(means, 10)).toEqual(["moveTo 0 2", "lineTo 1 9", "lineTo 1 1", "lineTo 0 50", "closePath", "moveTo 3 4", "lineTo 3 4", "closePath"]);
  });
  test("keeps its spikes where many points share a column of the picture", () => {
    expect(pathOf({ ...means, low: [1, 2, 3, 4], high: [2, 9, 3, 4] }, 100)).toEqual(["moveTo 0 9", "lineTo 0 1", "closePath"]);
  });
});
