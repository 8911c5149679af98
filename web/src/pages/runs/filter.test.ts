import { describe, expect, test } from "vitest";
import { complaint, spread, suggestions, wordAt } from "./filter";

const known = { metrics: ["loss", "val_loss"], tags: ["demo", "team=vision x"], hosts: ["gpu01"], names: [] };

describe("completion", () => {
  test("offers fields, then values", () => {
    expect(suggestions("ver", known)).toEqual(["verdict="]);
    expect(suggestions("verdict=", known)).toContain("verdict=valid");
    expect(suggestions("metrics.v", known)).toEqual(["metrics.val_loss<"]);
    expect(suggestions("tag=team", known)).toEqual(['tag="team=vision x"']);
    expect(suggestions("host!=g", known)).toEqual(["host!=gpu01"]);
  });
  test("has nothing to add to what is complete", () => expect(suggestions("verdict=valid", known)).toEqual([]));
  test("looks at the word with the cursor; quotes keep blanks together", () => {
    expect(wordAt('name="a b" sta', 14).word).toBe("sta");
    expect(wordAt('name="a b" sta', 8).word).toBe('name="a b"');
  });
});

describe("a first look at a filter", () => {
  test("finds what is no condition", () => {
    expect(complaint("verdict=valid metrics.loss<0.5 last=2h")).toBe("");
    expect(complaint("hello")).toContain("no operator");
    expect(complaint("verdct=valid")).toContain("verdct");
  });
});

test("a group has its mean and spread, without what is not known", () => {
  expect(spread([1, 2, 3, null, undefined])).toEqual({ n: 3, mean: 2, deviation: 1 });
  expect(spread([5])).toEqual({ n: 1, mean: 5, deviation: null });
  expect(spread([]).mean).toBeNull();
});
