import { ask } from "./ask";
import type { NodeView } from "./types";

/** Every node, page after page; `values`: with its newest ones. */
export async function allNodes(values: boolean, signal?: AbortSignal, asked: typeof ask = ask): Promise<{ nodes: NodeView[] }> {
  const nodes: NodeView[] = [];
  for (let after = ""; ; ) {
    const page = await asked("GET /api/v1/nodes", { query: { ...(values ? { values } : {}), ...(after ? { after } : {}) }, signal });
    nodes.push(...page.nodes);
    if (!page.next) return { nodes };
    after = page.next;
  }
}
