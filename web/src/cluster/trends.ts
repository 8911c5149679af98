// How GPUs develop over weeks, of many nodes. Pure functions of what the leader says.

import type { NodeTrends, TrendView } from "../api/types";

export interface GpuTrendOf {
  node: string;
  gpu: string;
  trend: TrendView;
}

export function trendsOf(nodes: NodeTrends[]): GpuTrendOf[] {
  return nodes.flatMap(({ node, gpus }) => Object.entries(gpus).map(([gpu, trend]) => ({ node, gpu, trend })));
}

/** The GPU of a node that became hotter most, or else the one that changed most; null: none has enough data. */
export function worstTrend(trends: NodeTrends | undefined): GpuTrendOf | null {
  if (!trends) return null;
  const known = trendsOf([trends]).filter(({ trend }) => trend.change_c !== null && trend.verdict !== "too little data");
  const weight = ({ trend }: GpuTrendOf) => (trend.verdict === "hotter" ? 1e6 : trend.verdict === "cooler" ? 1e3 : 0) + Math.abs(trend.change_c ?? 0);
  return known.reduce<GpuTrendOf | null>((worst, one) => (!worst || weight(one) > weight(worst) ? one : worst), null);
}

/** How many GPUs of each verdict. */
export function countVerdicts(trends: GpuTrendOf[]): Map<string, number> {
  const often = new Map<string, number>();
  for (const { trend } of trends) often.set(trend.verdict, (often.get(trend.verdict) ?? 0) + 1);
  return often;
}
