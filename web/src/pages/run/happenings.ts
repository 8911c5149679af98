// What happened to a run's machines while it went on: alerts, events, clocks that were held down. Pure functions.

import type { AlertView, EventView, Placement, RunCurve } from "../../api/types";
import type { CurveAxis } from "../../curves/look";
import { parseTime, type Range } from "../../format/time";
import type { Mark } from "../../parts/chart_data";

export interface Happening {
  /** In milliseconds since 1970 */
  at: number;
  /** Until when, for what lasts; without: a moment, or not over yet */
  to?: number;
  tone: Mark["tone"];
  /** "" where nobody said */
  node: string;
  kind: string;
  what: string;
}

/** The nodes of a run, and of each the GPUs that it was given; null: all of them. */
export function machinesOf(placement: Placement | undefined): Map<string, string[] | null> {
  const machines = new Map<string, string[] | null>();
  if (placement?.node) machines.set(placement.node, placement.gpus ?? null);
  for (const { node, gpus } of placement?.further ?? []) machines.set(node, gpus);
  return machines;
}

/** Whether something about a GPU of a node is none of the run's business. */
function isOfOthers(machines: Map<string, string[] | null>, node: string, about: string): boolean {
  const gpus = machines.get(node);
  return gpus === undefined || (gpus !== null && about.startsWith("GPU-") && !gpus.includes(about));
}

const short = (gpu: string) => gpu.slice(0, 12);

/** Stretches without a gap in which a reason held, of the curves of `gpu.throttle` by time. */
export function throttlings(curves: RunCurve[]): Happening[] {
  return curves.flatMap((curve) => {
    const { reason = "", gpu = "", node = "" } = curve.labels;
    // To have nothing to do is no reason that anybody minds.
    if (curve.name !== "gpu.throttle" || reason === "idle") return [];
    const found: Happening[] = [];
    let open: Happening | null = null;
    curve.begin.forEach((begin, i) => {
      const at = begin / 1e6;
      if (!((curve.max[i] ?? 0) > 0)) {
        open = null;
        return;
      }
      if (!open) found.push((open = { at, tone: "warn", node, kind: "throttled", what: [gpu ? `GPU ${short(gpu)}` : "", reason.replaceAll("_", " ")].filter(Boolean).join(": ") }));
      open.to = at + curve.span / 1e6;
    });
    return found;
  });
}

/** What overlaps the time of a run on its machines, the earliest first. */
export function happeningsOf(machines: Map<string, string[] | null>, time: Range, alerts: AlertView[], events: EventView[], curves: RunCurve[]): Happening[] {
  const raised = alerts.filter(({ node, about }) => !isOfOthers(machines, node, about)).map((alert): Happening => ({
    at: alert.since_ns / 1e6, ...(alert.resolved_at_ns ? { to: alert.resolved_at_ns / 1e6 } : {}), tone: alert.severity === "critical" ? "bad" : "warn",
    node: alert.node, kind: `alert: ${alert.rule.replaceAll("_", " ")}`, what: alert.what,
  })).filter(({ at, to }) => at <= time.to && (to ?? Infinity) >= time.from);
  const told = events.filter(({ node, about }) => !isOfOthers(machines, node, about)).map((event): Happening => ({
    at: parseTime(event.time), tone: "info", node: event.node, kind: event.kind.replaceAll("_", " "), what: event.message,
  })).filter(({ at }) => at >= time.from && at <= time.to);
  // Where a run has one node, its series need not say which.
  const [only] = machines.size === 1 ? [...machines.keys()] : [""];
  const held = throttlings(curves).map((one) => ({ ...one, node: one.node || (only ?? "") }));
  return [...raised, ...told, ...held].sort((a, b) => a.at - b.at);
}

/** As marks of a chart whose axis counts from `begin`, in milliseconds, or is the time of day. What began before the run is drawn from its beginning. */
export function marksOf(happenings: Happening[], axis: CurveAxis, time: Range): Mark[] {
  const x = (ms: number) => (axis === "wall" ? ms : (ms - time.from) / 1000);
  return happenings.map(({ at, to, kind, what, tone }) => ({
    x: x(Math.max(at, time.from)), ...(to === undefined ? {} : { to: x(Math.min(to, time.to)) }), label: `${kind}: ${what}`, tone,
  }));
}

/** The time around something, for a page that shows its node. */
export function around({ at, to }: Happening, time: Range): Range {
  const kBesides = 120e3;
  const begin = Math.max(at, time.from);
  return { from: begin - kBesides, to: Math.max(begin, Math.min(to ?? begin, time.to)) + kBesides };
}
