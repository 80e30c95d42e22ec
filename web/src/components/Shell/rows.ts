/** The rows of the lists in sight, for those who go through them by keyboard. */

const ROWS = "#main tbody tr";

/** Go to the row below (1) or above (-1): its first link or button takes the focus. */
export function moveInRows(by: 1 | -1): void {
  const rows = [...document.querySelectorAll<HTMLElement>(ROWS)].filter((row) => firstOf(row));
  const here = rows.findIndex((row) => row.contains(document.activeElement));
  const next = here < 0 ? (by === 1 ? 0 : rows.length - 1) : here + by;
  const row = rows[next];
  if (!row) return;
  firstOf(row)?.focus();
  row.scrollIntoView({ block: "nearest" });
}

/** Select row that has the focus, or choose it no longer. */
export function chooseRow(): void {
  document.activeElement
    ?.closest<HTMLElement>(ROWS)
    ?.querySelector<HTMLInputElement>("input[type=checkbox]")
    ?.click();
}

function firstOf(row: HTMLElement): HTMLElement | null {
  return row.querySelector<HTMLElement>("a[href], button");
}
