import { describe, expect, test } from "vitest";
import { howDrawn, joined, pointAt, smoothed, stacked, summary, thinned, type Joined } from "./chart_data";

const line = (key: string, x: number[], y: (number | null)[]) => ({ key, label: key, x, y });

describe("lines of one chart", () => {
  test("with the same axis are taken as they are", () => {
    const x = [1, 2, 3];
    expect(joined([line("a", x, [4, 5, 6]), line("b", [1, 2, 3], [7, null, 9])])).toEqual([x, [4, 5, 6], [7, null, 9]]);
  });
  test("with different axes are put on one, with nothing where they have no point", () => {
    expect(joined([line("a", [1, 3], [4, 5]), line("b", [2, 3], [6, null])])).toEqual([[1, 2, 3], [4, undefined, 5], [undefined, 6, null]]);
  });
  test("that end earlier are taken as they are, and those out of order are put in theirs", () => {
    const early = [4, 5];
    expect(joined([line("a", [1, 2, 3], [7, 8, 9]), line("b", [1, 2], early)])[2]).toBe(early);
    expect(joined([line("a", [1, 2, 3], [7, 8, 9]), line("b", [3, 1, 1], [4, 5, 6])])).toEqual([[1, 2, 3], [7, 8, 9], [6, undefined, 4]]);
    expect(joined([line("a", [1, 1, 2], [7, 8, 9])])).toEqual([[1, 1, 2], [7, 8, 9]]);
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

describe("points that are means", () => {
  const means = { ...line("a", [1, 2], [10, 40]), low: [0, 40], high: [95, 40], counts: [3, 1], last: [5, 40] };
  test("are summed up as the values they stand for", () => {
    expect(summary(means)).toEqual({ last: 40, min: 0, max: 95, mean: 17.5 });
    expect(summary(means, 0, 1)).toEqual({ last: 5, min: 0, max: 95, mean: 10 });
  });
  test("are summed up as they were before they were smoothed", () => expect(summary({ ...means, y: [20, 20], raw: means.y })).toEqual(summary(means)));
  test("say so", () => {
    expect(howDrawn([line("b", [1], [1])])).toBe("");
    expect(howDrawn([means, line("b", [1], [1])])).toBe("means of up to 3 values");
    expect(howDrawn([{ ...means, raw: means.y }])).toBe("means of up to 3 values, smoothed");
  });
});

test("a point is found by its place", () => expect([1, 2, 5].map((x) => pointAt(line("a", [1, 5], [7, 8]), x))).toEqual([0, -1, 1]));

test("stacked lines lie on top of each other, and one that has no point adds nothing", () => {
  const [first, second] = stacked([line("a", [1, 2], [3, 4]), line("b", [2, 3], [5, null])]);
  expect(first).toMatchObject({ x: [1, 2, 3], y: [3, 4, 0], low: [0, 0, 0], high: [3, 4, 0] });
  expect(second).toMatchObject({ y: [3, 9, 0], low: [3, 4, 0], high: [3, 9, 0] });
});

describe("many points", () => {
  const count = 100_000;
  const axis = Array.from({ length: count }, (_, i) => i * 10);
  const wave = axis.map((x) => Math.sin(x / 5000));
  test("that are few are drawn as they are", () => {
    const data: Joined = [[1, 2], [3, 4]];
    expect(thinned(data, 0, 9)).toBe(data);
  });
  test("keep their ends, their extremes and their gaps", () => {
    const spiky: (number | null)[] = [...wave];
    [spiky[12_345], spiky[50_001], spiky[77_777]] = [99, -99, null];
    const [x, y] = thinned([axis, spiky], -Infinity, Infinity);
    expect(x.length).toBeLessThan(10_000);
    expect([x[0], x.at(-1)]).toEqual([0, (count - 1) * 10]);
    expect(x.every((value, i) => i === 0 || value > (x[i - 1] ?? 0))).toBe(true);
    for (const [at, value] of [[12_345, 99], [50_001, -99], [77_777, null]] as const) expect(y?.[x.indexOf(at * 10)]).toBe(value);
  });
  test("of a part that was zoomed into are exact, with one more at each end", () => {
    const [x] = thinned([axis, wave], 500_005, 502_000);
    expect([x[0], x.at(-1)]).toEqual([500_000, 502_010]);
    expect(x.length).toBe(202);
  });
  test("of several lines stay on one axis", () => {
    const other = wave.map((value, i) => (i % 2 ? undefined : -value));
    const [x, a, b] = thinned([axis, wave, other], -Infinity, Infinity);
    expect([a?.length, b?.length]).toEqual([x.length, x.length]);
    x.forEach((value, i) => expect([a?.[i], b?.[i]]).toEqual([wave[value / 10], other[value / 10]]));
  });
});
