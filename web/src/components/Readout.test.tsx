import { expect, it } from "vitest";
import { showPage } from "../testing/page";
import type { ChartData } from "./Chart";
import { Readout } from "./Readout";

const data: ChartData = {
  x: [0, 10, 2000],
  time: false,
  lines: [
    { label: "loss", values: [0.9, 0.5, 0.1] },
    { label: "val_loss", values: [1, null, null] },
  ],
};
const format = (value: number) => value.toFixed(2);

it("shows the latest value of each line before the cursor is there", async () => {
  const page = await showPage(<Readout data={data} format={format} pointed={null} />);
  const values = page.getByRole("group", { name: "Latest values" });
  expect(values.textContent).toBe("loss 0.10val_loss 1.00latest");
});

it("shows the values and the step under the cursor", async () => {
  const page = await showPage(<Readout data={data} format={format} pointed={1} />);
  const values = page.getByRole("group", { name: "Values at the cursor" });
  expect(values.textContent).toBe("loss 0.50val_loss –step 10");
});

it("goes back to the latest values when the point is gone", async () => {
  const page = await showPage(<Readout data={data} format={format} pointed={7} />);
  expect(page.getByRole("group", { name: "Latest values" })).toBeTruthy();
});

it("gives the time where the chart is over time", async () => {
  const page = await showPage(<Readout data={{ ...data, time: true }} format={format} pointed={0} />);
  expect(page.getByRole("group").textContent).toContain("1970");
});
