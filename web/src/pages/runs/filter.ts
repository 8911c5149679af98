// The filter language of `assay runs`: conditions with blanks between them. Here only what completion and checking while
// typing need; what a filter means is for the leader to say.

export const kFields = ["id", "name", "kind", "state", "verdict", "study", "variant", "host", "node", "tag", "created", "duration", "ranks", "nodes"] as const;
const kOperators = ["!=", "<=", ">=", "^=", "=", "<", ">", "~"];

export interface FilterKnowledge {
  metrics: string[];
  tags: string[];
  hosts: string[];
  names: string[];
}

const kValues: Record<string, string[]> = {
  state: ["queued", "starting", "running", "ended"],
  verdict: ["valid", "flagged", "invalid", "failed", "interrupted"],
  kind: ["train", "serve", "node", "command", "null"],
  created: [">1h", ">24h", ">7d"],
  duration: [">10s", ">10min", ">1h"],
};

/** The word that the cursor is in; quotes keep blanks together. */
export function wordAt(text: string, cursor: number): { begin: number; end: number; word: string } {
  let begin = 0;
  let quoted = false;
  let end = text.length;
  for (let i = 0; i < text.length; ++i) {
    const sign = text[i];
    if (sign === '"') quoted = !quoted;
    if (sign !== " " || quoted) continue;
    if (i < cursor) begin = i + 1;
    else {
      end = i;
      break;
    }
  }
  return { begin, end, word: text.slice(begin, end) };
}

function fieldsOf(known: FilterKnowledge): string[] {
  return [...kFields, ...known.metrics.map((metric) => `metrics.${metric}`)];
}

function valuesOf(field: string, known: FilterKnowledge): string[] {
  if (field === "tag") return known.tags;
  if (field === "host") return known.hosts;
  if (field === "name") return known.names;
  return kValues[field] ?? [];
}

/** Whole words to put in the place of the one that is being typed. */
export function suggestions(word: string, known: FilterKnowledge): string[] {
  const operator = kOperators.map((one) => ({ one, at: word.indexOf(one) })).filter(({ at }) => at > 0).sort((a, b) => a.at - b.at || b.one.length - a.one.length)[0];
  if (!operator) {
    const lower = word.toLowerCase();
    return fieldsOf(known).filter((field) => field.toLowerCase().startsWith(lower)).slice(0, 12).map((field) => field + (field.startsWith("metrics.") ? "<" : field === "created" || field === "duration" ? ">" : "="));
  }
  const field = word.slice(0, operator.at);
  const typed = word.slice(operator.at + operator.one.length).replaceAll('"', "").toLowerCase();
  return valuesOf(field, known)
    .filter((value) => value.replace(/^[<>]/, "").toLowerCase().startsWith(typed))
    .slice(0, 12)
    .map((value) => (/^[<>]/.test(value) ? field + value : `${field}${operator.one}${/\s/.test(value) ? `"${value}"` : value}`))
    .filter((whole) => whole !== word);
}

/** What is wrong with a condition at first sight; empty: nothing. The leader has the last word. */
export function complaint(text: string): string {
  for (const word of text.match(/(?:[^\s"]|"[^"]*"?)+/g) ?? []) {
    const found = /^([\w.]+)\s*(!=|<=|>=|\^=|=|<|>|~)/.exec(word);
    if (!found) return `“${word}” has no operator: one of ${kOperators.join(" ")}`;
    const field = found[1] ?? "";
    if (field !== "last" && !field.startsWith("metrics.") && !(kFields as readonly string[]).includes(field)) return `Runs have no field “${field}”`;
  }
  return "";
}

export interface Spread {
  n: number;
  mean: number | null;
  deviation: number | null;
}

export function spread(values: (number | null | undefined)[]): Spread {
  const finite = values.filter((value): value is number => typeof value === "number" && Number.isFinite(value));
  const n = finite.length;
  if (n === 0) return { n, mean: null, deviation: null };
  const mean = finite.reduce((a, b) => a + b, 0) / n;
  const deviation = n > 1 ? Math.sqrt(finite.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (n - 1)) : null;
  return { n, mean, deviation };
}
