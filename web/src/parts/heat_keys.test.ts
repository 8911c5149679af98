import { expect, test } from "vitest";
import { nextCell } from "./heat_keys";

// Three nodes: twenty GPUs in lines of sixteen, none, and three.
const go = (row: number, cell: number, key: string) => {
  const next = nextCell([20, 0, 3], 16, { row, cell }, key);
  return next ? [next.row, next.cell] : null;
};

test("arrows go through all cells, across rows and over empty ones", () => {
  expect(go(0, 0, "ArrowRight")).toEqual([0, 1]);
  expect(go(0, 19, "ArrowRight")).toEqual([2, 0]);
  expect(go(2, 0, "ArrowLeft")).toEqual([0, 19]);
  expect(go(2, 2, "ArrowRight")).toBeNull();
  expect(go(0, 0, "ArrowLeft")).toBeNull();
});

test("up and down keep the column", () => {
  expect(go(0, 2, "ArrowDown")).toEqual([0, 18]);
  expect(go(0, 18, "ArrowDown")).toEqual([2, 2]);
  expect(go(0, 5, "ArrowDown")).toEqual([2, 2]);
  expect(go(2, 1, "ArrowUp")).toEqual([0, 17]);
  expect(go(0, 3, "ArrowUp")).toBeNull();
});

test("Home and End stay in the row; other keys do nothing", () => {
  expect([go(0, 7, "Home"), go(0, 7, "End"), go(0, 7, "a")]).toEqual([[0, 0], [0, 19], null]);
});
