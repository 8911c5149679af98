import { findAlerts } from "../api/alerts";
import { ask } from "../api/ask";
import { load } from "../api/loaded.svelte";
import { readRange } from "../format/time";
import type { Mark } from "../parts/chart_data";
import { markOfAlert, markOfEvent, markOfRun, within, type MarkKind } from "./marks";

export interface MarksQuestion {
  kinds: MarkKind[];
  /** As in the address */
  range: string;
  /** When it was held still; 0: it goes on */
  held: number;
  /** Of one node; without: of all */
  node?: string;
}

/** More than can be told apart in a graph. */
const kMost = 200;
/** From when a run is asked for to its end */
const kLongestRun = 30 * 86400e3;

/** What happened in the time that is shown. To be called while a component is set up. */
export function clusterMarks(question: () => MarksQuestion) {
  const asked = $derived(question());
  const every = () => (asked.held ? undefined : 30_000);
  // The text is the same as long as its content is: an address that changes elsewhere asks for nothing.
  const key = $derived(JSON.stringify(asked));
  const found = load(async (signal): Promise<{ marks: Mark[]; cut: string[] }> => {
    const { kinds, range, held, node }: MarksQuestion = JSON.parse(key);
    const now = Date.now();
    const shown = readRange(range, held || now);
    const time = { from: new Date(shown.from).toISOString(), to: new Date(shown.to).toISOString() };
    const of = node ? { node } : {};
    const cut: string[] = [];
    const alerts = async () => {
      const { alerts: found, next } = await findAlerts({ all: true, ...time, ...of }, kMost, signal);
      if (next) cut.push("alerts");
      return found.map((alert) => markOfAlert(alert, now));
    };
    const events = async () => {
      const { events: found, next } = await ask("GET /api/v1/events", { query: { limit: kMost, ...time, ...of }, signal });
      if (next) cut.push("events");
      return found.map(markOfEvent);
    };
    // Asked for before the end of the time, and not long before its beginning, so that the leader need not look at all there
    // ever were; those that were over before the time fall out below.
    const runs = async () => {
      const since = new Date(shown.from - kLongestRun).toISOString();
      const filter = `created<${time.to} created>${since}${node ? ` node="${node}"` : ""}`;
      const { runs: found, next } = await ask("GET /api/v1/runs", { query: { filter, limit: kMost }, signal });
      if (next && (found.length < kMost || (found.at(-1)?.created_ns ?? 0) / 1e6 > shown.from)) cut.push("runs");
      return found.flatMap((run) => markOfRun(run, now) ?? []);
    };
    const answers = await Promise.all(kinds.map((kind) => ({ alerts, events, runs })[kind]()));
    return { marks: within(answers.flat(), shown), cut };
  }, { every });
  return {
    get marks(): Mark[] {
      return found.value?.marks ?? [];
    },
    /** Kinds of which there are more than are marked: the newest are */
    get cut(): string[] {
      return found.value?.cut ?? [];
    },
  };
}
