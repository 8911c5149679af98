// Curves of one run or several as charts. Pure functions.

import { titleOf } from "../cluster/titles";
import type { RunCurve } from "../api/types";
import type { Line } from "../parts/chart_data";
import { labelOf, lineOf } from "./curves";
import type { CurveAxis } from "./look";
import { isPartOfStep, kStepSeries, stepSplits } from "./step_split";

/** A run whose curves are drawn. */
export interface Side {
  run: string;
  /** What tells it from the others; "" where it is alone */
  label: string;
  /** Where it began, in nanoseconds since 1970 */
  begin: number;
  curves: RunCurve[];
}

export interface CurveChart {
  title: string;
  /** The series that it is made of */
  names: string[];
  unit: string;
  lines: Line[];
  /** The lines are parts of a whole */
  stacked: boolean;
}

interface Look {
  axis: CurveAxis;
  smoothing: number;
}

function chartOf(name: string, sides: Side[], look: Look, unitOf: (name: string) => string): CurveChart {
  let unit = unitOf(name);
  const lines: Line[] = [];
  sides.forEach((side, i) => {
    for (const curve of side.curves) {
      if (curve.name !== name || curve.begin.length === 0) continue;
      unit = curve.unit || unit;
      const more = labelOf(curve.labels);
      const line = lineOf(curve, look.axis, side.begin, look.smoothing, `${side.run}${more}`, [side.label, more].filter(Boolean).join(", ") || name);
      lines.push(sides.length > 1 ? { ...line, stroke: i } : line);
    }
  });
  return { title: titleOf(name), names: [name], unit, lines, stacked: false };
}

/** What a run's steps are made of, one chart for each process that says so; never smoothed, since the parts make up the whole. */
function splitCharts(side: Side, axis: CurveAxis): CurveChart[] {
  return stepSplits(side.curves).map(({ whose, parts }) => ({
    title: ["Where a step's time goes", whose].filter(Boolean).join(", "),
    names: kStepSeries,
    unit: "s",
    lines: parts.map(({ title, curve }) => lineOf(curve, axis, side.begin, 0, title, title)),
    stacked: true,
  }));
}

/** A chart for each of the series, in their order; of a run alone, the parts of its steps are one. */
export function chartsOf(names: string[], sides: Side[], look: Look, unitOf: (name: string) => string): CurveChart[] {
  const [alone, ...others] = sides;
  const splits = alone && others.length === 0 ? splitCharts(alone, look.axis) : [];
  const first = splits.length > 0 ? names.findIndex(isPartOfStep) : -1;
  return names.flatMap((name, i) => {
    if (i === first) return splits;
    return first >= 0 && isPartOfStep(name) ? [] : [chartOf(name, sides, look, unitOf)];
  });
}
