/** BLAKE3, by which the lake names every blob, from a small WebAssembly module that is part of the page. */
import { createBLAKE3 } from "hash-wasm";

export const DIGEST_SIZE = 32;

export type Digest = (data: Uint8Array) => Uint8Array;

export async function loadDigest(): Promise<Digest> {
  const hasher = await createBLAKE3();
  return (data) => hasher.init().update(data).digest("binary");
}

export function toHex(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += byte.toString(16).padStart(2, "0");
  return text;
}
