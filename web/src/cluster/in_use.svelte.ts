import { ask } from "../api/ask";
import { load } from "../api/loaded.svelte";
import type { NodeView } from "../api/types";
import { usesByNode, type NodeUse } from "./in_use";

/** Who has been given which node, as it changes. To be called while a component is set up. */
export function nodeUses(nodes: () => NodeView[]): (node: string) => NodeUse[] {
  // Those that nobody has placed; a leader that did would have to look at all runs for older ones.
  const going = load((signal) => ask("GET /api/v1/runs", { query: { filter: "state!=ended state!=queued created>7d", limit: 1000 }, signal }), { every: 10_000 });
  const queue = load((signal) => ask("GET /api/v1/queue", { signal }), { every: 10_000 });
  const slurm = load((signal) => ask("GET /api/v1/slurm/jobs", { signal }), { every: 10_000 });
  const uses = $derived(usesByNode(nodes(), going.value?.runs ?? [], queue.value?.runs ?? [], slurm.value?.jobs ?? []));
  return (node) => uses.get(node) ?? [];
}
