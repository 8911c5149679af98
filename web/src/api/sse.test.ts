import { expect, test } from "vitest";
import { readEvent, readEvents } from "./sse";

function stream(...parts: string[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(out) {
      for (const part of parts) out.enqueue(new TextEncoder().encode(part));
      out.close();
    },
  });
}

test("events come whole, however they were cut", async () => {
  const found = [];
  for await (const event of readEvents(stream("event: snap", 'shot\r\ndata: {"a":', "1}\r", "\n\r\n: beat\n\ndata: x\ndata: y\n\ndata: cut off"))) found.push(event);
  expect(found).toEqual([{ name: "snapshot", data: '{"a":1}' }, { name: "message", data: "x\ny" }]);
});

test("a comment is no event", () => expect(readEvent(": beat")).toBeNull());
