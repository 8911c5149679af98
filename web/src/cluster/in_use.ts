// Who has been given which node. Pure functions of what the leader says of runs, the queue and Slurm.

import type { NodeView, QueuedRun, RunRow, ListedSlurmJob } from "../api/types";

export interface NodeUse {
  /** "night training", "Slurm job 12" */
  what: string;
  /** "ada"; empty: not known */
  by: string;
}

const shortName = (host: string) => host.split(".")[0] ?? "";

/** Runs of the queue that have begun, on all of their nodes, others that go on, and jobs of Slurm, by the name of the node. */
export function usesByNode(nodes: NodeView[], going: RunRow[], queue: QueuedRun[], slurm: ListedSlurmJob[]): Map<string, NodeUse[]> {
  const uses = new Map<string, NodeUse[]>();
  const add = (node: string, use: NodeUse) => uses.set(node, [...(uses.get(node) ?? []), use]);
  const begun = queue.filter((run) => run.state !== "queued");
  for (const run of begun) for (const node of [run.node, ...(run.further ?? [])]) if (node) add(node, { what: run.name || run.run, by: run.by });
  const known = new Set(queue.map((run) => run.run));
  // A run that nobody has placed is where the machine calls itself as its record says.
  const byHost = new Map(nodes.map((node) => [shortName(node.facts["host"] ?? node.name), node.name]));
  for (const run of going) {
    if (known.has(run.id)) continue;
    const on = run.on.length > 0 ? run.on : [byHost.get(shortName(run.host)) ?? ""];
    for (const node of on) if (node) add(node, { what: run.name || run.id, by: "" });
  }
  for (const job of slurm) if (!job.of_assay) for (const node of job.on) add(node, { what: `Slurm job ${job.id}`, by: job.user });
  return uses;
}

/** "night training (ada), Slurm job 12 (bob)" */
export function useText(uses: NodeUse[]): string {
  return uses.map(({ what, by }) => (by ? `${what} (${by})` : what)).join(", ");
}
