import { expect, test } from "vitest";
import { csvTable } from "./chart_csv";

test("values are written as they were recorded, not smoothed", () => {
  const table = csvTable("loss", [{ key: "a", label: "loss", x: [1, 2], y: [0.5, 0.5], raw: [0.1, 0.9], low: [0.1, 0.9], high: [0.1, 0.9], counts: [1, 1] }], "step", "");
  expect(table).toEqual({ file: "loss.csv", header: ["step", "loss"], rows: [[1, 0.1], [2, 0.9]] });
});

test("what is a mean says so, in its name and in its header, and has its extremes beside it", () => {
  const table = csvTable("power", [{ key: "a", label: "GPU 0", x: [1000], y: [300], low: [100], high: [700], counts: [60] }], "time", "W");
  expect(table.file).toBe("power-means.csv");
  expect(table.header).toEqual(["time", "GPU 0, mean of up to 60 [W]", "GPU 0, smallest [W]", "GPU 0, largest [W]"]);
  expect(table.rows).toEqual([["1970-01-01T00:00:01.000Z", 300, 100, 700]]);
});
