import { ask } from "./ask";
import type { AlertList, AlertView } from "./types";

export interface AlertQuestion {
  all?: boolean;
  node?: string;
  from?: string;
  to?: string;
}

/** The most that one answer has. */
const kPage = 1000;

/** Alerts that fit, open ones first: page after page, since a page may end before it has found as many as were asked for. `next`: there may be more. */
export async function findAlerts(question: AlertQuestion, most: number, signal?: AbortSignal, fits?: (alert: AlertView) => boolean, asked: typeof ask = ask): Promise<AlertList> {
  const found: AlertList = { alerts: [], next: "" };
  do {
    // Of a whole page few may fit.
    const limit = fits ? kPage : Math.min(kPage, most - found.alerts.length);
    const page = await asked("GET /api/v1/alerts", { query: { ...question, limit, ...(found.next ? { before: found.next } : {}) }, signal });
    found.alerts.push(...(fits ? page.alerts.filter(fits) : page.alerts));
    found.next = page.next;
  } while (found.next && found.alerts.length < most);
  return found;
}
