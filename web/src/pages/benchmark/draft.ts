// A specification while it is written. The text is the truth; the form reads and changes its top-level lines. Pure functions.

import type { Offer } from "../../api/types";

export interface SchemaField {
  type?: string | string[];
  enum?: unknown[];
  anyOf?: SchemaField[];
  pattern?: string;
  /** An object whose keys are the user's own */
  additionalProperties?: SchemaField | boolean;
  minimum?: number;
  maximum?: number;
  description?: string;
  examples?: string[];
}

export interface FormField {
  key: string;
  description: string;
  usual: string;
  example: string;
  /** What may be chosen; empty: it is typed */
  choices: string[];
  kind: "text" | "number" | "boolean" | "choice";
}

const kNotInForm = new Set(["kind", "matrix", "sweep", "scale", "expect", "goals", "notes"]);

function choicesOf(schema: SchemaField): string[] {
  if (schema.enum) return schema.enum.filter((one) => one !== null).map(String);
  return (schema.anyOf ?? []).flatMap((one) => (one.enum ? one.enum.filter((value) => value !== null).map(String) : []));
}

/** The settings of a kind that a form can show: those whose value fits on a line. */
export function formFields(properties: Record<string, SchemaField>): FormField[] {
  const keys = Object.keys(properties);
  return keys.flatMap((key): FormField[] => {
    const schema = properties[key] ?? {};
    // `lora` is there as `lora.rank` and so on; `model` and `dataset` also take a plain name.
    const isGroup = keys.some((other) => other.startsWith(key + "."));
    if (kNotInForm.has(key) || (isGroup && schema.type === "object") || /^(model|dataset)\.name$/.test(key)) return [];
    const [, description = "", usual = ""] = /^([^]*?)(?:\s*Default: ([^]*))?$/.exec(schema.description ?? "") ?? [];
    const choices = choicesOf(schema);
    const free = schema.anyOf?.some((one) => (one.type === "string" && one.pattern) || typeof one.additionalProperties === "object") ?? false;
    const kind = schema.type === "boolean" ? "boolean" : choices.length > 0 && !free ? "choice" : schema.type === "integer" || schema.type === "number" ? "number" : "text";
    return [{ key, description, usual, example: schema.examples?.[0] ?? "", choices, kind }];
  });
}

const kCommon = ["name", "model", "task", "dataset", "epochs", "steps", "batch_size", "seq_length", "learning_rate", "optimizer", "precision", "attention", "lora.rank", "gradient_checkpointing", "ranks", "device", "repeat", "time_limit", "command", "scenario", "rate", "target", "layout", "suite", "events"];

export function splitCommon(fields: FormField[]): { common: FormField[]; rest: FormField[] } {
  const common = kCommon.flatMap((key) => fields.filter((field) => field.key === key));
  return { common, rest: fields.filter((field) => !common.includes(field)) };
}

function lineOf(text: string, key: string): { at: number; value: string; simple: boolean } | null {
  const lines = text.split("\n");
  const at = lines.findIndex((line) => line.startsWith(key + ":"));
  if (at < 0) return null;
  const value = (lines[at] ?? "").slice(key.length + 1).replace(/\s+#.*$/, "").trim();
  const follows = /^(\s+\S|- )/.test(lines[at + 1] ?? "");
  return { at, value, simple: !follows && !/^[|>]/.test(value) };
}

/** The value on the setting's own line; null where it is not set, or takes more than a line. */
export function valueIn(text: string, key: string): string | null {
  const found = lineOf(text, key);
  if (!found || !found.simple) return null;
  return found.value.replace(/^"(.*)"$/, "$1").replace(/^'(.*)'$/, "$1");
}

/** Whether the form may change it: not where the text says it in several lines. */
export function isEditable(text: string, key: string): boolean {
  return lineOf(text, key)?.simple ?? true;
}

/** The setting that a line of the text belongs to, as the form may call it: `lora.rank` and `lora`; none: neither. */
export function settingsAt(text: string, line: number): string[] {
  const lines = text.split("\n").slice(0, line);
  const inner = /^\s+([\w.-]+):/.exec(lines.at(-1) ?? "")?.[1];
  const top = lines.flatMap((one) => /^([\w.-]+):/.exec(one)?.[1] ?? []).at(-1);
  return top === undefined ? [] : inner ? [`${top}.${inner}`, top] : [top];
}

/** A text as a value of YAML: quoted where it would be taken for something else. */
export function yamlValue(value: string): string {
  if (value === "") return '""';
  if (/^[[{]/.test(value) || /^[\w./+%-][\w ./+=%µ-]*$/.test(value)) return value;
  return JSON.stringify(value);
}

/** The text with the setting changed, added at the end, or (value "") taken away. */
export function withValue(text: string, key: string, value: string): string {
  const found = lineOf(text, key);
  const lines = text.replace(/\n+$/, "").split("\n");
  if (found) {
    if (!found.simple) return text;
    if (value === "") lines.splice(found.at, 1);
    else lines[found.at] = `${key}: ${yamlValue(value)}`;
  } else if (value !== "") lines.push(`${key}: ${yamlValue(value)}`);
  return lines.filter((line, i) => line !== "" || i > 0).join("\n") + "\n";
}

function isNothing(value: unknown): boolean {
  return value === null || value === "" || (typeof value === "object" && Object.keys(value as object).length === 0);
}

/** A run's settings as a specification. They are kept in seconds and bytes: what is written with a unit gets one. */
export function yamlOfSettings(settings: Record<string, unknown>, properties: Record<string, SchemaField>): string {
  const lines: string[] = [];
  const add = (key: string, value: unknown) => {
    if (isNothing(value)) return;
    const schema = properties[key];
    if (value !== null && typeof value === "object" && !Array.isArray(value) && schema?.type !== "object") {
      for (const [part, one] of Object.entries(value)) add(`${key}.${part}`, one);
      return;
    }
    if (key !== "kind" && !schema) return;
    if (typeof value === "number" && schema?.type === "string") {
      const unit = schema.pattern?.includes("min") ? "s" : schema.pattern?.includes("GiB") ? "B" : "";
      lines.push(`${key}: ${value}${unit}`);
    } else lines.push(`${key}: ${typeof value === "string" ? yamlValue(value) : JSON.stringify(value)}`);
  };
  for (const [key, value] of Object.entries(settings)) {
    const usual = /Default: ([^]*)$/.exec(properties[key]?.description ?? "")?.[1];
    if (usual !== undefined && (usual === String(value) || usual === JSON.stringify(value))) continue;
    add(key, value);
  }
  return lines.join("\n") + "\n";
}

export const kStarts: Record<string, string> = {
  train: "kind: train\nmodel: mlp\ndataset: spiral\nepochs: 20\nbatch_size: 32\n",
  command: 'kind: command\ncommand: ["python3", "-c", "for i in range(100): print(f\'step {i} loss={1/(i+1):.4f}\')"]\n',
  null: "kind: null\n",
  serve: "kind: serve\nmodel: llama-3.1-8b\nscenario: server\nrate: 20/s\n",
  node: "kind: node\nnodes: all\nsuite: quick\n",
};

/** What to call what has no name: "mlp on spiral", where a list of runs would have "spec" for each of them; "" where it has one. */
export function nameFor(text: string): string {
  if (valueIn(text, "name")) return "";
  // A name alone, or `{name: mlp, hidden: [64, 32]}`.
  const called = (key: string) => {
    const value = valueIn(text, key) ?? "";
    return /^\{/.test(value) ? (/\bname:\s*["']?([^\s,"'}]+)/.exec(value)?.[1] ?? "") : value;
  };
  const kind = valueIn(text, "kind") ?? "";
  const [model, dataset] = [called("model"), called("dataset")];
  if (kind === "train" && model) return [valueIn(text, "task") ?? "", model, dataset && `on ${dataset}`].filter(Boolean).join(" ");
  if (kind === "serve" && model) return `serve ${model}`;
  return kind;
}

/** A specification to begin from that an offer of the catalog allows, as far as its patterns name something. */
export function textOfOffer({ kind, models = [], datasets = [], commands = [] }: Offer): string {
  // `gpt2*` is begun with as gpt2; what begins with a wildcard names nothing.
  const named = (patterns: string[]) => patterns.map((pattern) => (pattern.split(/[*?[]/)[0] ?? "").trim()).find((name) => name !== "") ?? "";
  let text = kStarts[kind] ?? `kind: ${kind}\n`;
  for (const [key, value] of [["model", named(models)], ["dataset", named(datasets)], ["command", named(commands)]] as const) if (value) text = withValue(text, key, value);
  return text;
}
