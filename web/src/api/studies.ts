import { ask } from "./ask";
import type { StudyRow } from "./types";

const kOfAPage = 1000;

/** All studies, newest first, page by page. */
export async function listStudies(signal?: AbortSignal): Promise<StudyRow[]> {
  const all: StudyRow[] = [];
  let after = "";
  do {
    const page = await ask("GET /api/v1/studies", { query: { limit: kOfAPage, after }, signal });
    all.push(...page.studies);
    after = page.next;
  } while (after);
  return all;
}
