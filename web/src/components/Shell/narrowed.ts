/** The lists that show one project when one is chosen; their addresses say which. */
export const NARROWED = [
  "/datasets",
  "/caches",
  "/sources",
  "/jobs",
  "/runs",
  "/flows",
  "/models",
  "/endpoints",
  "/clusters",
  "/workspaces",
  "/searches",
  "/library",
  "/shares",
] as const;

export type Narrowed = (typeof NARROWED)[number];

export function isNarrowed(pathname: string): pathname is Narrowed {
  return NARROWED.some((place) => place === pathname);
}
