import { stroke, type Stroke } from "../format/palette";
import type { Line } from "./chart_data";

/** A line of a chart, as its legend shows it. */
export interface LegendEntry extends Stroke {
  label: string;
}

export function legendOf(lines: Line[], style: CSSStyleDeclaration): LegendEntry[] {
  return lines.map((line, i) => ({ label: line.label, ...stroke(line.stroke ?? i, style) }));
}

/** The chart as it stands, on its background, with title and legend. */
export function pngOf(chart: HTMLCanvasElement, title: string, entries: LegendEntry[], style: CSSStyleDeclaration): Promise<Blob> {
  const ratio = devicePixelRatio;
  const named = entries.slice(0, 24);
  const columns = Math.max(1, Math.floor(chart.width / (220 * ratio)));
  const legend = Math.ceil(named.length / columns) * 18 * ratio + 12 * ratio;
  const canvas = document.createElement("canvas");
  canvas.width = chart.width;
  canvas.height = chart.height + legend + 30 * ratio;
  const pen = canvas.getContext("2d");
  if (!pen) return Promise.reject(new Error("this browser draws no pictures"));
  const colour = (name: string) => style.getPropertyValue(name).trim();
  pen.fillStyle = colour("--surface");
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.fillStyle = colour("--text");
  pen.font = `600 ${14 * ratio}px system-ui, sans-serif`;
  pen.fillText(title, 10 * ratio, 20 * ratio);
  pen.drawImage(chart, 0, 30 * ratio);
  pen.font = `${12 * ratio}px system-ui, sans-serif`;
  named.forEach(({ label, colour: paint, dash }, i) => {
    const x = (10 + (i % columns) * 220) * ratio;
    const y = chart.height + (44 + Math.floor(i / columns) * 18) * ratio;
    pen.strokeStyle = paint;
    pen.lineWidth = 2 * ratio;
    pen.setLineDash(dash.map((d) => d * ratio));
    pen.beginPath();
    pen.moveTo(x, y - 4 * ratio);
    pen.lineTo(x + 22 * ratio, y - 4 * ratio);
    pen.stroke();
    pen.fillText(label, x + 28 * ratio, y, 185 * ratio);
  });
  return new Promise((done, fail) =>
    canvas.toBlob((blob) => (blob ? done(blob) : fail(new Error("the picture could not be made"))), "image/png"),
  );
}
