import { describe, expect, it } from "vitest";
import { Crowd, type CrowdChart, type CrowdLook } from "./crowd";

/** A canvas that writes down what is drawn. */
function canvas() {
  const said: string[] = [];
  const state = { strokeStyle: "", lineWidth: 0, globalAlpha: 1, lineJoin: "" };
  const ctx = Object.assign(state, {
    save: () => undefined, restore: () => undefined, rect: () => undefined, clip: () => undefined, beginPath: () => undefined, getImageData: () => undefined,
    moveTo: (x: number, at: number) => said.push(`to ${x},${at}`),
    lineTo: (x: number, at: number) => said.push(`line ${x},${at}`),
    stroke: () => said.push(`${state.strokeStyle} ${state.lineWidth}`),
    drawImage: (_: unknown, ...to: number[]) => said.push(`picture at ${to.join()} ${state.globalAlpha}`),
  });
  const made = { width: 0, height: 0, said, ctx: ctx as unknown as CanvasRenderingContext2D, getContext: () => ctx };
  return made as typeof made & HTMLCanvasElement;
}

function stage(data: CrowdChart["data"], look: Partial<CrowdLook> = {}, y: { min?: number; max?: number } = { min: 0, max: 10 }) {
  const front = canvas();
  const pictures: ReturnType<typeof canvas>[] = [];
  const chart = { ctx: front.ctx, bbox: { left: 10, top: 0, width: 100, height: 100 }, data, scales: { x: { min: 0, max: 2 }, y } };
  const crowd = new Crowd({ colours: ["red", "blue", "red"], logarithmic: false, ratio: 1, ...look }, () => {
    const made = canvas();
    pictures.push(made);
    return made;
  });
  /** Shows it, and paints as long as there is something to paint. */
  const settle = (pinned: number[] = [], hovered = -1) => {
    front.said.length = 0;
    while (crowd.show(chart, pinned, hovered)) while (!crowd.step());
    return front.said.splice(0);
  };
  return { crowd, chart, pictures, settle, front };
}

describe("many lines", () => {
  it("are a picture that the chart shows", () => {
    const { settle, pictures } = stage([[0, 1, 2], [0, 5, 10], [1, 1, 1], [2, 2, 2]]);
    expect(settle()).toEqual(["picture at 10,0,100,100 1"]);
    expect(pictures.map(({ width, height }) => [width, height])).toEqual([[100, 100]]);
    expect(pictures[0]?.said).toEqual(["to 0,100", "line 50,50", "line 100,0", "red 1", "to 0,90", "line 50,90", "line 100,90", "blue 1", "to 0,80", "line 50,80", "line 100,80", "red 1"]);
  });
  it("end at a gap, and pass over points of others", () => {
    const { settle, pictures } = stage([[0, 1, 2], [5, null, 5], [5, undefined, 5]], { colours: ["red", "blue"] });
    settle();
    expect(pictures[0]?.said).toEqual(["to 0,50", "to 100,50", "red 1", "to 0,50", "line 100,50", "blue 1"]);
  });
  it("have no place for nothing on a logarithmic axis", () => {
    const { settle, pictures } = stage([[0, 1, 2], [1, 0, 100]], { colours: ["red"], logarithmic: true }, { min: 1, max: 100 });
    settle();
    expect(pictures[0]?.said).toEqual(["to 0,100", "to 100,0", "red 1"]);
  });
  it("stay behind what is pinned or near the pointer, in the same picture", () => {
    const { settle, pictures } = stage([[0, 2], [1, 1], [2, 2], [3, 3]], { ratio: 2 });
    settle();
    expect(settle([0])).toEqual(["picture at 10,0,100,100 0.25", "to 10,90", "line 110,90", "red 6"]);
    expect(settle([0], 1)).toEqual(["picture at 10,0,100,100 0.15", "to 10,90", "line 110,90", "red 6", "to 10,80", "line 110,80", "blue 4"]);
    expect(pictures.length).toBe(1);
  });
  it("are painted some at a time", () => {
    const { crowd, chart } = stage([[0, 2], ...Array.from({ length: 90 }, () => [1, 1])], { colours: Array.from({ length: 90 }, () => "red") });
    expect(crowd.show(chart, [], -1)).toBe(true);
    expect([crowd.step(), crowd.step(), crowd.step(), crowd.step()]).toEqual([false, false, true, false]);
    expect(crowd.show(chart, [], -1)).toBe(false);
  });
  it("move with the axes until there is a new picture, and one that is begun is finished before", () => {
    const { crowd, chart, pictures, settle, front } = stage([[0, 1, 2], [0, 5, 10]], { colours: ["red"] });
    settle();
    chart.scales.x = { min: 1, max: 3 };
    expect(crowd.show(chart, [], -1)).toBe(true);
    chart.scales.y = { min: 0, max: 20 };
    expect(crowd.show(chart, [], -1)).toBe(true);
    expect(front.said).toEqual(["picture at -40,0,100,100 1", "picture at -40,50,100,50 1"]);
    expect(pictures.length).toBe(2);
    expect(settle()).toEqual(["picture at -40,50,100,50 1", "picture at 10,50,100,50 1", "picture at 10,0,100,100 1"]);
    expect(pictures.length, "canvases are used again").toBe(2);
  });
  it("are not drawn before the chart has a scale", () => expect(stage([[0], [1]], {}, {}).settle()).toEqual([]));
});
