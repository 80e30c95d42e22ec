import { Group, Paper, Stack, Text, ThemeIcon, Title } from "@mantine/core";
import { IconCheck, IconCircle } from "@tabler/icons-react";
import type { Home } from "../../api/shapes";
import { CommandLine } from "../../components/Copyable";

interface Step {
  done: boolean;
  words: string;
  command: string;
}

function stepsOf(home: Home): Step[] {
  return [
    {
      done: home.datasets > 0,
      words: "Put a directory into the lake as a dataset",
      command: "mill data init my-data && mill data sync",
    },
    {
      done: home.computes_connected > 0 && home.volume_bytes > 0,
      words: "Connect a compute and a volume beside it (mill up brings one of each)",
      command: "mill volume add fast /mnt/fast",
    },
    {
      done: home.recent_jobs.length > 0,
      words: "Run a job where the data is",
      command: "mill submit --data my-data -- python train.py",
    },
  ];
}

/** The three steps of the first hour; gone once all are taken. */
export function Checklist({ home }: { home: Home }) {
  const steps = stepsOf(home);
  if (steps.every((step) => step.done)) return null;
  return (
    <Paper withBorder p="lg" component="section">
      <Title order={2} size="h4" mb="md">
        First steps
      </Title>
      <Stack component="ol" gap="lg" m={0} p={0} style={{ listStyle: "none" }}>
        {steps.map((step) => (
          <Group key={step.command} component="li" align="flex-start" wrap="nowrap">
            <ThemeIcon
              variant={step.done ? "filled" : "light"}
              color={step.done ? "green.9" : "gray"}
              radius="xl"
            >
              {step.done ? (
                <IconCheck size={16} aria-label="done" />
              ) : (
                <IconCircle size={16} aria-label="to do" />
              )}
            </ThemeIcon>
            <div style={{ minWidth: 0 }}>
              <Text td={step.done ? "line-through" : undefined} mb={4}>
                {step.words}
              </Text>
              {!step.done && <CommandLine command={step.command} />}
            </div>
          </Group>
        ))}
      </Stack>
    </Paper>
  );
}
