import { describe, expect, test } from "vitest";
import { joined, smoothed, summary } from "./chart_data";

const line = (key: string, x: number[], y: (number | null)[]) => ({ key, label: key, x, y });

describe("lines of one chart", () => {
  test("with the same axis are taken as they are", () => {
    const x = [1, 2, 3];
    expect(joined([line("a", x, [4, 5, 6]), line("b", [1, 2, 3], [7, null, 9])])).toEqual([x, [4, 5, 6], [7, null, 9]]);
  });
  test("with different axes are put on one, with nothing where they have no point", () => {
    expect(joined([line("a", [1, 3], [4, 5]), line("b", [2, 3], [6, null])])).toEqual([[1, 2, 3], [4, undefined, 5], [undefined, 6, null]]);
  });
  test("may be none", () => expect(joined([])).toEqual([[]]));
});

describe("smoothing", () => {
  test("leaves a constant and its gaps", () => expect(smoothed([2, null, 2], 0.9)).toEqual([2, null, 2]));
  test("is not drawn to zero at the beginning", () => expect(smoothed([10, 10], 0.99)[0]).toBeCloseTo(10));
  test("of nothing is the line", () => expect(smoothed([1, 5], 0)).toEqual([1, 5]));
});

test("a summary is of the part that is shown, without what is not finite", () => {
  expect(summary(line("a", [1, 2, 3, 4], [9, 2, null, 4]), 2, 4)).toEqual({ last: 4, min: 2, max: 4, mean: 3 });
  expect(summary(line("a", [1], [null])).mean).toBeNull();
});
