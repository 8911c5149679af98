import { expect, test } from "vitest";
import { columnsSeen } from "./columns_seen";

const wide = Array.from({ length: 200 }, () => "10rem");

test("of a wide table only what is seen is drawn, and a little more", () => {
  expect(columnsSeen(wide, 0, 400, 10)).toEqual({ first: 0, last: 6 });
  expect(columnsSeen(wide, 5050, 400, 10)).toEqual({ first: 48, last: 57 });
  expect(columnsSeen(wide, 19_600, 400, 10)).toEqual({ first: 194, last: 200 });
});
test("all of it is drawn where it fits, or where nobody knows how wide it is", () => {
  expect(columnsSeen(["10rem", "5rem"], 0, 400, 10)).toEqual({ first: 0, last: 2 });
  expect(columnsSeen([...wide, "30%"], 0, 400, 10)).toEqual({ first: 0, last: 201 });
  expect(columnsSeen(wide, 99_999, 400, 10)).toEqual({ first: 0, last: 200 });
});
