import userEvent from "@testing-library/user-event";
import { expect, it, vi } from "vitest";
import { CursorStore } from "../../../components/curves/cursor";
import { aRun } from "../../../testing/builders";
import { showPage } from "../../../testing/page";
import { RunChips } from "./RunChips";

it("hides a run, takes one out, and points at the one under the mouse", async () => {
  const [onHide, onRemove, cursor] = [vi.fn(), vi.fn(), new CursorStore()];
  const compared = ["a", "b"].map((id) => ({ run: aRun({ id, name: `run ${id}` }), color: "red" }));
  const page = await showPage(
    <RunChips
      compared={compared}
      hidden={new Set(["b"])}
      cursor={cursor}
      onHide={onHide}
      onRemove={onRemove}
    />,
  );
  await userEvent.click(page.getByRole("button", { name: "Hide run a" }));
  expect(onHide).toHaveBeenCalledWith(new Set(["b", "a"]));
  await userEvent.click(page.getByRole("button", { name: "Show run b" }));
  expect(onHide).toHaveBeenLastCalledWith(new Set());
  await userEvent.hover(page.getByRole("link", { name: "run b" }));
  expect(cursor.get().run).toBe("b");
  await userEvent.click(page.getByRole("button", { name: "Remove run a" }));
  expect(onRemove).toHaveBeenCalledWith("a");
});

it("folds hundreds of runs away", async () => {
  const compared = Array.from({ length: 100 }, (_, id) => ({
    run: aRun({ id: `${id}`, name: `run ${id}` }),
    color: "red",
  }));
  const props = {
    compared,
    hidden: new Set<string>(),
    cursor: new CursorStore(),
    onHide: vi.fn(),
    onRemove: vi.fn(),
  };
  const page = await showPage(<RunChips {...props} />);
  expect(page.queryByText("run 99")).toBeNull();
  await userEvent.click(page.getByText("and 76 more"));
  expect(page.getByText("run 99")).toBeTruthy();
});
