import { AskError } from "./ask";

/** Something that is asked for, with how far that is. An older value stays while a newer one is on its way. */
export class Loaded<T> {
  value: T | undefined = $state.raw();
  error: AskError | undefined = $state.raw();
  loading = $state(true);
  /** When the value came, in milliseconds since 1970 */
  at = $state(0);
  again: () => void = () => undefined;
}

export interface LoadOptions {
  /** Asks again so long after an answer, in milliseconds; not while the page is hidden. What may end says undefined then. */
  every?: number | (() => number | undefined);
}

/**
 * Asks when the component appears and again whenever something that `question` reads before its first `await` changes.
 * To be called while a component is set up.
 */
export function load<T>(question: (signal: AbortSignal) => Promise<T>, options: LoadOptions = {}): Loaded<T> {
  const loaded = new Loaded<T>();
  const pause = () => (typeof options.every === "function" ? options.every() : options.every);
  let round = $state(0);
  loaded.again = () => (round += 1);

  $effect(() => {
    void round;
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const wait = (ms: number) => (timer = setTimeout(turn, ms));
    const turn = () => {
      if (document.hidden && loaded.value !== undefined) {
        wait(pause() ?? 1000);
        return;
      }
      void once();
    };
    const once = async () => {
      let away = false;
      try {
        const value = await question(stop.signal);
        if (stop.signal.aborted) return;
        loaded.value = value;
        loaded.error = undefined;
        loaded.at = Date.now();
      } catch (error) {
        if (stop.signal.aborted) return;
        away = error instanceof AskError && error.away;
        loaded.error =
          error instanceof AskError ? error : new AskError(1, { kind: "internal", message: String(error), hint: "" });
      }
      loaded.loading = false;
      const next = pause();
      if (next !== undefined || away) wait(next ?? 3000);
    };
    loaded.loading = true;
    void once();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  });
  return loaded;
}
