import { ask } from "../api/ask";
import { load, type Loaded } from "../api/loaded.svelte";
import type { NodeTrends } from "../api/types";

/** Of every node, page by page; the leader looks at them once an hour. To be called while a component is set up. */
export function allTrends(): Loaded<Map<string, NodeTrends>> {
  return load(async (signal) => {
    const found = new Map<string, NodeTrends>();
    for (let after: string | undefined = ""; after !== undefined; ) {
      const page: { nodes: NodeTrends[]; next: string } = await ask("GET /api/v1/trends", { query: after ? { after } : {}, signal });
      for (const one of page.nodes) found.set(one.node, one);
      after = page.next || undefined;
    }
    return found;
  }, { every: 3_600_000 });
}
