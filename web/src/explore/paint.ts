// What both plots paint alike: texts that fit, ticks, colours by a dimension.

import { quantity } from "../format/units";
import { strokeName } from "../format/palette";
import { mixed, placeOf, shareOf, type Dimension, type Scale } from "./dimensions";

/** A place of an axis in words. */
export function placeText(scale: Scale, place: number, unit: string): string {
  return scale.kind === "text" ? (scale.words[Math.round(place)] ?? "") : quantity(place, unit);
}

export function valueText(dimension: Dimension, subject: number): string {
  const value = dimension.values[subject];
  return typeof value === "number" ? quantity(value, dimension.unit) : (value ?? "–");
}

/** As much of a text as is no wider than `width`. */
export function fitted(pen: Pick<CanvasRenderingContext2D, "measureText">, text: string, width: number): string {
  if (pen.measureText(text).width <= width) return text;
  let length = text.length;
  while (length > 1 && pen.measureText(text.slice(0, length) + "…").width > width) --length;
  return text.slice(0, length) + "…";
}

/** The colour of a subject: by place along a ramp, by word, or the same for all; muted without a value. */
export function colourOf(by: Dimension | undefined, scale: Scale | undefined, subject: number, colour: (variable: string) => string): string {
  if (!by || !scale) return colour("--line-0");
  const place = placeOf(scale, by.values[subject]);
  if (place === null) return colour("--muted");
  if (scale.kind === "text") return colour(strokeName(place).variable);
  return mixed(colour("--line-4"), colour("--line-0"), shareOf(scale, place));
}
