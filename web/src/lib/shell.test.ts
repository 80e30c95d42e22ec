import { expect, it } from "vitest";
import { shellLine } from "./names";
import { commandWords } from "./shell";

it("takes a plain command apart", () => {
  expect(commandWords("  python train.py  --lr=0.1 ")).toEqual(["python", "train.py", "--lr=0.1"]);
  expect(commandWords(`python -c 'print("a b")' ""`)).toEqual(["python", "-c", 'print("a b")', ""]);
  expect(commandWords("")).toEqual([]);
});

it("gives to a shell what needs one", () => {
  for (const line of ["ls $MILL_DATA_XRAY | wc -l", "a && b", 'echo "$HOME"', "ls *.png", "a\nb", "a\\ b"]) {
    expect(commandWords(line)).toEqual(["sh", "-c", line]);
  }
});

it("does not guess where a quotation ends", () => {
  expect(commandWords("echo 'a")).toBeNull();
});

it("takes apart what it has put together", () => {
  const command = ["python", "-c", "print('a b')", "--lr=0.1"];
  expect(shellLine(commandWords("echo 'a b' c") ?? [])).toBe("echo 'a b' c");
  expect(commandWords(shellLine(command))).toEqual(["sh", "-c", shellLine(command)]);
  expect(commandWords(shellLine(["echo", "a b", "$HOME"]))).toEqual(["echo", "a b", "$HOME"]);
});
