// Charts that have something new are drawn a few at a time: many of them must not keep the page from answering.

/** Of each frame: half of what sixty a second leave. */
const kBudgetMs = 8;

export class DrawQueue {
  private waiting = new Set<() => void>();
  private asked = false;

  constructor(
    private nextFrame: (turn: () => void) => void = (turn) => requestAnimationFrame(turn),
    private now: () => number = () => performance.now(),
  ) {}

  /** Draws with the next frames; what waits already is drawn once. */
  soon(draw: () => void) {
    this.waiting.add(draw);
    this.ask();
  }
  forget(draw: () => void) {
    this.waiting.delete(draw);
  }

  private ask() {
    if (this.asked) return;
    this.asked = true;
    this.nextFrame(() => this.turn());
  }
  private turn() {
    this.asked = false;
    const end = this.now() + kBudgetMs;
    for (const draw of this.waiting) {
      this.waiting.delete(draw);
      draw();
      if (this.now() >= end) break;
    }
    if (this.waiting.size > 0) this.ask();
  }
}

export const drawQueue = new DrawQueue();
