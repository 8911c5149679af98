import { expect, test } from "vitest";
import type { NodeTrends, TrendView } from "../api/types";
import { countVerdicts, trendsOf, worstTrend } from "./trends";

const trend = (verdict: string, change_c: number | null): TrendView => ({ verdict, why: "", power_w: 300, change_c, low_c: null, high_c: null, weeks: [] });
const node: NodeTrends = { node: "a", gpus: { G0: trend("steady", -3), G1: trend("hotter", 2.5), G2: trend("hotter", 4), G3: trend("too little data", null), G4: trend("cooler", -9) } };

test("the GPU that became hotter most stands for its node", () => {
  expect(worstTrend(node)?.gpu).toBe("G2");
  expect(worstTrend({ node: "b", gpus: { G0: trend("steady", 0.2), G1: trend("cooler", -3) } })?.gpu).toBe("G1");
  expect(worstTrend({ node: "b", gpus: { G0: trend("too little data", null) } })).toBeNull();
  expect(worstTrend(undefined)).toBeNull();
});

test("verdicts are counted over all nodes", () => {
  expect([...countVerdicts(trendsOf([node, { node: "b", gpus: { H: trend("hotter", 3) } }]))]).toEqual([["steady", 1], ["hotter", 3], ["too little data", 1], ["cooler", 1]]);
});
