import { expect, it } from "vitest";
import { helpOf, outOfBounds } from "./ParamField";
import { promoted } from "./Params";
import { commandLine } from "./StepBasics";
import {
  bareCondition,
  checkDuration,
  readList,
  readValue,
  writeList,
  writeValue,
  writtenCondition,
} from "./values";

it.each([
  ["0.1", 0.1],
  ["true", true],
  ["[1, 2]", [1, 2]],
  ["{a: 1}", { a: 1 }],
  ["plain text", "plain text"],
  ["${params.x}", "${params.x}"],
  ["", undefined],
  ["[1, ", "[1, "],
])("reads %s as a value", (text, value) => expect(readValue(text)).toEqual(value));

it("writes lists and values as they are typed", () => {
  expect(writeList([0.1, "a b", 2])).toBe("0.1, a b, 2");
  expect(readList("0.1, a b, 2")).toEqual([0.1, "a b", 2]);
  expect(readList("${steps.a.outputs.b}")).toBe("${steps.a.outputs.b}");
  expect(readList("[")).toBeNull();
  expect(writeValue({ a: [1] })).toBe("{a: [1]}");
});

it("shows conditions without their braces", () => {
  expect(bareCondition("${a.b >= 1}")).toBe("a.b >= 1");
  expect(writtenCondition("a.b >= 1")).toBe("${a.b >= 1}");
  expect(writtenCondition("${a.b}")).toBe("${a.b}");
  expect(writtenCondition(" ")).toBeUndefined();
});

it("says what is wrong with a number or a duration", () => {
  const param = { name: "lr", type: "float", required: false, min: 0, max: 1, exclusive_min: true };
  expect(outOfBounds(param, 0)).toBe("Must be more than 0.");
  expect(outOfBounds(param, 2)).toBe("Must be at most 1.");
  expect(outOfBounds({ ...param, type: "int" }, 0.5)).toBe("Must be a whole number.");
  expect(outOfBounds(param, 0.5)).toBeNull();
  expect(helpOf({ ...param, help: "Rate" })).toBe("Rate · more than 0, at most 1");
  expect(checkDuration("30m")).toBeNull();
  expect(checkDuration("soon")).not.toBeNull();
});

it("shows a shell line without the shell, and other commands as they are", () => {
  expect(commandLine(["sh", "-c", "date > $MILL_OUTPUT/x"])).toBe("date > $MILL_OUTPUT/x");
  expect(commandLine(["sh", "-c", "date"])).toBe("sh -c date");
  expect(commandLine(["python", "a b.py"])).toBe("python 'a b.py'");
});

it("makes a parameter of a step one of the flow, with its bounds", () => {
  const text = "steps:\n  a:\n    component: split@1\n    params: {size: 3}\n";
  const param = { name: "size", type: "int", required: false, default: 1, min: 1, help: "How many" };
  expect(promoted(text, "a", param, 3, { size: {} })).toBe(
    "params:\n  size_2: {type: int, default: 3, min: 1, help: How many}\n" +
      'steps:\n  a:\n    component: split@1\n    params: {size: "${params.size_2}"}\n',
  );
});
