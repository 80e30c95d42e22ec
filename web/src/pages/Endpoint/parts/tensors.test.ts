import { describe, expect, it } from "vitest";
import { bestScores, exampleText, imageLayout, imageValues, typedTensor } from "./tensors";

const input = (datatype: string, shape: number[]) => ({ name: "x", datatype, shape });

describe("typed values", () => {
  it("get a batch of one where the model wants one", () => {
    expect(typedTensor(input("FP32", [-1, 2]), "[1, 2.5]")).toMatchObject({ shape: [1, 2], data: [1, 2.5] });
    expect(typedTensor(input("FP32", [-1, 2]), "[[1, 2], [3, 4]]")).toMatchObject({ shape: [2, 2] });
    expect(typedTensor(input("INT64", [1]), "7")).toMatchObject({ shape: [1], data: [7] });
    expect(typedTensor(input("BYTES", [-1, 1]), "hello")).toMatchObject({ shape: [1, 1], data: ["hello"] });
  });

  it("say what is wrong", () => {
    expect(typedTensor(input("FP32", [-1, 2]), "one")).toContain("write a number");
    expect(typedTensor(input("FP32", [-1, 2]), "[1, 2, 3]")).toBe(
      "x wants the shape [-1, 2], and this is [3].",
    );
    expect(typedTensor(input("FP32", [-1, 2]), "[[1, 2], [3]]")).toContain("equally long");
  });

  it("begin with zeros of the right shape", () => {
    expect(exampleText(input("FP32", [-1, 3]))).toBe("[[0,0,0]]");
    expect(exampleText(input("FP32", [-1, 3, 224, 224]))).toBe("");
  });
});

describe("images", () => {
  it("are recognised by their shape", () => {
    expect(imageLayout(input("FP32", [-1, 3, 8, 6]))).toEqual({
      height: 8,
      width: 6,
      channels: 3,
      isFirst: true,
    });
    expect(imageLayout(input("UINT8", [8, 6, 1]))).toEqual({
      height: 8,
      width: 6,
      channels: 1,
      isFirst: false,
    });
    expect(imageLayout(input("FP32", [-1, 4]))).toBeNull();
    expect(imageLayout(input("BYTES", [-1, 3, 8, 6]))).toBeNull();
  });

  it("become values in the order of the input", () => {
    const pixels = new Uint8ClampedArray([255, 0, 51, 255, 0, 255, 102, 255]);
    const layout = { height: 1, width: 2, channels: 3, isFirst: true };
    expect(imageValues(pixels, layout, true)).toEqual([1, 0, 0, 1, 0.2, 0.4]);
    expect(imageValues(pixels, { ...layout, isFirst: false }, false)).toEqual([255, 0, 51, 0, 255, 102]);
  });
});

describe("scores", () => {
  it("name the highest classes", () => {
    const output = { ...input("FP32", [1, 4]), data: [0.1, 0.6, 0.05, 0.25] };
    expect(bestScores(output, 2)).toEqual([
      { index: 1, value: 0.6 },
      { index: 3, value: 0.25 },
    ]);
    expect(bestScores({ ...output, shape: [2, 2] })).toBeNull();
    expect(bestScores({ ...input("BYTES", [1, 2]), data: ["a", "b"] })).toBeNull();
  });
});
