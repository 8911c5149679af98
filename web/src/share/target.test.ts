import { describe, expect, test } from "vitest";
import { linkAddress, targetOf } from "./target";

describe("what a link names", () => {
  test("is the runs of a report or comparison", () => {
    expect(targetOf("report", "a")).toEqual({ kind: "report", runs: ["a"] });
    expect(targetOf("compare", "a, b,")).toEqual({ kind: "compare", runs: ["a", "b"] });
  });
  test("is a study by itself", () => expect(targetOf("compare", "study:s")).toEqual({ kind: "compare", study: "s" }));
  test("is nothing where it could not say exactly what is shown", () => {
    for (const of of ["", "a", "study:s,a", "study:s,study:t", "tag:x,a", "@last,a"]) expect(targetOf("compare", of)).toBeNull();
  });
});

test("a link is below whatever path the dashboard is, and what was shown before is not in it", () => {
  expect(linkAddress("assay_1", "https://head/lab/assay/#/runs?filter=x")).toBe("https://head/lab/assay/#/shared/assay_1");
});
