import { describe, expect, it } from "vitest";
import { inOrder, plainKey, type Sortable } from "./order";

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
  it("orders texts and numbers of one column, and texts in other letters", () => {
    expect(of(["b", 10, "9", 2])).toEqual([2, "9", 10, "b"]);
    expect(of(["zeta", "Ölfeld", "ofen", "öl"])).toEqual(["ofen", "öl", "Ölfeld", "zeta"]);
  });
});

describe("a text's key", () => {
  const words = new Intl.Collator("en", { numeric: true });
  // The same numbers at every start, so that a failure comes again.
  let state = 1;
  const below = (n: number) => ((state = (state * 48271) % 2147483647) % n);
  const text = () => Array.from({ length: below(9) }, () => (below(2) ? String.fromCharCode(32 + below(95)) : (["0", "1", "12", "007", "a", "A", "-", " "][below(8)] ?? ""))).join("");
  it("compares as the collator does, but for what only tells equal letters apart", () => {
    for (let i = 0; i < 20_000; ++i) {
      const [a, b] = [text(), text()];
      const [keyA, keyB] = [plainKey(a) ?? "", plainKey(b) ?? ""];
      if (keyA !== keyB) expect(Math.sign(words.compare(a, b)), `${JSON.stringify(a)} and ${JSON.stringify(b)}`).toBe(keyA < keyB ? -1 : 1);
    }
  });
  it("is the same whatever the case of letters and the zeros before a number", () => {
    expect(plainKey("Run 007")).toBe(plainKey("run 7"));
    expect(plainKey("run 0")).toBe(plainKey("run 00"));
    expect(plainKey("run 7") === plainKey("run 70")).toBe(false);
  });
  it("is not there for what only the collator knows", () => {
    for (const one of ["über", "a\tb", "日本", "1".repeat(3000)]) expect(plainKey(one)).toBeNull();
  });
});
