import { act } from "@testing-library/react";
import { afterEach, expect, it, vi } from "vitest";
import { queries } from "../../api/client";
import { chooseProject, chosenProject, usableProject } from "../../hooks/useProject";
import { showPage, signInAs } from "../../testing/page";
import { ProjectSwitch } from "./ProjectSwitch";

afterEach(() => {
  chooseProject(undefined);
  queries.clear();
});

function withProjects(...names: string[]) {
  vi.stubGlobal("fetch", async () => Response.json({ items: names.map((name) => ({ name })), next: null }));
}

it("shows the chosen project, and is not there for those who have but one", async () => {
  signInAs();
  withProjects("default", "vision");
  const page = await showPage(<ProjectSwitch />);
  const field = (await page.findByRole("combobox", { name: "Project" })) as HTMLInputElement;
  expect(field.value).toBe("All projects");
  act(() => chooseProject("vision"));
  expect(field.value).toBe("vision");
  page.unmount();
});

it("forgets a project that is gone, and keeps the choices of two users apart", async () => {
  signInAs();
  withProjects("default");
  chooseProject("vision");
  expect(await usableProject()).toBeUndefined();
  signInAs({ id: "u2", name: "john" });
  expect(chosenProject()).toBeUndefined();
  signInAs();
  expect(chosenProject()).toBe("vision");
});
