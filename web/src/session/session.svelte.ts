import { AskError, credentials, send } from "../api/ask";

const kToken = "assay-token";

export interface Account {
  user: string;
  role: string;
  csrf: string;
  expires: string | null;
  /** session, token, link or anonymous; an older leader does not say */
  via?: string;
}

/** A token that is to be forgotten with the tab is kept in sessionStorage, one that stays in localStorage. */
function storedToken(): string {
  return sessionStorage.getItem(kToken) ?? localStorage.getItem(kToken) ?? "";
}

/**
 * Who uses the dashboard: somebody with a token, or somebody who logged in (then a cookie that scripts cannot read
 * carries it). A leader without accounts answers 404 to `/api/v1/session`: there, tokens are all there is.
 */
class Session {
  state: "asking" | "in" | "out" = $state("asking");
  /** Whether the leader has accounts with passwords */
  accounts = $state(false);
  who: Account | null = $state(null);
  /** Why the last try was refused */
  refusal = $state("");

  constructor() {
    credentials.refused = () => {
      if (this.state === "in") this.forget("The leader does not know this session any more. Log in again.");
    };
  }

  /** Finds out, once at the start. A leader that is away leaves it open. */
  async begin() {
    credentials.token = storedToken();
    await this.askWho();
    if (this.state === "in") return;
    if (credentials.token) await this.tryToken(credentials.token, null);
    else this.state = "out";
  }

  private async askWho() {
    try {
      const response = await send("GET", "/api/v1/session");
      this.take((await response.json()) as Account);
      this.accounts = true;
    } catch (error) {
      // 404: no accounts here. 401: accounts, but nobody is logged in.
      if (error instanceof AskError) this.accounts = error.status === 401 || error.status === 403;
    }
  }

  private take(account: Account) {
    this.who = account;
    credentials.csrf = account.csrf ?? "";
    this.refusal = "";
    this.state = "in";
  }

  /** `keep`: true for always, false for this tab, null as it is */
  async tryToken(token: string, keep: boolean | null): Promise<boolean> {
    credentials.token = token.trim();
    try {
      await send("GET", "/api/v1/status");
    } catch (error) {
      if (error instanceof AskError && (error.status === 401 || error.status === 403)) {
        this.forget("The leader does not know this token.");
        return false;
      }
      if (!(error instanceof AskError && error.away)) throw error;
    }
    if (keep !== null) {
      sessionStorage.removeItem(kToken);
      localStorage.removeItem(kToken);
      (keep ? localStorage : sessionStorage).setItem(kToken, credentials.token);
    }
    this.refusal = "";
    this.state = "in";
    return true;
  }

  /** With a name and password, or with a word that is good once. */
  async login(body: { user: string; password: string } | { once: string }): Promise<boolean> {
    try {
      const response = await send("POST", "/api/v1/session", { body });
      credentials.token = "";
      this.accounts = true;
      this.take((await response.json()) as Account);
      return true;
    } catch (error) {
      this.refusal = error instanceof AskError ? error.message : String(error);
      return false;
    }
  }

  async logout() {
    if (this.who) await send("DELETE", "/api/v1/session").catch(() => undefined);
    this.forget("");
  }

  private forget(why: string) {
    sessionStorage.removeItem(kToken);
    localStorage.removeItem(kToken);
    credentials.token = "";
    credentials.csrf = "";
    this.who = null;
    this.refusal = why;
    this.state = "out";
  }
}

export const session = new Session();
