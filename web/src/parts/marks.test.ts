import { expect, test } from "vitest";
import type { Mark } from "./chart_data";
import { marksAt } from "./marks";

const mark = (label: string, x: number, to?: number): Mark => ({ label, x, ...(to === undefined ? {} : { to }), tone: "info" });

test("marks are named where they are, for as long as they last", () => {
  const marks = [mark("point", 100), mark("long", 50, 150), mark("over", 10, 20)];
  const at = (x: number) => marksAt(marks, x, 5).map(({ label }) => label);
  expect(at(100)).toEqual(["point", "long"]);
  expect(at(97)).toEqual(["long", "point"]);
  expect(at(153)).toEqual(["long"]);
  expect(at(22)).toEqual(["over"]);
  expect(at(200)).toEqual([]);
});
