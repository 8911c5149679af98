import { expect, test } from "vitest";
import type { NodeView, QueuedRun, RunRow, ListedSlurmJob } from "../api/types";
import { usesByNode, useText } from "./in_use";

const node = (name: string, host: string) => ({ name, facts: { host } }) as unknown as NodeView;
const queued = (id: string, state: string) => ({ run: id, name: id, by: "ada", state, node: "gpu-a", further: ["gpu-b"] }) as QueuedRun;
const run = (id: string, on: string[], host = "") => ({ id, name: id, on, host }) as RunRow;

test("a run is on all nodes that it was given, whatever the machines call themselves", () => {
  const uses = usesByNode([node("gpu-a", "x1"), node("gpu-b", "x2")], [run("gang", ["gpu-a", "gpu-b"], "x1.cluster")], [queued("gang", "running"), queued("next", "queued")], []);
  expect([...uses].map(([name, mine]) => [name, useText(mine)])).toEqual([["gpu-a", "gang (ada)"], ["gpu-b", "gang (ada)"]]);
});

test("one that nobody has placed is where its machine is known, and jobs of Slurm are told, but not twice", () => {
  const job = (id: string, of_assay: boolean) => ({ id, user: "bob", on: ["gpu-a"], of_assay }) as ListedSlurmJob;
  const uses = usesByNode([node("gpu-a", "x1")], [run("own", [], "x1.cluster"), run("away", [], "elsewhere")], [], [job("12", false), job("13", true)]);
  expect([...uses].map(([name, mine]) => [name, useText(mine)])).toEqual([["gpu-a", "own, Slurm job 12 (bob)"]]);
});
