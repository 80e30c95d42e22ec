import { expect, it } from "vitest";
import { aCommit } from "../../../testing/builders";
import { showPage } from "../../../testing/page";
import { OutsideOf } from "./Outside";

it("says through which connections a commit is read", async () => {
  const page = await showPage(<OutsideOf commit={aCommit({ lineage: { external: ["feed", "archive"] } })} />);
  expect(page.getByTestId("outside").textContent).toBe("outside: feed, archive");
});

it("says nothing of a commit that the lake holds", async () => {
  const page = await showPage(<OutsideOf commit={aCommit()} />);
  expect(page.queryByTestId("outside")).toBeNull();
});
