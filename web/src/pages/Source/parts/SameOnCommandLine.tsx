import { Text } from "@mantine/core";
import { CommandLine } from "../../../components/Copyable";

export function SameOnCommandLine({ command }: { command: string }) {
  return (
    <div>
      <Text size="xs" c="dimmed" mb={2}>
        The same on the command line
      </Text>
      <CommandLine command={command} />
    </div>
  );
}
