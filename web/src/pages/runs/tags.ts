/** What somebody typed: tags with blanks or commas between them, each once. */
export function tagsIn(text: string): string[] {
  return [...new Set(text.split(/[\s,]+/).filter(Boolean))];
}

/** Tags of runs with how many of them have each, the most common first. */
export function tagCounts(runs: { tags: string[] }[]): [string, number][] {
  const often = new Map<string, number>();
  for (const run of runs) for (const tag of run.tags) often.set(tag, (often.get(tag) ?? 0) + 1);
  return [...often].sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0]));
}

/** Does something for each, a few at a time; gives back what went wrong with which. */
export async function forEach<T>(all: T[], atOnce: number, act: (one: T) => Promise<unknown>): Promise<{ of: T; error: unknown }[]> {
  const left = [...all];
  const failed: { of: T; error: unknown }[] = [];
  const worker = async () => {
    for (let one = left.shift(); one !== undefined; one = left.shift()) {
      const of = one;
      await act(of).catch((error: unknown) => failed.push({ of, error }));
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, all.length) }, worker));
  return failed;
}
