import { describe, expect, it } from "vitest";
import { inOrder, type Sortable } from "./order";

describe("inOrder", () => {
  const of = (values: Sortable[], down = false) => inOrder(values, (value) => value, down);
  it("orders numbers by size and texts as people read them", () => {
    expect(of([10, 9, -1, 0])).toEqual([-1, 0, 9, 10]);
    expect(of(["gpu10", "gpu9", "Gpu1"])).toEqual(["Gpu1", "gpu9", "gpu10"]);
  });
  it("puts what is not known last, whichever way", () => {
    expect(of([null, 2, undefined, 1, NaN, ""])).toEqual([1, 2, null, undefined, NaN, ""]);
    expect(of([null, 2, undefined, 1], true)).toEqual([2, 1, null, undefined]);
  });
  it("leaves what is equal in its order, and the list itself as it was", () => {
    const rows = [{ k: "b", n: 1 }, { k: "a", n: 1 }, { k: "c", n: 0 }];
    expect(inOrder(rows, (row) => row.n).map((row) => row.k)).toEqual(["c", "b", "a"]);
    expect(inOrder(rows, (row) => row.n, true).map((row) => row.k)).toEqual(["b", "a", "c"]);
    expect(rows.map((row) => row.k)).toEqual(["b", "a", "c"]);
  });
});
