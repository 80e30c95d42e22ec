import { expect, it } from "vitest";
import { baseOf, formatMetric, formatNumber, sectionsOf, splitOf } from "./metric";

it("writes four digits, and what JSON cannot say", () => {
  expect([0, 0.123456, 1234.5678, 12_345_678, 0.00001].map(formatMetric)).toEqual([
    "0",
    "0.1235",
    "1235",
    "1.23e+7",
    "1.00e-5",
  ]);
  expect([formatNumber("NaN"), formatNumber("-Infinity"), formatNumber(null)]).toEqual(["NaN", "-∞", "–"]);
});

it("puts what was measured on different data into one chart", () => {
  expect(["val_loss", "train/loss", "loss", "test.loss", "eval-loss"].map(baseOf)).toEqual(
    Array(5).fill("loss"),
  );
  expect(["accuracy/val", "valuation", "test", "train_"].map(baseOf)).toEqual([
    "accuracy",
    "valuation",
    "test",
    "train_",
  ]);
  expect(["loss", "train_loss", "validation_loss", "eval_loss", "test_loss"].map(splitOf)).toEqual([
    0, 1, 2, 2, 3,
  ]);
});

it("puts charts under what stands before their first slash, in natural order", () => {
  const keys = ["val/loss", "system/gpu10", "system/gpu2", "loss", "train/loss", "acc"];
  expect(sectionsOf(keys)).toEqual([
    {
      name: "",
      groups: [
        { name: "loss", keys: ["loss", "train/loss", "val/loss"] },
        { name: "acc", keys: ["acc"] },
      ],
    },
    {
      name: "system",
      groups: [
        { name: "system/gpu2", keys: ["system/gpu2"] },
        { name: "system/gpu10", keys: ["system/gpu10"] },
      ],
    },
  ]);
});
