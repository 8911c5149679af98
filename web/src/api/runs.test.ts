import { describe, expect, it } from "vitest";
import type { ask } from "./ask";
import { listRuns, variantText } from "./runs";

/** A leader that looks at two runs for each page, of five that all fit a filter but the first two. */
function pages(asked: unknown[]): typeof ask {
  return (async (_: string, { query }: { query: { limit: number; after?: string } }) => {
    asked.push(query);
    const first = Number(query.after ?? 0);
    const runs = [0, 1, 2, 3, 4].slice(first, first + 2).filter((i) => i > 1).slice(0, query.limit);
    return { runs: runs.map((id) => ({ id: `r${id}` })), total: null, next: first + 2 < 5 ? String(first + 2) : "" };
  }) as unknown as typeof ask;
}

describe("listRuns", () => {
  it("goes on where a page of the leader ended before anything fits", async () => {
    const asked: unknown[] = [];
    const page = await listRuns("host=gpu01", 10, undefined, { asked: pages(asked) });
    expect(page.runs.map(({ id }) => id)).toEqual(["r2", "r3", "r4"]);
    expect(page.next).toBe("");
    expect(asked).toEqual([{ limit: 10, filter: "host=gpu01" }, { limit: 10, filter: "host=gpu01", after: "2" }, { limit: 8, filter: "host=gpu01", after: "4" }]);
  });
  it("ends with as many as are wanted", async () => {
    const page = await listRuns("", 2, undefined, { asked: pages([]) });
    expect(page.runs.map(({ id }) => id)).toEqual(["r2", "r3"]);
    expect(page.next).toBe("4");
  });
});

describe("a variant in a list", () => {
  it("names its own parameters without the word for them", () => {
    expect(variantText("params.rate=0.1, params.momentum=0.5, batch_size=8")).toBe("rate=0.1, momentum=0.5, batch_size=8");
    expect(variantText("note=params.x")).toBe("note=params.x");
    expect(variantText("")).toBe("");
  });
});
