import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import { queries, SESSION_KEY } from "../api/client";
import type { Session } from "../api/shapes";
import { showPage, signInAs } from "../testing/page";
import { WarningBanner } from "./WarningBanner";

const WARNING = "The server listens on 0.0.0.0 without TLS.";

function warn(warnings: string[]) {
  signInAs({ is_admin: true });
  queries.setQueryData<Session>(SESSION_KEY, (found) => found && { ...found, warnings });
}

it("tells administrators of a server without encryption, until they close it", async () => {
  warn([WARNING]);
  const page = await showPage(<WarningBanner />);
  expect(page.getByRole("alert").textContent).toContain(WARNING);
  await userEvent.click(page.getByRole("button", { name: "Close this warning" }));
  expect(page.queryByRole("alert")).toBeNull();
});

it("is silent where nothing is wrong", async () => {
  warn([]);
  const page = await showPage(<WarningBanner />);
  expect(page.queryByRole("alert")).toBeNull();
});
