import type { NodeView } from "../api/types";

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
  kind: "hot" | "imbalance" | "underused";
  node: string;
  text: string;
}

/**
 * What an administrator should look at: hot GPUs, nodes whose GPUs do not share the work, memory taken by those who do
 * not compute. `mean` gives a GPU's mean of a metric over the time that is shown.
 */
export function standouts(gpus: GpuView[], mean: (gpu: GpuView, metric: string) => number | null | undefined): Standout[] {
  const found: Standout[] = [];
  const nodes = new Map<string, GpuView[]>();
  for (const gpu of gpus) if (gpu.online) nodes.set(gpu.node, [...(nodes.get(gpu.node) ?? []), gpu]);
  for (const [node, mine] of nodes) {
    const hot = mine.filter((gpu) => (mean(gpu, "gpu.temperature_c") ?? 0) >= kHot);
    if (hot.length > 0) {
      const worst = Math.max(...hot.map((gpu) => mean(gpu, "gpu.temperature_c") ?? 0));
      found.push({ kind: "hot", node, text: `GPU ${hot.map((gpu) => gpu.index).join(", ")} at ${worst.toFixed(0)} °C` });
    }
    const utils = mine.map((gpu) => mean(gpu, "gpu.util")).filter((util): util is number => typeof util === "number");
    const [low, high] = [Math.min(...utils), Math.max(...utils)];
    if (utils.length > 1 && high - low > 0.4) {
      found.push({ kind: "imbalance", node, text: `its GPUs are used from ${(low * 100).toFixed(0)} % to ${(high * 100).toFixed(0)} %` });
    }
    const asleep = mine.filter((gpu) => {
      const [used, total] = [gpu.values["gpu.memory_used_bytes"] ?? 0, gpu.values["gpu.memory_total_bytes"] ?? 0];
      return total > 0 && used > 0.1 * total && (mean(gpu, "gpu.util") ?? 1) < kIdle;
    });
    if (asleep.length > 0) {
      found.push({ kind: "underused", node, text: `GPU ${asleep.map((gpu) => gpu.index).join(", ")}: memory is taken, but nothing computes` });
    }
  }
  return found;
}
