// Draws hundreds and thousands of lines as a picture of their own, some lines at a time: all at once they would take the page's time for several
// frames. Until a new picture is done the chart shows the last one, moved and stretched to where its lines are now.

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
  logarithmic: boolean;
  /** Pixels of the canvas for one of the page */
  ratio: number;
}

/** What a chart shows: a picture is painted for one. */
interface View {
  width: number;
  height: number;
  x: [number, number];
  y: [number, number];
  data: CrowdChart["data"];
}

interface Picture {
  view: View;
  canvas: HTMLCanvasElement;
  ctx: CanvasRenderingContext2D;
  /** How many lines it has so far */
  lines: number;
}

/** One step: a few milliseconds where nothing but the processor draws. */
const kLinesInAStep = 40;
const kBehindHovered = 0.15;
const kBehindFront = 0.25;

export class Crowd {
  private done: Picture | undefined;
  private begun: Picture | undefined;
  private spare: HTMLCanvasElement | undefined;

  constructor(
    readonly look: CrowdLook,
    private newCanvas: () => HTMLCanvasElement = () => document.createElement("canvas"),
  ) {}

  /**
   * Shows the last picture, and in front of it the lines in `pinned` and the `hovered` one (-1: none), by their place. Whether
   * `step` has something to do.
   */
  show(chart: CrowdChart, pinned: number[], hovered: number): boolean {
    const view = viewOf(chart);
    if (!view) return false;
    const { ctx, bbox } = chart;
    const { colours, ratio } = this.look;
    const before = new Set(hovered >= 0 ? [...pinned, hovered] : pinned);
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    ctx.globalAlpha = hovered >= 0 ? kBehindHovered : before.size > 0 ? kBehindFront : 1;
    if (this.done) {
      const { canvas, view: old } = this.done;
      const place = this.placing(view, bbox);
      const [left, right, top, bottom] = [place.x(old.x[0]), place.x(old.x[1]), place.y(old.y[1]), place.y(old.y[0])];
      ctx.drawImage(canvas, left, top, right - left, bottom - top);
    }
    ctx.globalAlpha = 1;
    for (const line of before) this.draw(ctx, view, bbox, line, colours[line] ?? "", ratio * (pinned.includes(line) ? 3 : 2));
    ctx.restore();
    // One that is begun is finished first: where views change faster than pictures are painted, none would ever be.
    if (!this.begun && !(this.done && sameView(this.done.view, view))) this.begin(view);
    return this.begun !== undefined;
  }

  /** Paints some more lines. Whether the picture is done and wants to be shown. */
  step(): boolean {
    const picture = this.begun;
    if (!picture) return false;
    const { ctx, view } = picture;
    const end = Math.min(this.look.colours.length, picture.lines + kLinesInAStep);
    for (; picture.lines < end; ++picture.lines) this.draw(ctx, view, { left: 0, top: 0 }, picture.lines, this.look.colours[picture.lines] ?? "", this.look.ratio);
    // To read a pixel has it painted now: otherwise all of it would be when it is shown.
    ctx.getImageData(0, 0, 1, 1);
    if (end < this.look.colours.length) return false;
    [this.spare, this.done, this.begun] = [this.done?.canvas, picture, undefined];
    return true;
  }

  private begin(view: View) {
    const canvas = this.spare ?? this.newCanvas();
    // To set a size clears it.
    [canvas.width, canvas.height] = [view.width, view.height];
    const ctx = canvas.getContext("2d", { willReadFrequently: true });
    if (ctx) this.begun = { view, canvas, ctx, lines: 0 };
  }

  private placing({ width, height, x: [x0, x1], y: [y0, y1] }: View, { left, top }: { left: number; top: number }) {
    const y = this.look.logarithmic ? (value: number) => top + height * (1 - Math.log(value / y0) / Math.log(y1 / y0)) : (value: number) => top + height * (1 - (value - y0) / (y1 - y0));
    return { x: (value: number) => left + (width * (value - x0)) / (x1 - x0), y };
  }

  private draw(ctx: CanvasRenderingContext2D, view: View, origin: { left: number; top: number }, line: number, colour: string, width: number) {
    const [axis = [], values = []] = [view.data[0], view.data[line + 1]];
    const place = this.placing(view, origin);
    ctx.strokeStyle = colour;
    ctx.lineWidth = width;
    ctx.lineJoin = "bevel";
    ctx.beginPath();
    let open = false;
    for (let i = 0; i < axis.length; ++i) {
      const value = values[i];
      if (value === undefined) continue; // a point of other lines alone
      if (value === null || (this.look.logarithmic && value <= 0)) open = false;
      else if (open) ctx.lineTo(place.x(axis[i] ?? 0), place.y(value));
      else {
        ctx.moveTo(place.x(axis[i] ?? 0), place.y(value));
        open = true;
      }
    }
    ctx.stroke();
  }
}

/** null: the chart has no scale yet. */
function viewOf({ bbox, data, scales }: CrowdChart): View | null {
  const [x0, x1, y0, y1] = [scales["x"]?.min, scales["x"]?.max, scales["y"]?.min, scales["y"]?.max];
  if (x0 === undefined || x1 === undefined || y0 === undefined || y1 === undefined || !(bbox.width > 0 && bbox.height > 0)) return null;
  return { width: Math.round(bbox.width), height: Math.round(bbox.height), x: [x0, x1], y: [y0, y1], data };
}

function sameView(a: View, b: View): boolean {
  return a.data === b.data && a.width === b.width && a.height === b.height && [0, 1].every((i) => a.x[i] === b.x[i] && a.y[i] === b.y[i]);
}
