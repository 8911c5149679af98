import { describe, expect, it } from "vitest";
import { findAlerts } from "./alerts";
import type { ask } from "./ask";

/** A leader that looks at two alerts for each page, of five of which the first two are over for too long. */
function pages(asked: unknown[]): typeof ask {
  return (async (_: string, { query }: { query: { limit: number; before?: string } }) => {
    asked.push(query);
    const first = Number(query.before ?? 0);
    const alerts = [0, 1, 2, 3, 4].slice(first, first + 2).filter((i) => i > 1).slice(0, query.limit);
    return { alerts: alerts.map((id) => ({ id: `a${id}`, severity: id === 3 ? "info" : "critical" })), next: first + 2 < 5 ? String(first + 2) : "" };
  }) as unknown as typeof ask;
}

describe("findAlerts", () => {
  it("goes on where a page of the leader ended before anything fits", async () => {
    const asked: unknown[] = [];
    const found = await findAlerts({ all: true }, 10, undefined, undefined, pages(asked));
    expect(found.alerts.map(({ id }) => id)).toEqual(["a2", "a3", "a4"]);
    expect(found.next).toBe("");
    expect(asked).toEqual([{ all: true, limit: 10 }, { all: true, limit: 10, before: "2" }, { all: true, limit: 8, before: "4" }]);
  });
  it("ends with as many as are wanted, and says that there may be more", async () => {
    const found = await findAlerts({}, 2, undefined, undefined, pages([]));
    expect(found.alerts.map(({ id }) => id)).toEqual(["a2", "a3"]);
    expect(found.next).toBe("4");
  });
  it("looks on for those that fit", async () => {
    const found = await findAlerts({}, 2, undefined, (alert) => alert.severity === "critical", pages([]));
    expect(found.alerts.map(({ id }) => id)).toEqual(["a2", "a4"]);
  });
});
