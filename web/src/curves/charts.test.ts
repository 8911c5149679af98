import { describe, expect, test } from "vitest";
import type { RunCurve } from "../api/types";
import { chartsOf, type Side } from "./charts";

function curve(name: string, labels: Record<string, string> = {}): RunCurve {
  return { name, labels, unit: "s", span: 1, begin: [1, 2], points: [1, 1], finite: [1, 1], min: [1, 2], max: [1, 2], sum: [1, 2], last: [1, 2] };
}
const side = (run: string, label: string, ...curves: RunCurve[]): Side => ({ run, label, begin: 0, curves });
const look = { axis: "step" as const, smoothing: 0 };
const shown = (names: string[], sides: Side[]) => chartsOf(names, sides, look, () => "").map(({ names, lines, stacked }) => [stacked ? "stacked" : names[0], ...lines.map((line) => `${line.label}/${line.stroke ?? "-"}`)]);

describe("charts of curves", () => {
  test("of one run tell its series apart, of several the runs", () => {
    const gpus = [curve("gpu.util", { gpu: "a" }), curve("gpu.util", { gpu: "b" })];
    expect(shown(["gpu.util"], [side("r", "", ...gpus)])).toEqual([["gpu.util", "GPU a/-", "GPU b/-"]]);
    expect(shown(["loss"], [side("r", "small", curve("loss")), side("s", "large", curve("loss"))])).toEqual([["loss", "small/0", "large/1"]]);
  });
  test("put the parts of a step into one, where the first of them would be", () => {
    const names = ["loss", "forward_seconds", "step_seconds", "backward_seconds"];
    const mine = names.map((name) => curve(name));
    expect(shown(names, [side("r", "", ...mine)])).toEqual([["loss", "loss/-"], ["stacked", "forward/-", "backward/-"], ["step_seconds", "step_seconds/-"]]);
    expect(shown(names, [side("r", "a", ...mine), side("s", "b", ...mine)]).map(([name]) => name)).toEqual(names);
  });
  test("are empty of what no run has", () => expect(shown(["loss"], [side("r", "")])).toEqual([["loss"]]));
});
