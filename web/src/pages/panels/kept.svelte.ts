import { readKept, withPanel, writeKept, type KeptPanel, type Panel } from "./panel";

const kKey = "assay-panels";

/** The panels that this browser keeps. */
export class Kept {
  all: KeptPanel[] = $state.raw(readKept(localStorage.getItem(kKey)));
  /** Why the last change was not kept; empty: it was */
  refusal = $state("");

  constructor() {
    $effect(() => {
      // Another tab may change them, too.
      const changed = (event: StorageEvent) => {
        if (event.key === kKey) this.all = readKept(event.newValue);
      };
      addEventListener("storage", changed);
      return () => removeEventListener("storage", changed);
    });
  }
  /** Under the key, or a new one, which is returned. */
  keep(panel: Panel, key = ""): string {
    const mine = key || Math.random().toString(36).slice(2, 10);
    this.write(withPanel(this.all, { key: mine, panel }));
    return mine;
  }
  remove(key: string) {
    this.write(this.all.filter((one) => one.key !== key));
  }
  private write(next: KeptPanel[]) {
    try {
      localStorage.setItem(kKey, writeKept(next));
      this.all = next;
      this.refusal = "";
    } catch {
      this.refusal = "This browser keeps nothing: its storage is full or switched off. The link keeps the panel.";
    }
  }
}
