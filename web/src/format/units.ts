// Numbers for people, always with their unit. Values come in the unit that the leader keeps them in.

const kThin = " "; // narrow no-break space

function digits(value: number, significant = 4): string {
  const size = Math.abs(value);
  if (value === 0) return "0";
  if (size >= 1e15 || size < 1e-4) return value.toExponential(2);
  const decimals = Math.max(0, significant - 1 - Math.floor(Math.log10(size)));
  if (size >= 10_000) return Math.round(Number(value.toPrecision(Math.max(significant, 6)))).toLocaleString("en-US");
  const text = value.toFixed(Math.min(decimals, 8));
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

function scaled(value: number, base: number, prefixes: string[], unit: string, significant: number): string {
  let step = 0;
  let rest = value;
  while (Math.abs(rest) >= base && step < prefixes.length - 1) {
    rest /= base;
    ++step;
  }
  return digits(rest, significant) + kThin + (prefixes[step] ?? "") + unit;
}

const kBinary = ["", "Ki", "Mi", "Gi", "Ti", "Pi"];
const kDecimal = ["", "k", "M", "G", "T", "P"];

export function duration(seconds: number): string {
  const size = Math.abs(seconds);
  if (size === 0) return "0" + kThin + "s";
  if (size < 1e-6) return digits(seconds * 1e9, 3) + kThin + "ns";
  if (size < 1e-3) return digits(seconds * 1e6, 3) + kThin + "µs";
  if (size < 1) return digits(seconds * 1e3, 3) + kThin + "ms";
  if (size < 120) return digits(seconds, 3) + kThin + "s";
  const whole = Math.round(size);
  const [d, h, m, s] = [Math.floor(whole / 86400), Math.floor(whole / 3600) % 24, Math.floor(whole / 60) % 60, whole % 60];
  const sign = seconds < 0 ? "−" : "";
  if (d > 0) return `${sign}${d}${kThin}d ${h}${kThin}h`;
  if (h > 0) return `${sign}${h}${kThin}h ${m}${kThin}min`;
  return `${sign}${m}${kThin}min ${s}${kThin}s`;
}

/** "83.2 %", "1.21 GiB", "340 W"; "–" for what is not known. With `significant` so many digits, where three or four do not do. */
export function quantity(value: number | null | undefined, unit = "", significant?: number): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  switch (unit) {
    case "":
    case "number":
      return Math.abs(value) >= 1e6 && Number.isInteger(value) ? scaled(value, 1000, kDecimal, "", significant ?? 3).trimEnd() : digits(value, significant);
    case "ratio":
      return digits(value * 100, significant ?? 3) + kThin + "%";
    case "s":
      return duration(value);
    case "B":
    case "B/s":
      return scaled(value, 1024, kBinary, unit, significant ?? 3);
    case "FLOP/s":
    case "FLOP":
    case "Hz":
      return scaled(value, 1000, kDecimal, unit, significant ?? 3);
    default:
      // Money has cents.
      if (/^[A-Z]{3}(\/|$)/.test(unit) && Number.isInteger(Math.round(value * 1e6) / 1e4)) return value.toFixed(2) + kThin + unit;
      return digits(value, significant) + kThin + unit;
  }
}

/** Values along an axis, with as many digits as it takes to tell them apart. A unit that is a word stands in the title alone. */
export function tickLabels(values: (number | null)[], unit: string): string[] {
  const shown = unit.length > 3 && unitTitle(unit) === unit && !/^FLOP/.test(unit) ? "" : unit;
  const written = (significant?: number) => values.map((value) => (value === null ? "" : quantity(value, shown, significant)));
  let labels = written();
  for (let significant = 4; significant <= 8 && new Set(labels).size < labels.length; ++significant) labels = written(significant);
  return labels;
}

/** The unit as the title of a chart names it; bytes are named along the axis, as KiB, MiB or GiB. */
export function unitTitle(unit: string): string {
  if (unit === "ratio") return "%";
  return unit === "number" || unit.startsWith("B") ? "" : unit;
}

/** How numbers of one chart are written without their unit, which is told once: all in the prefix of the largest. */
export function plainFigures(values: (number | null | undefined)[], unit: string): { text: (value: number | null | undefined) => string; unit: string } {
  const written = (write: (value: number) => string) => (value: number | null | undefined) => (typeof value === "number" && Number.isFinite(value) ? write(value) : "–");
  if (unit === "ratio") return { text: written((value) => (value * 100).toFixed(0)), unit: "%" };
  const most = values.reduce<number>((most, value) => (typeof value === "number" && Number.isFinite(value) ? Math.max(most, Math.abs(value)) : most), 0);
  const base = unit === "B" || unit === "B/s" ? 1024 : 1;
  const step = base > 1 && most > 0 ? Math.min(kBinary.length - 1, Math.max(0, Math.floor(Math.log(most) / Math.log(base)))) : 0;
  const size = base ** step;
  const decimals = most / size >= 100 || most === 0 ? 0 : most / size >= 10 ? (base > 1 ? 1 : 0) : 2;
  return { text: written((value) => (value / size).toFixed(decimals)), unit: (kBinary[step] ?? "") + (unit === "number" ? "" : unit) };
}

/** "1 run", "12 runs". */
export function count(value: number, one: string, many = one + "s"): string {
  return `${digits(value)}${kThin}${value === 1 ? one : many}`;
}
