import { ask } from "../../api/ask";
import { metrics } from "../../api/metrics.svelte";
import type { RunRow, SeriesSummary } from "../../api/types";
import { fromCurves, fromSummaries, isHigherBetter, type Figure } from "./figures";

const kAtOnce = 4;

/**
 * What columns show of runs' series. A list does not have them, so that they are asked for run by run, for the runs that somebody
 * sees. Once known they stay, those of runs that go on until they change.
 */
export class Figures {
  private summaries = new Map<string, SeriesSummary[]>();
  private steps = new Map<string, number | null>();
  private changing = new Set<string>();
  private waiting = new Map<string, () => Promise<void>>();
  private busy = 0;
  private isOver = false;
  /** Grows when something became known */
  private known = $state(0);

  /** The value; null: there is none; undefined: not known yet. */
  value(run: RunRow, figure: Figure): number | null | undefined {
    void this.known;
    if (figure.kind === "step") return this.steps.get(this.stepKey(run, figure));
    const series = this.summaries.get(run.id);
    return series && fromSummaries(series, figure, isHigherBetter(figure.metric, metrics.find(figure.metric)?.better));
  }

  /** Sees to it that the value becomes known. May be called while something is drawn. */
  want(run: RunRow, figure: Figure) {
    const key = figure.kind === "step" ? this.stepKey(run, figure) : run.id;
    if ((figure.kind === "step" ? this.steps.has(key) : this.summaries.has(key)) || this.waiting.has(key)) return;
    if (run.state !== "ended") this.changing.add(key);
    this.waiting.set(key, () => this.read(run.id, key, figure));
    queueMicrotask(() => this.turn());
  }

  /** Forgets what may have changed. */
  renew() {
    for (const key of this.changing) {
      this.summaries.delete(key);
      this.steps.delete(key);
    }
    this.changing.clear();
    this.known += 1;
  }

  /** Asks for nothing more. */
  end() {
    this.isOver = true;
    this.waiting.clear();
  }

  private stepKey(run: RunRow, figure: Figure): string {
    return `${run.id} ${figure.step} ${figure.metric}`;
  }

  private turn() {
    for (const [key, read] of this.waiting) {
      if (this.busy >= kAtOnce) return;
      if (this.running.has(key)) continue;
      this.running.add(key);
      this.busy += 1;
      void read().finally(() => {
        this.busy -= 1;
        this.running.delete(key);
        this.waiting.delete(key);
        if (this.isOver) return;
        this.known += 1;
        this.turn();
      });
    }
  }
  private running = new Set<string>();

  private async read(run: string, key: string, figure: Figure) {
    try {
      if (figure.kind === "step") {
        const { curves } = await ask("POST /api/v1/runs/{run}/curves", { path: { run }, body: { names: [figure.metric], axis: "step", from: figure.step, to: figure.step + 1, width: 1 } });
        this.steps.set(key, fromCurves(curves, figure));
      } else this.summaries.set(key, (await ask("GET /api/v1/runs/{run}", { path: { run } })).series);
    } catch {
      // A run that was deleted meanwhile has none; an absent leader is asked again when the list is.
      this.changing.add(key);
      if (figure.kind === "step") this.steps.set(key, null);
      else this.summaries.set(key, []);
    }
  }
}
