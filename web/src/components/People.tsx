import { Avatar, Tooltip } from "@mantine/core";
import { initials } from "../lib/names";

const SHOWN = 4;

/** Members by their initials; the whole name on hover. */
export function People({ names }: { names: string[] }) {
  const hidden = names.length - SHOWN;
  return (
    <Avatar.Group spacing={6} aria-label={`Members: ${names.join(", ")}`} role="img">
      {names.slice(0, SHOWN).map((name) => (
        <Tooltip key={name} label={name}>
          <Avatar size={28} radius="xl" color="cyan.9" variant="filled">
            {initials(name)}
          </Avatar>
        </Tooltip>
      ))}
      {hidden > 0 && (
        <Avatar size={28} radius="xl">
          +{hidden}
        </Avatar>
      )}
    </Avatar.Group>
  );
}
