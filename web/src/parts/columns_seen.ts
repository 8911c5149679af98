// Which columns of a wide table somebody sees. Pure functions.

/** So many beside what is seen, so that they are there when somebody scrolls. */
const kSpare = 2;

/**
 * The columns from `first` up to `last` lie between `left` and `left + seen` pixels, of columns with these least widths in
 * rem. All of them where they fit, or where a width is something else: then nobody knows how wide they are drawn.
 */
export function columnsSeen(widths: string[], left: number, seen: number, rem: number): { first: number; last: number } {
  const all = { first: 0, last: widths.length };
  const pixels = widths.map((width) => (/^[\d.]+rem$/.test(width) ? parseFloat(width) * rem : NaN));
  const total = pixels.reduce((sum, width) => sum + width, 0);
  if (!(total > seen)) return all;
  let [first, last, at] = [widths.length, 0, 0];
  pixels.forEach((width, i) => {
    if (at + width > left && at < left + seen) [first, last] = [Math.min(first, i), i + 1];
    at += width;
  });
  return first < last ? { first: Math.max(0, first - kSpare), last: Math.min(widths.length, last + kSpare) } : all;
}
