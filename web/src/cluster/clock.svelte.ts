import { readRange, type Range } from "../format/time";
import { router } from "../router/router.svelte";

/** The time of day for everything on a page that follows from it, a second apart. */
class Clock {
  ms = $state(Date.now());

  constructor() {
    setInterval(() => {
      if (!document.hidden) this.ms = Date.now();
    }, 1000);
  }
}
export const wallClock = new Clock();

/** When the view was held still, in milliseconds since 1970, as its address has it; 0: it goes on. */
export function heldAt(): number {
  const at = Number(router.value("paused"));
  // Other than a time: an address of an earlier version, which said that it was held and not when.
  return at > 1e12 ? at : 0;
}

/** What a view shows of time at this moment. */
export function shownRange(range: string): Range {
  return readRange(range, heldAt() || wallClock.ms);
}
