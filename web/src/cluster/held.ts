import { router } from "../router/router.svelte";

/** When the view was held still, in milliseconds since 1970, as its address has it; 0: it goes on. */
export function heldAt(): number {
  const at = Number(router.value("paused"));
  // Other than a time: an address of an earlier version, which said that it was held and not when.
  return at > 1e12 ? at : 0;
}
