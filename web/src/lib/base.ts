/** Where the page and its API live: below `<base href>`, which a server behind a path prefix rewrites. */

export function basePath(): string {
  return new URL(document.baseURI).pathname;
}

export function apiAddress(path: string, query: Record<string, string | number | undefined> = {}): string {
  const address = new URL(`api/v1${path}`, document.baseURI);
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) address.searchParams.set(name, String(value));
  }
  return address.href;
}

/** A page of the documentation, which the server answers to everybody. */
export function docsAddress(page = ""): string {
  return new URL(`docs/${page}`, document.baseURI).href;
}
