import { expect, test } from "vitest";
import { lookChange, lookOf, lookText, partOf, partText, questionOf } from "./look";

test("a look survives its address, and nonsense there is what is usual", () => {
  const look = { axis: "wall" as const, smoothing: 0.5, logarithmic: true };
  const text = Object.fromEntries(Object.entries(lookText(look)).map(([name, value]) => [name, value ?? ""]));
  expect(lookOf(text)).toEqual(look);
  expect(lookOf({ axis: "sideways", smooth: "5", log10: "yes" })).toEqual({ axis: "step", smoothing: 0.98, logarithmic: false });
  expect(lookOf({ smooth: "much" })).toEqual({ axis: "step", smoothing: 0, logarithmic: false });
});

test("what is not changed stays as it is in the address", () => {
  const look = { axis: "relative" as const, smoothing: 0, logarithmic: false };
  expect(lookChange(look, { ...look, smoothing: 0.5 })).toEqual({ smooth: "0.5" });
  expect(lookChange(look, { ...look, axis: "step" })).toEqual({ axis: null, part: null });
});

test("a part survives its address", () => {
  expect(partOf(partText({ from: -1.5, to: 1731767000123 }) ?? "")).toEqual({ from: -1.5, to: 1731767000123 });
  expect(partOf(partText({ from: 1e-9, to: 0.1 + 0.2 }) ?? "")).toEqual({ from: 1e-9, to: 0.3 });
  expect([partOf(""), partOf("1-2"), partOf("5..5"), partOf("x..y"), partText(null)]).toEqual([null, null, null, null, null]);
});

test("a run is asked for the part in its own terms", () => {
  expect(questionOf("step", { from: 2.4, to: 9.6 }, 5e18, 500)).toEqual({ axis: "step", width: 500, from: 2, to: 11 });
  expect(questionOf("relative", { from: 1, to: 2 }, 1e12, 500)).toEqual({ axis: "time", width: 500, from: 1.001e12, to: 1.002e12 + 1 });
  expect(questionOf("wall", null, 0, 600)).toEqual({ axis: "time", width: 600 });
});
