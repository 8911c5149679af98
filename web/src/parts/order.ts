export type Sortable = string | number | null | undefined;

// Made once: a text's own comparison makes one for each pair.
const words = new Intl.Collator("en", { numeric: true });

/** Where the printable characters of ASCII stand in that order, from 1; "a" and "A" stand in the same place. */
const places = (() => {
  const alike = new Intl.Collator("en", { sensitivity: "base" });
  const characters = Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i)).sort(alike.compare);
  const found = new Uint8Array(128);
  let [place, before] = [0, ""];
  for (const one of characters) {
    if (before === "" || alike.compare(before, one) !== 0) ++place;
    found[one.charCodeAt(0)] = place;
    before = one;
  }
  return found;
})();
const kZero = 48;
const isDigit = (code: number) => code >= kZero && code <= kZero + 9;
/** Longer texts are left to the collator. */
const kLongest = 1000;

/**
 * A text whose plain comparison is the collator's as far as that looks at letters and numbers alone, several times as quick;
 * null: it has characters that only the collator knows. A number is its length and its digits.
 */
export function plainKey(text: string): string | null {
  if (text.length > kLongest) return null;
  const codes: number[] = [];
  for (let i = 0; i < text.length; ++i) {
    const code = text.charCodeAt(i);
    const place = code < 128 ? places[code] : 0;
    if (!place) return null;
    if (!isDigit(code)) {
      codes.push(place);
      continue;
    }
    let end = i + 1;
    while (end < text.length && isDigit(text.charCodeAt(end))) ++end;
    while (i < end - 1 && text.charCodeAt(i) === kZero) ++i;
    codes.push(places[kZero] ?? 0, end - i);
    for (; i < end; ++i) codes.push(text.charCodeAt(i));
    --i;
  }
  return String.fromCharCode(...codes);
}

const isMissing = (value: Sortable) => value === null || value === undefined || value === "" || Number.isNaN(value);

/** Rows by a value: numbers by size, texts as people read them; what is not known comes last, whichever way. */
export function inOrder<Row>(rows: Row[], value: (row: Row) => Sortable, down = false): Row[] {
  interface Known { row: Row; value: string | number; key: string | null }
  const known: Known[] = [];
  const unknown: Row[] = [];
  for (const row of rows) {
    const one = value(row);
    if (isMissing(one)) unknown.push(row);
    else known.push({ row, value: one as string | number, key: null });
  }
  // Where one text has no key, none is compared by it.
  const keyed = known.every((one) => typeof one.value === "string" && (one.key = plainKey(one.value)) !== null);
  const sign = down ? -1 : 1;
  const compare = (a: Known, b: Known) => {
    if (typeof a.value === "number" && typeof b.value === "number") return a.value - b.value;
    return a.value === b.value ? 0 : words.compare(String(a.value), String(b.value));
  };
  known.sort(keyed ? (a, b) => sign * (a.key === b.key ? compare(a, b) : (a.key ?? "") < (b.key ?? "") ? -1 : 1) : (a, b) => sign * compare(a, b));
  return [...known.map(({ row }) => row), ...unknown];
}
