import type { CacheVerification } from "../../../api/shapes";
import { plural } from "../../../lib/quantity";

/** What came of reading every byte of a cached commit; nothing where nobody asked. */
export function verificationWords(
  verification: CacheVerification | null | undefined,
): { words: string; bad: boolean } | null {
  if (!verification) return null;
  const { state, checked_files, damaged_files, missing_files, extra_files, healed_files } = verification;
  if (state === "asked") return { words: "waits to be verified", bad: false };
  if (state === "running") return { words: `verifying, ${plural(checked_files, "file")} so far`, bad: false };
  if (state === "failed") return { words: `could not be verified: ${verification.problem}`, bad: true };
  const wrong = damaged_files + missing_files + extra_files;
  if (wrong === 0)
    return { words: `verified, ${plural(checked_files, "file")} as they should be`, bad: false };
  const words = `${plural(wrong, "file")} of ${checked_files.toLocaleString("en")} were wrong, ${healed_files} healed`;
  return { words, bad: healed_files < wrong };
}
