const UNITS: Readonly<Record<string, number>> = {
  "": 1,
  B: 1,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
  PB: 1e15,
  KIB: 2 ** 10,
  MIB: 2 ** 20,
  GIB: 2 ** 30,
  TIB: 2 ** 40,
  PIB: 2 ** 50,
};

/** `20GB`, `1.5 TiB` or `500 M` in bytes; null for what is no size. */
export function readBytes(text: string): number | null {
  const found = /^\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*$/i.exec(text);
  if (!found) return null;
  const written = (found[2] ?? "").toUpperCase();
  const unit = UNITS[written] ?? UNITS[`${written}B`];
  return unit === undefined ? null : Math.round(Number(found[1]) * unit);
}
