import { expect, it } from "vitest";
import { commandWith, isGrid, listsValues, paramsOf, paramValues, takenOut } from "./params";

const pair = (key: string, value: string) => ({ key, value });

it("reads several values with commas between, but not lists and quoted texts", () => {
  expect(paramValues("0.1, 0.01,adam")).toEqual([0.1, 0.01, "adam"]);
  expect(paramValues("[64,128]")).toEqual(["[64,128]"]);
  expect(paramValues('"a,b"')).toEqual(["a,b"]);
  expect([isGrid([pair("lr", "0.1")]), isGrid([pair("lr", "0.1,1")]), isGrid([pair(" ", "1,2")])]).toEqual([
    false,
    true,
    false,
  ]);
});

it("puts parameters where they are named, and the others behind the command", () => {
  const params = [pair("lr", "0.1"), pair("name", "it's")];
  expect(commandWith("python train.py --rate {lr}", params)).toEqual([
    "python",
    "train.py",
    "--rate",
    "0.1",
    "--name",
    "it's",
  ]);
  expect(commandWith("cd x && python train.py", params)).toEqual([
    "sh",
    "-c",
    "cd x && python train.py --lr 0.1 --name 'it'\\''s'",
  ]);
  expect(paramsOf(params)).toEqual({ lr: 0.1, name: "it's" });
});

it("takes the parameters of an earlier job out of its command", () => {
  const command = ["python", "train.py", "--lr", "0.1", "--amp"];
  expect(takenOut(command, { lr: 0.1, seed: 3 })).toEqual({
    command: ["python", "train.py", "--amp"],
    params: [pair("lr", "0.1")],
    kept: { seed: 3 },
  });
});

it("sees values with commas in a command", () => {
  expect(["--lr 0.1,0.01", "x --lr=0.1,1"].every(listsValues)).toBe(true);
  expect(["python a.py", "--lr 0.1", "echo a,b"].some(listsValues)).toBe(false);
});
