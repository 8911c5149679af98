import { describe, expect, it } from "vitest";
import { forEach, tagCounts, tagsIn } from "./tags";

describe("tags", () => {
  it("are read as people type them", () => expect(tagsIn("  a, b=c a\n d ")).toEqual(["a", "b=c", "d"]));
  it("are counted, the most common first", () => expect(tagCounts([{ tags: ["b", "a"] }, { tags: ["b"] }, { tags: ["c"] }])).toEqual([["b", 2], ["a", 1], ["c", 1]]));
  it("are changed a few runs at a time, and one that fails keeps no other from it", async () => {
    let now = 0;
    let most = 0;
    const done: number[] = [];
    const failed = await forEach([1, 2, 3, 4, 5], 2, async (one) => {
      most = Math.max(most, ++now);
      await Promise.resolve();
      --now;
      if (one === 2) throw new Error("no");
      done.push(one);
    });
    expect([most, done.sort(), failed.map(({ of }) => of)]).toEqual([2, [1, 3, 4, 5], [2]]);
  });
});
