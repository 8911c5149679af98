// A chart as a table for other programs. It never has what was smoothed, and says what is a mean. Pure functions.

import { joined, meansOf, type Line } from "./chart_data";

export interface CsvTable {
  file: string;
  header: string[];
  rows: unknown[][];
}

export type ChartAxis = "time" | "step" | "elapsed";
const kAxisNames: Record<ChartAxis, string> = { time: "time", step: "step", elapsed: "elapsed_s" };

export function csvTable(title: string, lines: Line[], axis: ChartAxis, unit: string): CsvTable {
  const brackets = unit ? ` [${unit}]` : "";
  const columns = lines.flatMap((line) => {
    const means = meansOf([line]);
    const value = { ...line, y: line.raw ?? line.y };
    if (means === 1) return [{ line: value, title: line.label + brackets }];
    return [
      { line: value, title: `${line.label}, mean of up to ${means}${brackets}` },
      { line: { ...line, y: line.low ?? line.y }, title: `${line.label}, smallest${brackets}` },
      { line: { ...line, y: line.high ?? line.y }, title: `${line.label}, largest${brackets}` },
    ];
  });
  const [x, ...values] = joined(columns.map(({ line }) => line));
  return {
    file: `${title}${meansOf(lines) > 1 ? "-means" : ""}.csv`,
    header: [kAxisNames[axis], ...columns.map((column) => column.title)],
    rows: x.map((at, i) => [axis === "time" ? new Date(at).toISOString() : at, ...values.map((column) => column[i] ?? "")]),
  };
}
