// The charts of a report, as the leader writes them for every program that draws them (src/report/render_json.cpp).

export interface FigureAxis {
  label: string;
  unit: string;
  logarithmic: boolean;
  from_zero: boolean;
}

/** An interval; an end that is no number is null */
export type Interval = [number | null, number | null];

export interface XyPoint {
  x: number | null;
  y: number | null;
  /** Whiskers; of an expected range, how far it reaches */
  range?: Interval;
  /** Flagged or invalid: drawn hollow */
  marked?: boolean;
}

/** dashed: not measured; points: marks alone; steps: a distribution; expected_range: a filled band */
export type FigureStroke = "line" | "dashed" | "points" | "steps" | "expected_range";

export interface XySeries {
  name: string;
  stroke: FigureStroke;
  points: XyPoint[];
}

/** A level to hold values against. */
export interface Level {
  label: string;
  y: number | null;
}

export interface XyFigure {
  x: FigureAxis;
  y: FigureAxis;
  series: XySeries[];
  references: Level[];
}

export interface FigureBar {
  name: string;
  value: number | null;
  range?: Interval;
  marked?: boolean;
}

export interface BarFigure {
  axis: FigureAxis;
  bars: FigureBar[];
  references: Level[];
  /** A tolerance, shaded */
  band: Interval | null;
}

export interface HeatFigure {
  row_label: string;
  column_label: string;
  unit: string;
  rows: string[];
  columns: string[];
  cells: (number | null)[][];
}

/** "Throughput (samples/s)"; bytes and times are named along the axis, as GiB or ms. */
export function axisTitle({ label, unit }: FigureAxis, unitText: (unit: string) => string): string {
  const named = unit === "s" ? "" : unitText(unit);
  return named ? `${label} (${named})` : label;
}
