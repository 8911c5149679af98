import { connection } from "./connection.svelte";
import { routes, type ErrorView, type RouteName, type Routes } from "./types";

/** What the leader refused, or why it could not be asked. */
export class AskError extends Error {
  constructor(
    readonly status: number,
    readonly view: ErrorView,
  ) {
    super(view.message);
  }
  get away() {
    return this.status === 0;
  }
}

/** How a request shows who asks; the session sets it. `unnamed`: without the cookie, which is good no longer. */
export const credentials: { token: string; csrf: string; unnamed: boolean; refused: () => void } = {
  token: "",
  csrf: "",
  unnamed: false,
  refused: () => undefined,
};

export interface Question {
  path?: Record<string, string>;
  query?: Record<string, string | number | boolean | undefined>;
  body?: unknown;
  signal?: AbortSignal;
}

/** Below whatever path the dashboard itself is. */
export function address(path: string, question: Question = {}): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(question.path?.[name] ?? ""));
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(question.query ?? {})) if (value !== undefined) query.set(name, String(value));
  const text = query.toString();
  return new URL("." + filled + (text ? "?" + text : ""), document.baseURI).href;
}

function headersOf(method: string, body: unknown): Headers {
  const headers = new Headers();
  if (credentials.token) headers.set("Authorization", "Bearer " + credentials.token);
  if (credentials.csrf && method !== "GET") headers.set("x-assay-csrf", credentials.csrf);
  if (body !== undefined && !(body instanceof Blob)) headers.set("Content-Type", "application/json");
  return headers;
}

/** Whether a request carries the cookie of a session. */
export function cookies(): RequestCredentials {
  return credentials.unnamed ? "omit" : "same-origin";
}

async function refusal(response: Response): Promise<AskError> {
  let view: ErrorView = { kind: "io", message: `the leader answered ${response.status}`, hint: "" };
  try {
    const answer = (await response.json()) as { error?: ErrorView };
    if (answer.error) view = answer.error;
  } catch {
    // A proxy in between says it in its own words; the status is all that is known.
  }
  return new AskError(response.status, view);
}

/** The response of any route, also of those that this dashboard's types do not name. Throws AskError. */
export async function send(method: string, path: string, question: Question = {}): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(address(path, question), {
      method,
      headers: headersOf(method, question.body),
      body:
        question.body === undefined ? undefined : question.body instanceof Blob ? question.body : JSON.stringify(question.body),
      signal: question.signal ?? null,
      credentials: cookies(),
      cache: "no-store",
    });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    connection.lost();
    throw new AskError(0, {
      kind: "unreachable",
      message: "The leader does not answer.",
      hint: "The dashboard tries again by itself.",
    });
  }
  // 502 to 504 come from a proxy whose leader is away.
  if (response.status >= 502 && response.status <= 504) connection.lost();
  else connection.heard();
  if (response.status === 401 && !path.endsWith("/session")) credentials.refused();
  if (!response.ok) throw await refusal(response);
  return response;
}

/** Asks the leader; the answer has the type that the API's own table gives it. Throws AskError. */
export async function ask<R extends RouteName>(
  name: R,
  question: {
    path?: Routes[R]["path"];
    query?: Routes[R]["query"];
    body?: Routes[R]["body"];
    signal?: AbortSignal | undefined;
  } = {},
): Promise<Routes[R]["answer"]> {
  const route = routes[name];
  const response = await send(route.method, route.path, question as Question);
  if (route.media === "application/json") return (await response.json()) as Routes[R]["answer"];
  if (route.media.startsWith("text/")) return (await response.text()) as Routes[R]["answer"];
  return (await response.blob()) as Routes[R]["answer"];
}
