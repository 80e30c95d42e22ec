import { Group, Kbd, Modal, Stack, Switch, Text } from "@mantine/core";
import { GROUPS } from "./places";

interface Props {
  opened: boolean;
  onClose: () => void;
  enabled: boolean;
  setEnabled: (enabled: boolean) => void;
}

const ALWAYS: readonly (readonly [string, string])[] = [
  ["Ctrl K", "Search everything"],
  ["/", "Filter this list"],
  ["j", "Next row"],
  ["k", "Previous row"],
  ["x", "Select row"],
  ["c", "Compare selected runs"],
  ["?", "This help"],
  ["Esc", "Close"],
];

export function KeyboardHelp({ opened, onClose, enabled, setEnabled }: Props) {
  const places = GROUPS.flatMap((group) => group.places).filter((place) => place.keys);
  const lines = [...ALWAYS, ...places.map((place) => [place.keys ?? "", place.label] as const)];
  return (
    <Modal opened={opened} onClose={onClose} title="Keyboard" closeButtonProps={{ "aria-label": "Close" }}>
      <Stack gap="xs">
        {lines.map(([keys, words]) => (
          <Group key={keys} justify="space-between">
            <Text size="sm">{words}</Text>
            <Group gap={4}>
              {keys.split(" ").map((key) => (
                <Kbd key={key}>{key}</Kbd>
              ))}
            </Group>
          </Group>
        ))}
        <Switch
          mt="md"
          label="Single-key shortcuts"
          checked={enabled}
          onChange={(event) => setEnabled(event.currentTarget.checked)}
        />
      </Stack>
    </Modal>
  );
}
