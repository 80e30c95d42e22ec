import { Badge, Group, Text } from "@mantine/core";
import { IconCheck, IconX } from "@tabler/icons-react";
import type { Volume } from "../../../api/shapes";

/** What is good to know of a file system: the words where it can, and what follows where it cannot. */
const ABILITIES = [
  ["link", "hard links", "no hard links: files that commits share are copied"],
  ["reflink", "copies that share blocks", null],
  ["symlink", "symbolic links", "no symbolic links"],
  ["chmod", "permissions", "no permissions: cached files may look writable"],
  ["times", "times of files", "no times of files"],
  ["case_sensitive", "capital letters differ", "capital letters do not differ"],
] as const;

/** What the agent found the file system able to do when it tried. */
export function Features({ features }: { features: Volume["features"] }) {
  if (!features) {
    return (
      <Text size="sm" c="dimmed">
        Its agent has not tried it out yet.
      </Text>
    );
  }
  return (
    <Group gap={6}>
      {ABILITIES.map(([key, able, unable]) => {
        if (features[key] === true) return <Ability key={key} words={able} able />;
        return features[key] === false && unable ? <Ability key={key} words={unable} /> : null;
      })}
      {typeof features.name_bytes === "number" && (
        <Ability words={`names of ${features.name_bytes} bytes`} able />
      )}
      {features.squashed === true && <Ability words="its agent writes as another user there" />}
    </Group>
  );
}

function Ability({ words, able = false }: { words: string; able?: boolean }) {
  const Picture = able ? IconCheck : IconX;
  return (
    <Badge
      variant="light"
      color={able ? "green" : "orange"}
      tt="none"
      leftSection={<Picture size={12} aria-hidden />}
    >
      {words}
    </Badge>
  );
}
