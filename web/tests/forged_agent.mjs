// A node that means no good: it has a key of its own and speaks the documented protocol (docs/reference/agent-protocol.md).
import { randomBytes } from "node:crypto";

function varint(number) {
  const bytes = [];
  let rest = BigInt(number);
  while (rest >= 0x80n) {
    bytes.push(Number((rest & 0x7fn) | 0x80n));
    rest >>= 7n;
  }
  return Buffer.from([...bytes, Number(rest)]);
}
const integer = (number) => varint(BigInt(number) >= 0n ? BigInt(number) << 1n : (-BigInt(number) << 1n) - 1n);
const text = (words) => Buffer.concat([varint(Buffer.byteLength(words)), Buffer.from(words)]);
function real(number) {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(number);
  return bytes;
}
const pairs = (of) => Buffer.concat([varint(Object.keys(of).length), ...Object.entries(of).sort().flatMap(([name, value]) => [text(name), text(value)])]);
const kNoScale = varint(4);

/** `series`: {name, unit, labels, value}; all values are of one time. `devices`: {id, facts}. */
function batch({ stream, sequence, series = [], events = [], devices = [] }) {
  const now = BigInt(Date.now()) * 1_000_000n;
  const named = series.flatMap((one) => [text(one.name), text(one.unit), pairs(one.labels)]);
  const samples = series.length === 0 ? [varint(0)] : [varint(series.length), integer(now), varint(series.length), ...series.flatMap((one) => [integer(0), kNoScale, real(one.value)])];
  const happened = events.flatMap((one) => [integer(now), text(one.kind), text(one.about), text(one.message), varint(Object.keys(one.values ?? {}).length), ...Object.entries(one.values ?? {}).flatMap(([name, value]) => [text(name), real(value)])]);
  const body = Buffer.concat([
    Buffer.from([1]), text(stream), varint(sequence), varint(0), varint(series.length), ...named, ...samples,
    varint(events.length), ...happened, Buffer.from([1]), varint(devices.length), ...devices.flatMap((one) => [text(one.id), pairs(one.facts)]),
  ]);
  return Buffer.concat([varint(body.length), body]);
}

export class ForgedAgent {
  constructor(base, joinToken) {
    this.base = base;
    this.secret = joinToken.replace(/^assay-join:/, "").split("@")[0];
    this.key = "assay_" + randomBytes(32).toString("hex");
    this.stream = randomBytes(8).toString("hex");
    this.sequence = 0;
  }
  join(node) {
    this.node = node;
    return this.post("/agent/v1/join", JSON.stringify({ node, key: this.key }), { Authorization: `Bearer ${this.secret}` });
  }
  hello(facts) {
    return this.post("/agent/v1/hello", JSON.stringify({ schema: 1, stream: this.stream, assay: "0.0.1", period_ms: 1000, simulated: false, facts, allow: [], sources: ["procfs", "nvml"] }));
  }
  /** Says it again once a second until `stop`: a node that is silent is offline. */
  speak(said) {
    const once = () => this.post("/agent/v1/batch", batch({ stream: this.stream, sequence: ++this.sequence, ...said }), { "Content-Type": "application/x-assay-batches", "Assay-Sent": String(BigInt(Date.now()) * 1_000_000n) });
    this.timer = setInterval(() => void once().catch(() => undefined), 1000);
    return once();
  }
  stop() {
    clearInterval(this.timer);
  }
  async post(path, body, headers = {}) {
    const answer = await fetch(this.base + path, { method: "POST", body, headers: { Authorization: `Bearer ${this.key}`, "Assay-Node": this.node, "Content-Type": "application/json", ...headers } });
    return { status: answer.status, text: await answer.text() };
  }
}
