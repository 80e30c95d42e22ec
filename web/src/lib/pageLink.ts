/** A path of the page as the server tells it, `/sources?project=vision`, as the router takes it. */
export function pageLink(link: string): { to: "/"; search: Record<string, string> } {
  const [path = "/", query = ""] = link.split("?");
  // The router knows addresses by their patterns; one that is already filled in is none of them to the type checker.
  return { to: path as "/", search: Object.fromEntries(new URLSearchParams(query)) };
}
