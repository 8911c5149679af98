// Where the user is, as text behind the '#': "/runs?filter=tag%3Ddemo&sort=-loss". Pure functions.

export interface Place {
  path: string;
  query: Record<string, string>;
}

export function readHash(hash: string): Place {
  const text = hash.replace(/^#/, "");
  const mark = text.indexOf("?");
  const path = mark < 0 ? text : text.slice(0, mark);
  const query: Record<string, string> = {};
  if (mark >= 0) for (const [name, value] of new URLSearchParams(text.slice(mark + 1))) query[name] = value;
  return { path: path.startsWith("/") ? path : "/" + path, query };
}

/** Values that are empty or null are left out, so that a plain view has a plain address. */
export function writeHash(path: string, query: Record<string, string | null | undefined> = {}): string {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value) given.set(name, value);
  const text = given.toString();
  return "#" + path + (text ? "?" + text : "");
}

/** What `:names` of a pattern stand for in a path, or null where it does not fit. */
export function matchPath(pattern: string, path: string): Record<string, string> | null {
  const want = pattern.split("/").filter(Boolean);
  const have = path.split("/").filter(Boolean);
  if (want.length !== have.length) return null;
  const found: Record<string, string> = {};
  for (let i = 0; i < want.length; ++i) {
    const part = want[i] ?? "";
    const given = have[i] ?? "";
    if (part.startsWith(":")) {
      try {
        found[part.slice(1)] = decodeURIComponent(given);
      } catch {
        return null;
      }
    } else if (part !== given) return null;
  }
  return found;
}

/** A link: each part of the path is escaped. */
export function link(parts: string[], query: Record<string, string | null | undefined> = {}): string {
  return writeHash("/" + parts.map(encodeURIComponent).join("/"), query);
}
