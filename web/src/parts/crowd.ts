// Draws hundreds and thousands of lines: a path for each colour instead of several for each line, which is most of what uPlot would spend on them.

/** What of a chart it takes: uPlot has all of this. */
export interface CrowdChart {
  ctx: CanvasRenderingContext2D;
  /** In pixels of the canvas */
  bbox: { left: number; top: number; width: number; height: number };
  data: ArrayLike<ArrayLike<number | null | undefined>>;
  scales: Record<string, { min?: number; max?: number }>;
}

export interface CrowdLook {
  /** Of each line, in the order of the data's columns */
  colours: string[];
  /** Lines that stay in front, by their place */
  front: number[];
  /** The line that the pointer is near; -1: none */
  hovered: number;
  logarithmic: boolean;
  /** Pixels of the canvas for one of the page */
  ratio: number;
}

const kBehindHovered = 0.15;
const kBehindFront = 0.25;

export function drawCrowd(chart: CrowdChart, look: CrowdLook) {
  const { ctx, bbox, data, scales } = chart;
  const [x0, x1, y0, y1] = [scales["x"]?.min, scales["x"]?.max, scales["y"]?.min, scales["y"]?.max];
  const axis = data[0];
  if (axis === undefined || x0 === undefined || x1 === undefined || y0 === undefined || y1 === undefined) return;
  const height = look.logarithmic ? Math.log(y1 / y0) : y1 - y0;
  const yOf = look.logarithmic
    ? (y: number) => bbox.top + bbox.height * (1 - Math.log(y / y0) / height)
    : (y: number) => bbox.top + bbox.height * (1 - (y - y0) / height);
  const at = Array.from(axis, (x) => bbox.left + (bbox.width * ((x ?? 0) - x0)) / (x1 - x0));

  function trace(line: number) {
    const values = data[line + 1] ?? [];
    let open = false;
    for (let i = 0; i < at.length; ++i) {
      const value = values[i];
      if (value === undefined) continue; // a point of other lines alone
      if (value === null || (look.logarithmic && value <= 0)) open = false;
      else if (open) ctx.lineTo(at[i] ?? 0, yOf(value));
      else {
        ctx.moveTo(at[i] ?? 0, yOf(value));
        open = true;
      }
    }
  }
  function draw(lines: number[], colour: string, width: number) {
    ctx.strokeStyle = colour;
    ctx.lineWidth = width * look.ratio;
    ctx.beginPath();
    lines.forEach(trace);
    ctx.stroke();
  }

  const before = new Set(look.hovered >= 0 ? [...look.front, look.hovered] : look.front);
  const byColour = new Map<string, number[]>();
  look.colours.forEach((colour, line) => {
    if (before.has(line)) return;
    const group = byColour.get(colour);
    if (group) group.push(line);
    else byColour.set(colour, [line]);
  });
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.lineJoin = "bevel";
  ctx.globalAlpha = look.hovered >= 0 ? kBehindHovered : before.size > 0 ? kBehindFront : 1;
  for (const [colour, lines] of byColour) draw(lines, colour, 1);
  ctx.globalAlpha = 1;
  for (const line of before) draw([line], look.colours[line] ?? "", look.front.includes(line) ? 3 : 2);
  ctx.restore();
}
