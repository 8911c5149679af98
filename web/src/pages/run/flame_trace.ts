// Reads a Chrome trace (of torch.profiler, Nsight, a browser) into lanes of threads with rows of nested events. Times are
// microseconds since the first event, as such traces count.

/** All events of a trace, by number. What belongs to event `i` stands at `i` of each list. */
export interface Flame {
  lanes: FlameLane[];
  start: Float64Array;
  duration: Float64Array;
  /** Into `names`. */
  name: Uint32Array;
  names: string[];
  category: string[];
  args: (Record<string, unknown> | undefined)[];
  /** When the last event ends; the first begins at 0. */
  end: number;
  /** Begun and never ended: they reach to the end. */
  unfinished: number;
  /** Counters, flows, marks and what makes no sense: not shown. */
  ignored: number;
}

/** What one thread or stream did. */
export interface FlameLane {
  /** Of process and thread, for what is remembered of a lane. */
  key: string;
  process: string;
  thread: string;
  /** The outermost first. Numbers of events, by start; those of a row do not overlap. */
  rows: Uint32Array[];
}

/** What is wrong with a file, in a sentence for whoever chose it. */
export class FlameError extends Error {}

interface RawEvent {
  ph?: unknown;
  ts?: unknown;
  dur?: unknown;
  pid?: unknown;
  tid?: unknown;
  name?: unknown;
  cat?: unknown;
  args?: unknown;
}

/** Reads the text of a trace file. Throws FlameError. */
export function parseFlame(text: string): Flame {
  return flameOf(parseJson(text));
}

/** From a trace that is parsed: a list of events, or an object with `traceEvents`. Throws FlameError. */
export function flameOf(trace: unknown): Flame {
  const holder = isObject(trace) ? trace["traceEvents"] : trace;
  if (!Array.isArray(holder)) throw new FlameError("This is no Chrome trace: it has no list of events.");
  const collector = new Collector();
  for (const event of holder) collector.add(event);
  return collector.finish();
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (problem) {
    // The format lets a program that was killed leave its list open.
    const open = text.trimEnd().replace(/,$/, "");
    if (open.trimStart().startsWith("[")) {
      try {
        return JSON.parse(`${open}]`);
      } catch {
        // The first message is the one about the file as it is.
      }
    }
    throw new FlameError(`This is no JSON: ${problem instanceof Error ? problem.message : String(problem)}`);
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function numberOf(value: unknown): number {
  const number = typeof value === "string" && value !== "" ? Number(value) : value;
  return typeof number === "number" && Number.isFinite(number) ? number : NaN;
}

function textOf(value: unknown): string {
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}

/** Events of one thread while a trace is read. */
class LaneEvents {
  readonly events: number[] = [];
  /** Begun by `B`, not ended yet. */
  readonly open: number[] = [];
  constructor(
    readonly pid: string,
    readonly tid: string,
  ) {}
}

class Collector {
  private readonly start: number[] = [];
  private readonly duration: number[] = [];
  private readonly name: number[] = [];
  private readonly category: string[] = [];
  private readonly args: (Record<string, unknown> | undefined)[] = [];
  private readonly names = new Map<string, number>();
  private readonly lanes = new Map<string, LaneEvents>();
  /** By what they are of and by whom: `thread_name` of lane `1/2`, `process_name` of process `1`. */
  private readonly notes = new Map<string, unknown>();
  private ignored = 0;

  add(raw: unknown): void {
    if (!isObject(raw)) {
      this.ignored += 1;
      return;
    }
    const event = raw as RawEvent;
    switch (event.ph) {
      case "X":
        return this.addWhole(event);
      case "B":
        return this.addBegin(event);
      case "E":
        return this.addEnd(event);
      case "M":
        return this.addNote(event);
      default:
        this.ignored += 1;
    }
  }

  finish(): Flame {
    const begin = this.start.reduce((least, at) => Math.min(least, at), Infinity);
    const last = this.start.reduce((most, at, i) => Math.max(most, at + Math.max(0, this.duration[i] ?? 0)), -Infinity);
    let unfinished = 0;
    for (const lane of this.lanes.values()) {
      unfinished += lane.open.length;
      for (const event of lane.open) this.duration[event] = last - (this.start[event] ?? last);
    }
    const start = Float64Array.from(this.start, (at) => at - begin);
    const duration = Float64Array.from(this.duration);
    const lanes = [...this.lanes.values()].filter((lane) => lane.events.length > 0);
    lanes.sort((a, b) => this.compare(a, b));
    return {
      lanes: lanes.map((lane) => ({ ...this.titleOf(lane), rows: rowsOf(lane.events, start, duration) })),
      start,
      duration,
      name: Uint32Array.from(this.name),
      names: [...this.names.keys()],
      category: this.category,
      args: this.args,
      end: this.start.length > 0 ? last - begin : 0,
      unfinished,
      ignored: this.ignored,
    };
  }

  private laneOf(event: RawEvent): LaneEvents {
    const [pid, tid] = [textOf(event.pid), textOf(event.tid)];
    const key = `${pid}/${tid}`;
    let lane = this.lanes.get(key);
    if (!lane) this.lanes.set(key, (lane = new LaneEvents(pid, tid)));
    return lane;
  }

  private push(event: RawEvent, start: number, duration: number): number {
    const name = textOf(event.name) || "(no name)";
    let known = this.names.get(name);
    if (known === undefined) this.names.set(name, (known = this.names.size));
    this.start.push(start);
    this.duration.push(duration);
    this.name.push(known);
    this.category.push(textOf(event.cat));
    this.args.push(isObject(event.args) ? event.args : undefined);
    return this.start.length - 1;
  }

  private addWhole(event: RawEvent): void {
    const start = numberOf(event.ts);
    const duration = event.dur === undefined ? 0 : numberOf(event.dur);
    if (Number.isNaN(start) || !(duration >= 0)) {
      this.ignored += 1;
      return;
    }
    this.laneOf(event).events.push(this.push(event, start, duration));
  }

  private addBegin(event: RawEvent): void {
    const start = numberOf(event.ts);
    if (Number.isNaN(start)) {
      this.ignored += 1;
      return;
    }
    const lane = this.laneOf(event);
    const number = this.push(event, start, 0);
    lane.events.push(number);
    lane.open.push(number);
  }

  /** The end of the event that was begun last; its arguments belong to it, too. */
  private addEnd(event: RawEvent): void {
    const lane = this.laneOf(event);
    const begun = lane.open.at(-1);
    const end = numberOf(event.ts);
    if (begun === undefined || !(end >= (this.start[begun] ?? Infinity))) {
      this.ignored += 1;
      return;
    }
    lane.open.pop();
    this.duration[begun] = end - (this.start[begun] ?? end);
    if (isObject(event.args)) this.args[begun] = { ...this.args[begun], ...event.args };
  }

  private addNote(event: RawEvent): void {
    const kind = textOf(event.name);
    const value = isObject(event.args) ? (event.args["name"] ?? event.args["sort_index"]) : undefined;
    const whose = kind.startsWith("process_") ? textOf(event.pid) : `${textOf(event.pid)}/${textOf(event.tid)}`;
    this.notes.set(`${kind} ${whose}`, value);
  }

  private titleOf(lane: LaneEvents): { key: string; process: string; thread: string } {
    const key = `${lane.pid}/${lane.tid}`;
    return {
      key,
      process: textOf(this.notes.get(`process_name ${lane.pid}`)) || `process ${lane.pid}`,
      thread: textOf(this.notes.get(`thread_name ${key}`)) || `thread ${lane.tid}`,
    };
  }

  /** As the trace says, else by number. */
  private compare(a: LaneEvents, b: LaneEvents): number {
    const index = (kind: string, whose: string): number => numberOf(this.notes.get(`${kind}_sort_index ${whose}`)) || 0;
    return (
      index("process", a.pid) - index("process", b.pid) ||
      a.pid.localeCompare(b.pid, "en", { numeric: true }) ||
      index("thread", `${a.pid}/${a.tid}`) - index("thread", `${b.pid}/${b.tid}`) ||
      a.tid.localeCompare(b.tid, "en", { numeric: true })
    );
  }
}

// Programs round start and duration by themselves: what ends so little after the next begins is beside it, not around it.
const kRounding = 0.001;

/** Puts each event below the innermost that goes on around it, in the first row that is free: children are below their
 * parents, and what overlaps without nesting takes no more rows than it has to. */
function rowsOf(events: number[], start: Float64Array, duration: Float64Array): Uint32Array[] {
  const at = (list: Float64Array, i: number): number => list[i] ?? 0;
  // The longer of two that begin together is the outer one; of two that are alike it is the first in the file.
  const sorted = [...events].sort((a, b) => at(start, a) - at(start, b) || at(duration, b) - at(duration, a) || a - b);
  const rows: number[][] = [];
  const ends: number[] = [];
  for (const event of sorted) {
    const begin = at(start, event) + kRounding;
    const end = at(start, event) + at(duration, event);
    let row = ends.length;
    while (row > 0 && !isAround(ends[row - 1] ?? 0, begin, end)) row -= 1;
    while (row < ends.length && (ends[row] ?? 0) > begin) row += 1;
    ends[row] = end;
    (rows[row] ??= []).push(event);
  }
  return rows.map((row) => Uint32Array.from(row));
}

function isAround(outer: number, begin: number, end: number): boolean {
  return outer > begin && outer + kRounding >= end;
}
