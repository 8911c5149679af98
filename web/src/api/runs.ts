import { ask } from "./ask";
import type { RunPage } from "./types";

/**
 * The newest runs that fit, `most` of them. A page of the leader ends where it has looked at so many runs that others
 * would have to wait, perhaps before anything fits: this goes on.
 */
export async function listRuns(filter: string, most: number, signal?: AbortSignal, asked: typeof ask = ask): Promise<RunPage> {
  const whole: RunPage = { runs: [], total: null, next: "" };
  do {
    const query = { limit: most - whole.runs.length, ...(filter ? { filter } : {}), ...(whole.next ? { after: whole.next } : {}) };
    const page = await asked("GET /api/v1/runs", { query, signal });
    whole.runs.push(...page.runs);
    whole.next = page.next;
    whole.total = page.total ?? whole.total;
  } while (whole.next && whole.runs.length < most);
  return whole;
}
