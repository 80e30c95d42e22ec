import type { useRouter } from "@tanstack/react-router";
import type { SessionPlace } from "../../../api/workspaceSessions";

/** The page of a session, in this tab; without one, in the tab of the page itself. */
export function showSession(
  router: ReturnType<typeof useRouter>,
  place: SessionPlace,
  tab: Window | null,
): void {
  const to = {
    to: "/projects/$project/workspaces/$workspace/sessions/$job",
    params: { ...place },
  } as const;
  if (tab) tab.location.href = new URL(router.buildLocation(to).href, window.location.href).href;
  else void router.navigate(to);
}
