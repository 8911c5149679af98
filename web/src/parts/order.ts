export type Sortable = string | number | null | undefined;

// Made once: a text's own comparison makes one for each pair.
const words = new Intl.Collator("en", { numeric: true });

const isMissing = (value: Sortable) => value === null || value === undefined || value === "" || Number.isNaN(value);

/** Rows by a value: numbers by size, texts as people read them; what is not known comes last, whichever way. */
export function inOrder<Row>(rows: Row[], value: (row: Row) => Sortable, down = false): Row[] {
  const known: { row: Row; value: string | number }[] = [];
  const unknown: Row[] = [];
  for (const row of rows) {
    const one = value(row);
    if (isMissing(one)) unknown.push(row);
    else known.push({ row, value: one as string | number });
  }
  const sign = down ? -1 : 1;
  known.sort((a, b) => sign * (typeof a.value === "number" && typeof b.value === "number" ? a.value - b.value : words.compare(String(a.value), String(b.value))));
  return [...known.map(({ row }) => row), ...unknown];
}
