/** Puts a component where pages live: theme, queries and, for links, a router of one address. */
import { MantineProvider } from "@mantine/core";
import { QueryClientProvider } from "@tanstack/react-query";
import { createMemoryHistory, createRootRoute, createRouter, RouterProvider } from "@tanstack/react-router";
import { render, waitFor } from "@testing-library/react";
import type { ReactNode } from "react";
import { queries, SESSION_KEY } from "../api/client";
import type { Session } from "../api/shapes";
import { theme } from "../theme";

export async function showPage(content: ReactNode) {
  const root = createRootRoute({ component: () => <div data-testid="shown">{content}</div> });
  const history = createMemoryHistory({ initialEntries: ["/"] });
  const router = createRouter({ routeTree: root, history });
  const shown = render(
    <MantineProvider theme={theme} env="test">
      <QueryClientProvider client={queries}>
        <RouterProvider router={router as never} />
      </QueryClientProvider>
    </MantineProvider>,
  );
  await waitFor(() => shown.getByTestId("shown"));
  return shown;
}

export function signInAs(
  part: Partial<Session["user"]> = {},
  role: "viewer" | "member" | "admin" = "member",
) {
  queries.setQueryData<Session>(SESSION_KEY, {
    user: {
      id: "u1",
      name: "mary",
      full_name: "Mary Vale",
      is_admin: false,
      created_at: "2026-01-01T00:00:00+00:00",
      disabled_at: null,
      email: "",
      is_service: false,
      ...part,
    },
    projects: [{ project: "default", role }],
    csrf: "the-csrf",
    server_version: "0.3.0",
    has_password: true,
    scopes: null,
  });
}
