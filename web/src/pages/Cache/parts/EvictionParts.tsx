import { Stack } from "@mantine/core";
import { Evictions } from "./Evictions";
import { Plan } from "./Plan";
import { Refusals } from "./Refusals";

/** What goes next, what was refused for lack of space, and what went, of one volume or of all. */
export function EvictionParts({ volume }: { volume?: string }) {
  return (
    <Stack gap="xl">
      <Plan volume={volume} />
      <Refusals volume={volume} />
      <Evictions volume={volume} />
    </Stack>
  );
}
