import { describe, expect, test } from "vitest";
import { link, matchPath, readHash, writeHash } from "./hash";

describe("the address behind #", () => {
  test("reads what it writes, whatever is in it", () => {
    const query = { filter: 'tag=a&b "c d" metrics.loss<0.5', range: "5..9" };
    expect(readHash(writeHash("/runs", query))).toEqual({ path: "/runs", query });
  });
  test("of nothing is the first page", () => {
    for (const hash of ["", "#", "#/"]) expect(readHash(hash).path).toBe("/");
  });
  test("leaves out what is not set", () => expect(writeHash("/runs", { a: "", b: null, c: "1" })).toBe("#/runs?c=1"));
});

describe("patterns", () => {
  test("give their names", () => expect(matchPath("/nodes/:node", "/nodes/gpu%2F01")).toEqual({ node: "gpu/01" }));
  test("that do not fit give nothing", () => {
    expect(matchPath("/nodes/:node", "/nodes")).toBeNull();
    expect(matchPath("/nodes/:node", "/runs/x")).toBeNull();
    expect(matchPath("/nodes/:node", "/nodes/%")).toBeNull();
  });
});

test("a link escapes names that are hostile", () => {
  const hash = link(["nodes", "a/../<b>?#"], { q: "x y" });
  expect(matchPath("/nodes/:node", readHash(hash).path)).toEqual({ node: "a/../<b>?#" });
});
