import { readHash, writeHash, type Place } from "./hash";

class Router {
  place: Place = $state(readHash(location.hash));

  constructor() {
    addEventListener("hashchange", () => (this.place = readHash(location.hash)));
  }

  go(path: string, query: Record<string, string | null | undefined> = {}) {
    location.hash = writeHash(path, query);
  }

  /** Changes some values of the view's address; null takes one away. Typing and zooming do not fill the history. */
  change(values: Record<string, string | null>, options: { keep?: boolean } = {}) {
    const hash = writeHash(this.place.path, { ...this.place.query, ...values });
    if (hash === location.hash) return;
    if (options.keep) history.pushState(null, "", hash);
    else history.replaceState(null, "", hash);
    this.place = readHash(hash);
  }

  value(name: string, otherwise = ""): string {
    return this.place.query[name] ?? otherwise;
  }

  /** A list in one value, separated by commas. */
  list(name: string): string[] {
    const text = this.place.query[name];
    return text ? text.split(",").filter(Boolean) : [];
  }
}

export const router = new Router();
