import { send } from "./ask";
import type { KnownMetric } from "./types";

/** What the leader knows of metrics by their names; asked for once. */
class Metrics {
  private known = $state.raw(new Map<string, KnownMetric>());
  private asked = false;

  private ask() {
    if (this.asked) return;
    this.asked = true;
    void send("GET", "/api/v1/metrics/known")
      .then((response) => response.json() as Promise<{ metrics: KnownMetric[] }>)
      .then(
        ({ metrics }) => (this.known = new Map(metrics.map((metric) => [metric.name, metric]))),
        () => (this.asked = false),
      );
  }
  find(name: string): KnownMetric | undefined {
    this.ask();
    // "epoch.val_loss" is "val_loss" at the end of an epoch.
    return this.known.get(name) ?? this.known.get(name.replace(/^epoch\./, ""));
  }
  unit(name: string): string {
    return this.find(name)?.unit ?? "";
  }
  names(): string[] {
    this.ask();
    return [...this.known.keys()];
  }
}

export const metrics = new Metrics();
