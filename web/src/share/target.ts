import type { NewShareLink } from "../api/types";

export type ShareTarget = Pick<NewShareLink, "kind" | "runs" | "study">;

/** What a link has to name to show a report or comparison `of` these; null: no link can. */
export function targetOf(kind: "report" | "compare", of: string): ShareTarget | null {
  const references = of.split(",").map((one) => one.trim()).filter(Boolean);
  const studies = references.filter((one) => one.startsWith("study:"));
  if (studies.length === 1 && references.length === 1) return { kind, study: (studies[0] ?? "").slice("study:".length) };
  // Tags and `@last` stand for something else tomorrow.
  if (studies.length > 0 || references.some((one) => one.startsWith("tag:") || one.startsWith("@"))) return null;
  return references.length >= (kind === "compare" ? 2 : 1) ? { kind, runs: references } : null;
}

/** Where a link leads; the secret is behind the `#`, which browsers send to nobody. */
export function linkAddress(secret: string, base: string): string {
  return new URL(`#/shared/${encodeURIComponent(secret)}`, base).href;
}

/** How long a link or token is good, as the API takes it; "" is until it is revoked. */
export const kLengths: [string, string][] = [["1d", "a day"], ["7d", "a week"], ["30d", "30 days"], ["365d", "a year"], ["", "until it is revoked"]];
