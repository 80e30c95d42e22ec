import { createColumnHelper } from "@tanstack/react-table";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import { showPage } from "../testing/page";
import { DataTable, WholeList } from "./DataTable";

interface Row {
  name: string;
}

const column = createColumnHelper<Row>();
const COLUMNS = [column.accessor("name", { header: "Name" })];
const ROWS = [{ name: "b" }, { name: "a" }];

const table = <DataTable label="Letters" rows={ROWS} columns={COLUMNS} rowId={(row) => row.name} />;

it("sorts by a column when all rows are loaded", async () => {
  const page = await showPage(table);
  await userEvent.click(page.getByRole("button", { name: "Name" }));
  expect(page.getAllByRole("cell").map((cell) => cell.textContent)).toEqual(["a", "b"]);
});

it("does not offer to sort one page of many", async () => {
  const page = await showPage(<WholeList value={false}>{table}</WholeList>);
  expect(page.queryByRole("button", { name: "Name" })).toBeNull();
  expect(page.getAllByRole("cell").map((cell) => cell.textContent)).toEqual(["b", "a"]);
});
