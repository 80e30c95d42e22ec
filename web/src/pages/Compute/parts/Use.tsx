import { Box, Group, Progress, Text } from "@mantine/core";
import { formatBytes, formatGpus } from "../../../lib/quantity";

/** What a compute or a node has and how much of it is promised to jobs. */
export interface Used {
  running: number;
  cpus: number;
  cpu_used: number;
  memory_bytes: number;
  memory_used_bytes: number;
  gpus: number;
  gpu_used_hundredths: number;
  declared: boolean;
}

export function Use({ of }: { of: Used }) {
  return (
    <>
      <Group gap="12px 32px" align="flex-start">
        <Amount name="Jobs" words={String(of.running)} />
        <Amount name="CPUs" words={`${of.cpu_used} of ${of.cpus}`} share={shareOf(of.cpu_used, of.cpus)} />
        <Amount
          name="Memory"
          words={`${formatBytes(of.memory_used_bytes)} of ${formatBytes(of.memory_bytes)}`}
          share={shareOf(of.memory_used_bytes, of.memory_bytes)}
        />
        <Amount
          name="GPUs"
          words={of.gpus === 0 ? "none" : `${formatGpus(of.gpu_used_hundredths)} of ${of.gpus}`}
          share={of.gpus === 0 ? undefined : shareOf(of.gpu_used_hundredths, 100 * of.gpus)}
        />
      </Group>
      {of.declared && (
        <Text size="xs" c="dimmed" mt={6}>
          Some amounts are declared, not measured.
        </Text>
      )}
    </>
  );
}

interface AmountProps {
  name: string;
  words: string;
  share?: number;
}

function Amount({ name, words, share }: AmountProps) {
  return (
    <Box miw={120}>
      <Text size="xs" c="dimmed">
        {name}
      </Text>
      <Text size="sm">{words}</Text>
      {share !== undefined && <Progress value={share} size="sm" mt={4} aria-hidden />}
    </Box>
  );
}

function shareOf(used: number, whole: number): number {
  return whole > 0 ? Math.min(100, (100 * used) / whole) : 0;
}
