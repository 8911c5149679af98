// The list of runs as it stays up to date: what changed is asked for and put into it, not the list itself.

import { ask } from "../../api/ask";
import { listRuns } from "../../api/runs";
import type { RunChange, RunRow } from "../../api/types";

export interface RunList {
  /** Newest first */
  runs: RunRow[];
  /** How many fit, also of those that are too old to be in `runs`; null: so many that nobody counted them */
  total: number | null;
  /** The number of the newest change that is in it */
  upTo: number;
}

/** As many rows as a leader gives at once. */
const kMost = 10_000;
/** Of more changes the whole list is less work. */
const kMostChanges = 1000;

/** The list after some changes; `rows`: those of the runs that changed which fit. */
export function merged(list: RunList, changes: RunChange[], rows: RunRow[], upTo: number, most = kMost): RunList {
  const changed = new Set([...changes.map(({ run }) => run), ...rows.map(({ id }) => id)]);
  const known = new Set(list.runs.filter(({ id }) => changed.has(id)).map(({ id }) => id));
  const isWhole = list.total !== null && list.total <= list.runs.length;
  const oldest = list.runs.at(-1)?.created_ns ?? 0;
  // One that is older than all that is shown was counted before.
  const news = isWhole ? rows : rows.filter((row) => known.has(row.id) || row.created_ns >= oldest);
  const runs = [...list.runs.filter(({ id }) => !changed.has(id)), ...news].sort((a, b) => b.created_ns - a.created_ns);
  const total = list.total === null ? null : isWhole ? runs.length : list.total + news.length - known.size;
  return { runs: runs.slice(0, most), total, upTo };
}

/** Asks for a list and, from then on, for what became of it. */
export class RunsFollower {
  private kept: { filter: string; list: RunList } | null = null;

  async next(filter: string, signal: AbortSignal): Promise<RunList> {
    const before = this.kept?.filter === filter ? this.kept.list : null;
    // First the number, then the rows: what changes in between comes again with the next question.
    const { changes, newest } = await ask("GET /api/v1/runs/changes", { query: before ? { since: before.upTo, limit: kMostChanges } : {}, signal });
    if (before && newest === before.upTo) return before;
    const onlyChanged = before && newest > before.upTo && changes.length < kMostChanges ? before : null;
    const { runs, total } = await listRuns(filter, kMost, signal, { changedAfter: onlyChanged?.upTo });
    const list = onlyChanged ? merged(onlyChanged, changes, runs, newest) : { runs, total, upTo: newest };
    this.kept = { filter, list };
    return list;
  }
}
