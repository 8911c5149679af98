// Eight colours that the colour-blind can tell apart (after Okabe and Ito), then the same with other dashes: a line is
// known by both. The colours themselves are in theme.css, since dark and light differ.

const kColours = 8;
const kDashes: number[][] = [[], [8, 4], [2, 3], [10, 3, 2, 3]];

/** So many lines can be told apart. */
export const kStrokes = kColours * kDashes.length;

export interface Stroke {
  colour: string;
  dash: number[];
}

export function strokeName(index: number): { variable: string; dash: number[] } {
  return { variable: `--line-${index % kColours}`, dash: kDashes[Math.floor(index / kColours) % kDashes.length] ?? [] };
}

export function stroke(index: number, style: CSSStyleDeclaration): Stroke {
  const { variable, dash } = strokeName(index);
  return { colour: style.getPropertyValue(variable).trim() || "#0072b2", dash };
}
