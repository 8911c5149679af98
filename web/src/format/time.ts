// Times for people: 24 hours, ISO-like, in the browser's zone.

const two = (value: number) => String(value).padStart(2, "0");

export function clock(ms: number, withSeconds = true): string {
  const at = new Date(ms);
  return `${two(at.getHours())}:${two(at.getMinutes())}${withSeconds ? ":" + two(at.getSeconds()) : ""}`;
}

export function day(ms: number): string {
  const at = new Date(ms);
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
}

export function stamp(ms: number | undefined): string {
  if (ms === undefined || !Number.isFinite(ms) || ms <= 0) return "–";
  return `${day(ms)} ${clock(ms)}`;
}

/** Of the API's ISO 8601 texts; NaN for none. */
export function parseTime(text: string | undefined): number {
  return text ? Date.parse(text) : NaN;
}

/** "3 min ago"; a clock that is a little ahead is now. */
export function ago(ms: number, now = Date.now()): string {
  if (!Number.isFinite(ms)) return "–";
  const seconds = Math.max(0, (now - ms) / 1000);
  if (seconds < 5) return "just now";
  if (seconds < 90) return `${Math.round(seconds)} s ago`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min ago`;
  if (seconds < 129600) return `${Math.round(seconds / 3600)} h ago`;
  return `${Math.round(seconds / 86400)} d ago`;
}

/** A text with its ISO 8601 times in the browser's zone, as all others here are. */
export function localised(text: string): string {
  return text.replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, (time) => stamp(Date.parse(time)));
}

export interface Range {
  from: number;
  to: number;
}

export const kRanges = ["5min", "15min", "1h", "6h", "24h", "7d", "30d", "180d", "1y"] as const;
const kUnits: Record<string, number> = { s: 1e3, min: 60e3, h: 3600e3, d: 86400e3, w: 604800e3, y: 31536000e3 };

/** "15min" in milliseconds; null for anything else. */
export function readSpan(text: string): number | null {
  const found = /^(\d+(?:\.\d+)?)(s|min|h|d|w|y)$/.exec(text);
  if (!found) return null;
  return Number(found[1]) * (kUnits[found[2] ?? ""] ?? 0);
}

/** "1731767000000..1731768000000", or a span that ends now; `otherwise` for what cannot be read. */
export function readRange(text: string, now: number, otherwise = 15 * 60e3): Range {
  const fixed = /^(\d+)\.\.(\d+)$/.exec(text);
  if (fixed) {
    const [from, to] = [Number(fixed[1]), Number(fixed[2])];
    if (from < to) return { from, to };
  }
  return { from: now - (readSpan(text) ?? otherwise), to: now };
}

export function writeRange(range: Range): string {
  return `${Math.round(range.from)}..${Math.round(range.to)}`;
}
