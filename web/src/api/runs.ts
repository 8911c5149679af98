import { ask } from "./ask";
import type { RunPage } from "./types";

interface Listing {
  /** Only runs that changed after this change */
  changedAfter?: number;
  asked?: typeof ask;
}

/**
 * The newest runs that fit, `most` of them. A page of the leader ends where it has looked at so many runs that others
 * would have to wait, perhaps before anything fits: this goes on.
 */
export async function listRuns(filter: string, most: number, signal?: AbortSignal, { changedAfter, asked = ask }: Listing = {}): Promise<RunPage> {
  const whole: RunPage = { runs: [], total: null, next: "" };
  do {
    const query = { limit: most - whole.runs.length, ...(filter ? { filter } : {}), ...(changedAfter === undefined ? {} : { changed_after: changedAfter }), ...(whole.next ? { after: whole.next } : {}) };
    const page = await asked("GET /api/v1/runs", { query, signal });
    whole.runs.push(...page.runs);
    whole.next = page.next;
    whole.total = page.total ?? whole.total;
  } while (whole.next && whole.runs.length < most);
  // What was looked at to its end was counted.
  if (!whole.next) whole.total = whole.runs.length;
  return whole;
}

/** What tells a run of a study from the others, in as few words as a column of a list has room for. */
export const variantText = (variant: string) => variant.replaceAll(/(^|, )params\./g, "$1");
