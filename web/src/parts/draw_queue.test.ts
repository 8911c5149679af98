import { expect, test } from "vitest";
import { DrawQueue } from "./draw_queue";

function staged(costMs: number) {
  let time = 0;
  const frames: (() => void)[] = [];
  const queue = new DrawQueue((turn) => frames.push(turn), () => time);
  const drawn: string[] = [];
  const draws = ["a", "b", "c", "d"].map((name) => () => {
    time += costMs;
    drawn.push(name);
  });
  return { queue, drawn, draws, frame: () => frames.shift()?.(), frames };
}

test("what is quick is drawn in one frame, once", () => {
  const { queue, drawn, draws, frame, frames } = staged(1);
  for (const draw of [...draws, ...draws]) queue.soon(draw);
  frame();
  expect(drawn).toEqual(["a", "b", "c", "d"]);
  expect(frames.length).toBe(0);
});

test("what is slow is spread over frames, in turn", () => {
  const { queue, drawn, draws, frame } = staged(5);
  for (const draw of draws) queue.soon(draw);
  frame();
  expect(drawn).toEqual(["a", "b"]);
  queue.soon(draws[0] as () => void);
  frame();
  frame();
  expect(drawn).toEqual(["a", "b", "c", "d", "a"]);
});

test("what is gone is not drawn", () => {
  const { queue, drawn, draws, frame } = staged(1);
  for (const draw of draws) queue.soon(draw);
  queue.forget(draws[1] as () => void);
  frame();
  expect(drawn).toEqual(["a", "c", "d"]);
});
