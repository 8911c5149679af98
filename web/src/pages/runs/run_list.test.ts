import { beforeEach, describe, expect, test, vi } from "vitest";
import type { RunChange, RunRow } from "../../api/types";

const asked: { name: string; query: Record<string, unknown> }[] = [];
let answers: unknown[] = [];
vi.mock("../../api/ask", () => ({
  ask: (name: string, { query }: { query: Record<string, unknown> }) => {
    asked.push({ name, query });
    return Promise.resolve(answers.shift());
  },
}));
const { merged, RunsFollower } = await import("./run_list");

const row = (id: string, created: number, state = "ended") => ({ id, created_ns: created, state }) as RunRow;
const change = (run: string, removed = false): RunChange => ({ sequence: 1, run, removed });
const ids = ({ runs }: { runs: RunRow[] }) => runs.map(({ id, state }) => (state === "ended" ? id : `${id} ${state}`)).join(" ");

describe("changes of a list", () => {
  const list = { runs: [row("c", 3, "running"), row("b", 2), row("a", 1)], total: 3, upTo: 5 };
  test("replace what they are about, the newest first", () => {
    const next = merged(list, [change("c"), change("d")], [row("d", 4, "queued"), row("c", 3)], 7);
    expect([ids(next), next.total, next.upTo]).toEqual(["d queued c b a", 4, 7]);
  });
  test("take away what was removed, and what fits no longer", () => {
    const next = merged(list, [change("a", true), change("b")], [], 6);
    expect([ids(next), next.total]).toEqual(["c running", 1]);
  });
  test("of a list that is too long leave it as long, and count what is new", () => {
    const long = { ...list, total: 100 };
    const next = merged(long, [change("d"), change("older"), change("b", true)], [row("d", 4), row("older", 0)], 9, 3);
    expect([ids(next), next.total]).toEqual(["d c running a", 100]);
    expect(merged(long, [change("d")], [row("d", 4)], 9, 3).total).toBe(101);
  });
  test("that came with the rows before they were told of are in it once", () => expect(ids(merged(list, [], [row("c", 3)], 6))).toBe("c b a"));
});

describe("a list that is followed", () => {
  beforeEach(() => (asked.length = 0));
  const signal = new AbortController().signal;
  test("is asked for once, and then for what changed alone", async () => {
    const runs = new RunsFollower();
    answers = [{ changes: [], newest: 5 }, { runs: [row("a", 1, "running")], total: 1 }];
    const first = await runs.next("tag=x", signal);
    expect(asked.map(({ query }) => query)).toEqual([{}, { limit: 10_000, filter: "tag=x" }]);
    answers = [{ changes: [], newest: 5 }];
    expect(await runs.next("tag=x", signal)).toBe(first);
    answers = [{ changes: [change("a")], newest: 6 }, { runs: [row("a", 1)], total: 1 }];
    expect(ids(await runs.next("tag=x", signal))).toBe("a");
    expect(asked.slice(2).map(({ query }) => query)).toEqual([{ since: 5, limit: 1000 }, { since: 5, limit: 1000 }, { limit: 10_000, filter: "tag=x", changed_after: 5 }]);
  });
  test("is asked for as a whole with another filter, after very many changes, and of a leader that counts anew", async () => {
    const runs = new RunsFollower();
    answers = [{ changes: [], newest: 5 }, { runs: [row("a", 1)], total: 1 }];
    await runs.next("", signal);
    for (const [filter, changes] of [["x=1", { changes: [], newest: 5 }], ["x=1", { changes: Array.from({ length: 1000 }, () => change("a")), newest: 2000 }], ["x=1", { changes: [], newest: 3 }]] as const) {
      answers = [changes, { runs: [row("b", 1)], total: 1 }];
      expect(ids(await runs.next(filter, signal))).toBe("b");
      expect(asked.at(-1)?.query).toEqual({ limit: 10_000, filter });
    }
  });
});
