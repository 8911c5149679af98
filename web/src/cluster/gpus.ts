import type { NodeView, SeriesAnswer } from "../api/types";

export interface GpuView {
  node: string;
  uuid: string;
  /** "3"; its place in the node, which may change, beside the UUID, which does not */
  index: string;
  name: string;
  values: Record<string, number | null>;
  online: boolean;
}

export function gpusOf(nodes: NodeView[]): GpuView[] {
  return nodes.flatMap((node) =>
    node.devices
      .filter((device) => device.facts["kind"] === undefined || device.facts["kind"] === "gpu")
      .map((device) => ({
        node: node.name,
        uuid: device.id,
        index: device.facts["index"] ?? "?",
        name: device.facts["name"] ?? "GPU",
        values: node.values?.gpus[device.id] ?? {},
        online: node.state !== "offline",
      })),
  );
}

export function gpuLabels(gpus: GpuView[]): Map<string, string> {
  return new Map(gpus.map((gpu) => [gpu.uuid, `${gpu.node} GPU ${gpu.index}`]));
}

/** What a series of telemetry is called in a chart: where, and what tells it from others there. */
export function seriesLabel(labels: Record<string, string>, names: Map<string, string>, withNode = true): string {
  const { node = "", gpu, ...others } = labels;
  const rest = Object.values(others).join(" ");
  if (gpu) {
    const known = names.get(gpu);
    const short = known ? (withNode ? known : known.slice(known.indexOf(" GPU ") + 1)) : `${withNode ? node + " " : ""}${gpu.slice(0, 12)}`;
    return rest ? `${short} ${rest}` : short;
  }
  return [withNode || !rest ? node : "", rest].filter(Boolean).join(" ");
}

export const kHot = 85;
const kIdle = 0.05;

export interface GpuCounts {
  all: number;
  busy: number;
  idle: number;
  hot: number;
  silent: number;
}

/** Of those that say; null: none does. */
export function hottestOf(gpus: GpuView[]): GpuView | null {
  let hottest: GpuView | null = null;
  for (const gpu of gpus) {
    const now = gpu.online ? gpu.values["gpu.temperature_c"] : null;
    if (typeof now === "number" && now > (hottest?.values["gpu.temperature_c"] ?? -Infinity)) hottest = gpu;
  }
  return hottest;
}

export function countGpus(gpus: GpuView[]): GpuCounts {
  const counts = { all: gpus.length, busy: 0, idle: 0, hot: 0, silent: 0 };
  for (const gpu of gpus) {
    const util = gpu.values["gpu.util"];
    if (!gpu.online || util === null || util === undefined) ++counts.silent;
    else if (util > kIdle) ++counts.busy;
    else ++counts.idle;
    if (gpu.online && (gpu.values["gpu.temperature_c"] ?? 0) >= kHot) ++counts.hot;
  }
  return counts;
}

/** Clocks held down by these are a fault or heat; idle clocks and those that somebody set are not. */
const kSlowing = ["hw_slowdown", "hw_thermal", "sw_thermal", "power_brake"];

export interface Throttled {
  /** By heat or the hardware */
  slowed: number;
  /** By nothing but the power limit: usual under full load */
  atPowerLimit: number;
}

/** From the newest values of `gpu.throttle`, one series for each GPU and reason. */
export function countThrottled(series: { labels: Record<string, string>; last: number | null | undefined }[]): Throttled {
  const slowed = new Set<string>();
  const limited = new Set<string>();
  for (const { labels, last } of series) {
    const { gpu, reason } = labels;
    if (!gpu || !reason || !last) continue;
    if (kSlowing.includes(reason)) slowed.add(gpu);
    else if (reason === "sw_power") limited.add(gpu);
  }
  return { slowed: slowed.size, atPowerLimit: [...limited].filter((gpu) => !slowed.has(gpu)).length };
}

export interface Standout {
  kind: "hot" | "imbalance" | "uneven" | "underused" | "idle";
  nodes: string[];
  text: string;
  /** How far it is from what is usual, beside others of its kind */
  by?: number;
}

/** What comes first */
const kKinds: Standout["kind"][] = ["hot", "underused", "uneven", "imbalance", "idle"];

/** A node's GPUs are used this differently, or nodes are, where that is worth a look. */
const kUneven = 0.4;

/** The mean of each GPU over the time of an answer, by UUID. */
export function meansOf(answer: SeriesAnswer | undefined): Map<string, number> {
  const means = new Map<string, number>();
  for (const { labels, buckets } of answer?.series ?? []) {
    let [sum, n] = [0, 0];
    for (const [, , , mean, count] of buckets) if (mean !== null) [sum, n] = [sum + mean * count, n + count];
    if (labels["gpu"] && n > 0) means.set(labels["gpu"], sum / n);
  }
  return means;
}

const percent = (share: number) => `${(share * 100).toFixed(0)} %`;
const numbers = (gpus: GpuView[]) => `GPU ${gpus.map((gpu) => gpu.index).join(", ")}`;

/** What one node's GPUs have among themselves. */
function standoutsOf(node: string, mine: GpuView[], mean: GpuMean): Standout[] {
  const found: Standout[] = [];
  const hot = mine.filter((gpu) => (mean(gpu, "gpu.temperature_c") ?? 0) >= kHot);
  if (hot.length > 0) {
    const worst = Math.max(...hot.map((gpu) => mean(gpu, "gpu.temperature_c") ?? 0));
    found.push({ kind: "hot", nodes: [node], text: `${numbers(hot)} at ${worst.toFixed(0)} °C`, by: worst });
  }
  const utils = mine.map((gpu) => mean(gpu, "gpu.util")).filter((util): util is number => typeof util === "number");
  const [low, high] = [Math.min(...utils), Math.max(...utils)];
  if (utils.length > 1 && high - low > kUneven) {
    found.push({ kind: "imbalance", nodes: [node], text: `its GPUs are used from ${percent(low)} to ${percent(high)}`, by: high - low });
  }
  const asleep = mine.filter((gpu) => {
    const [used, total] = [gpu.values["gpu.memory_used_bytes"] ?? 0, gpu.values["gpu.memory_total_bytes"] ?? 0];
    return total > 0 && used > 0.1 * total && (mean(gpu, "gpu.util") ?? 1) < kIdle;
  });
  if (asleep.length > 0) found.push({ kind: "underused", nodes: [node], text: `${numbers(asleep)}: memory is taken, but nothing computes` });
  return found;
}

/** A GPU's mean of a metric over the time that is shown. */
type GpuMean = (gpu: GpuView, metric: string) => number | null | undefined;

/**
 * What an administrator should look at: hot GPUs; GPUs of a node, and nodes, that do not share the work; memory and nodes
 * that are taken while nothing computes; nodes that had nothing to do all the time. `given` says to whom a node was given; "":
 * to nobody. The worst first.
 */
export function standouts(gpus: GpuView[], mean: GpuMean, given: (node: string) => string = () => ""): Standout[] {
  const found: Standout[] = [];
  const nodes = new Map<string, GpuView[]>();
  for (const gpu of gpus) {
    if (!gpu.online) continue;
    const mine = nodes.get(gpu.node);
    if (mine) mine.push(gpu);
    else nodes.set(gpu.node, [gpu]);
  }
  const idle: string[] = [];
  const busy: { node: string; util: number }[] = [];
  for (const [node, mine] of nodes) {
    const own = standoutsOf(node, mine, mean);
    found.push(...own);
    const utils = mine.map((gpu) => mean(gpu, "gpu.util")).filter((util): util is number => typeof util === "number");
    if (utils.length === 0) continue;
    if (utils.some((util) => util >= kIdle)) busy.push({ node, util: utils.reduce((sum, util) => sum + util, 0) / utils.length });
    else if (given(node)) found.push({ kind: "underused", nodes: [node], text: `given to ${given(node)}, but its GPUs compute nothing` });
    else if (!own.some((one) => one.kind === "underused")) idle.push(node);
  }
  busy.sort((a, b) => a.util - b.util);
  const [least, most] = [busy[0], busy.at(-1)];
  if (least && most && most.util - least.util > kUneven) {
    found.push({ kind: "uneven", nodes: [least.node, most.node], text: `nodes are used from ${percent(least.util)} to ${percent(most.util)}` });
  }
  if (idle.length > 0) found.push({ kind: "idle", nodes: idle, text: idle.length === 1 ? "its GPUs had nothing to do all this time" : `the GPUs of ${idle.length} nodes had nothing to do all this time` });
  return found.sort((a, b) => kKinds.indexOf(a.kind) - kKinds.indexOf(b.kind) || (b.by ?? 0) - (a.by ?? 0));
}
