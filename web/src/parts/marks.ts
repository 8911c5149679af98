import type { Mark } from "./chart_data";

/** The marks at a place of the axis: those that last over it, and those that are at most `near` from it; the nearest first. */
export function marksAt(marks: Mark[], x: number, near: number): Mark[] {
  const away = (mark: Mark) => (x < mark.x ? mark.x - x : mark.to !== undefined && x <= mark.to ? 0 : x - (mark.to ?? mark.x));
  return marks
    .map((mark) => ({ mark, from: away(mark) }))
    .filter(({ from }) => from <= near)
    .sort((a, b) => a.from - b.from || b.mark.x - a.mark.x)
    .map(({ mark }) => mark);
}
