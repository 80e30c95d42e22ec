import { fireEvent, screen, waitFor } from "@testing-library/react";
import { afterEach, expect, test, vi } from "vitest";
import { queries } from "../../../api/client";
import { aModel, aVersion } from "../../../testing/models";
import { showPage, signInAs } from "../../../testing/page";
import { answering } from "../../../testing/server";
import { Aliases } from "./Aliases";

afterEach(() => {
  queries.clear();
  vi.unstubAllGlobals();
});

const MODEL = "/projects/default/models/chest-xray";

test("an alias is moved from another version after saying so", async () => {
  const server = answering({
    [`GET ${MODEL}`]: aModel({ aliases: { champion: 1 } }),
    [`PUT ${MODEL}/aliases/champion`]: aVersion({ aliases: ["champion"] }),
  });
  signInAs();
  await showPage(<Aliases version={aVersion()} />);
  fireEvent.click(screen.getByRole("button", { name: "Set an alias of version 3" }));
  fireEvent.change(await screen.findByPlaceholderText("champion"), { target: { value: "champion" } });
  await screen.findByText("Moves champion from version 1.");
  fireEvent.submit(screen.getByText("Move the alias").closest("form") as HTMLFormElement);
  await waitFor(async () =>
    expect(await server.changes()).toEqual([[`PUT ${MODEL}/aliases/champion`, { version: "3" }]]),
  );
});

test("an alias is removed by its cross", async () => {
  const server = answering({ [`DELETE ${MODEL}/aliases/champion`]: null });
  signInAs();
  await showPage(<Aliases version={aVersion({ aliases: ["champion"] })} />);
  fireEvent.click(screen.getByRole("button", { name: "Remove alias champion from version 3" }));
  await waitFor(async () =>
    expect(await server.changes()).toEqual([[`DELETE ${MODEL}/aliases/champion`, null]]),
  );
});

test("viewers see aliases and change none", async () => {
  answering({});
  signInAs({}, "viewer");
  await showPage(<Aliases version={aVersion({ aliases: ["champion"] })} />);
  screen.getByText("champion");
  expect(screen.queryByRole("button")).toBeNull();
});
