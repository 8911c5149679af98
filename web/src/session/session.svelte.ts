import { ask, AskError, credentials } from "../api/ask";
import { routes, type RouteName, type SessionInfo } from "../api/types";

const kToken = "assay-token";
/** Who wants to choose their password another time, in this tab */
const kLater = "assay-password-later";

/** A token that is to be forgotten with the tab is kept in sessionStorage, one that stays in localStorage. */
function storedToken(): string {
  return sessionStorage.getItem(kToken) ?? localStorage.getItem(kToken) ?? "";
}

const kLeaveAgainMs = 3000;

const isRefusal = (error: unknown) => error instanceof AskError && (error.status === 401 || error.status === 403);
const textOf = (error: unknown) => (error instanceof AskError ? [error.message, error.view.hint].filter(Boolean).join(" ") : String(error));

/**
 * Who uses the dashboard: somebody who signed in (a cookie that scripts cannot read carries it), somebody with a token,
 * somebody with a link that shows one thing, or, where the leader allows it, anybody.
 */
class Session {
  /** "ended": a link that is not good any more */
  state: "asking" | "in" | "out" | "ended" = $state("asking");
  who: SessionInfo | null = $state(null);
  /** Why the last try was refused */
  refusal = $state("");
  /** Why a log-out is not done yet, while it is tried again; "" for none */
  leaving = $state("");
  private stopLeaving = new AbortController();
  /** The secret of the link that this tab was opened with */
  private shared = "";

  constructor() {
    credentials.refused = () => {
      if (this.state !== "in") return;
      if (this.shared) this.state = "ended";
      else this.forget("Your session is over. Log in again, and you are back here.");
    };
  }

  /** Finds out, at the start and whenever the link in the address is another; `shared`: its secret. */
  async begin(shared: string) {
    this.shared = shared;
    this.state = "asking";
    // Whoever opens a link sees what it shows, also where they are signed in besides.
    credentials.token = shared || storedToken();
    credentials.csrf = "";
    credentials.unnamed = false;
    for (;;) {
      try {
        this.take(await ask("GET /api/v1/session"));
        return;
      } catch (error) {
        if (shared !== this.shared) return;
        if (isRefusal(error)) {
          if (shared) this.state = "ended";
          else if (credentials.token || credentials.unnamed) this.forget("");
          else {
            // The cookie is of a session that is over: whoever shows nothing may be let in to look.
            credentials.unnamed = true;
            continue;
          }
          return;
        }
      }
      await new Promise((done) => setTimeout(done, 2000));
    }
  }

  private take(who: SessionInfo) {
    this.who = { ...who, needs_password: who.needs_password && sessionStorage.getItem(kLater) !== who.user };
    credentials.csrf = who.csrf;
    this.refusal = "";
    this.state = "in";
  }

  /** Whether the leader would let them; it decides again when it is asked. */
  may(route: RouteName): boolean {
    const { scope } = routes[route];
    return scope === "" || (this.who?.scopes.includes(scope) ?? false);
  }
  /** Whether something is theirs to change: `owner` as the leader says it. */
  owns(owner: string | undefined): boolean {
    if (this.may("GET /api/v1/users")) return true;
    return owner === `user ${this.who?.user}` || owner === `token ${this.who?.user}`;
  }
  /** Whether this tab shows one thing and leads nowhere else. */
  get isGuest(): boolean {
    return this.who?.via === "link";
  }

  /** `keep`: for always, or for this tab */
  async tryToken(token: string, keep: boolean): Promise<boolean> {
    credentials.token = token.trim();
    credentials.unnamed = false;
    try {
      this.take(await ask("GET /api/v1/session"));
    } catch (error) {
      this.forget(isRefusal(error) ? "The leader does not know this token." : textOf(error));
      return false;
    }
    sessionStorage.removeItem(kToken);
    localStorage.removeItem(kToken);
    (keep ? localStorage : sessionStorage).setItem(kToken, credentials.token);
    return true;
  }

  /** With a name and password, or with a word that is good once. */
  async login(body: { user: string; password: string } | { once: string }): Promise<boolean> {
    // A token that was tried before would speak instead of the cookie.
    this.forgetToken();
    try {
      this.take(await ask("POST /api/v1/session", { body }));
      return true;
    } catch (error) {
      this.refusal = "once" in body && isRefusal(error) ? "This link was used already, or is too old. Whoever runs the cluster can make another." : textOf(error);
      this.state = "out";
      return false;
    }
  }

  /** Throws AskError: too short, or the old one is wrong. */
  async setPassword(old: string, password: string) {
    await ask("POST /api/v1/session/password", { body: { ...(old ? { old } : {}), password } });
    if (this.who) this.who = { ...this.who, needs_password: false };
  }

  /** Goes on without a password, as long as this session lasts. */
  postponePassword() {
    if (!this.who) return;
    sessionStorage.setItem(kLater, this.who.user);
    this.who = { ...this.who, needs_password: false };
  }

  /** Tries until the leader has ended the session, since its cookie is good until then; `stay` gives it up. */
  async logout() {
    this.stay();
    const stop = (this.stopLeaving = new AbortController()).signal;
    while (this.who?.via === "session" && !stop.aborted) {
      try {
        await ask("DELETE /api/v1/session", { signal: stop });
        break;
      } catch (error) {
        // One that is over already is left.
        if (stop.aborted || (error instanceof AskError && error.status === 401)) break;
        this.leaving = error instanceof AskError ? error.message : String(error);
      }
      await new Promise((done) => setTimeout(done, kLeaveAgainMs));
    }
    if (stop.aborted) return;
    this.leaving = "";
    this.forget("");
  }
  stay() {
    this.stopLeaving.abort();
    this.leaving = "";
  }

  private forgetToken() {
    sessionStorage.removeItem(kToken);
    localStorage.removeItem(kToken);
    credentials.token = "";
    credentials.csrf = "";
    credentials.unnamed = false;
  }
  private forget(why: string) {
    this.forgetToken();
    this.who = null;
    this.refusal = why;
    this.state = "out";
  }
}

export const session = new Session();
