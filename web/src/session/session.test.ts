import { afterEach, beforeEach, expect, test, vi } from "vitest";

const who = { user: "ada", name: "", role: "user", scopes: ["read"], via: "session", csrf: "c", needs_password: false };
/** What the leader answers to each log-out, in turn: a status, or nothing at all. */
let answers: (number | null)[] = [];
let asked = 0;
/** Who may look: whoever has a session, or whoever shows nothing */
let open = "same-origin";

beforeEach(() => {
  vi.useFakeTimers();
  vi.resetModules();
  [answers, asked, open] = [[], 0, "same-origin"];
  const storage = { getItem: () => null, setItem: () => undefined, removeItem: () => undefined };
  vi.stubGlobal("sessionStorage", storage);
  vi.stubGlobal("localStorage", storage);
  vi.stubGlobal("document", { baseURI: "http://leader/" });
  vi.stubGlobal("fetch", (_: string, { method, credentials }: { method: string; credentials: string }) => {
    if (method === "GET") return Promise.resolve(credentials === open ? new Response(JSON.stringify(who)) : new Response("{}", { status: 401 }));
    const status = answers[asked++];
    if (!status) return Promise.reject(new TypeError("no network"));
    return Promise.resolve(new Response(status === 200 ? "{}" : JSON.stringify({ error: { kind: "io", message: "the disk is full", hint: "" } }), { status }));
  });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

async function signedIn() {
  const { session } = await import("./session.svelte");
  await session.begin("");
  expect(session.state).toBe("in");
  return session;
}

test("who logs out is out once the leader has ended the session, and is told until then", async () => {
  const session = await signedIn();
  answers = [null, 503, 200];
  const done = session.logout();
  await vi.advanceTimersByTimeAsync(100);
  expect([session.state, session.leaving]).toEqual(["in", "The leader does not answer."]);
  await vi.advanceTimersByTimeAsync(3000);
  expect([session.state, session.leaving]).toEqual(["in", "the disk is full"]);
  await vi.advanceTimersByTimeAsync(3000);
  await done;
  expect([session.state, session.leaving, session.who, asked]).toEqual(["out", "", null, 3]);
});

test("a session that is over already is left at once", async () => {
  const session = await signedIn();
  answers = [401];
  await session.logout();
  expect(session.state).toBe("out");
});

test("who would rather stay stays, and nothing more is asked", async () => {
  const session = await signedIn();
  answers = [403];
  const done = session.logout();
  await vi.advanceTimersByTimeAsync(100);
  expect(session.leaving).not.toBe("");
  session.stay();
  await vi.advanceTimersByTimeAsync(10_000);
  await done;
  expect([session.state, session.leaving, asked]).toEqual(["in", "", 1]);
});

test("a session that is over keeps nobody out where everybody may look", async () => {
  open = "omit";
  const [{ session }, { credentials }] = [await import("./session.svelte"), await import("../api/ask")];
  await session.begin("");
  expect([session.state, credentials.unnamed]).toEqual(["in", true]);
  open = "nobody";
  await session.begin("");
  expect([session.state, credentials.unnamed]).toEqual(["out", false]);
});
