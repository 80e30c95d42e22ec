import { ActionIcon, Autocomplete, Badge, Button, Group, Popover, Stack, Text, Tooltip } from "@mantine/core";
import { IconPlus, IconX } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { modelQuery, useRemoveAlias, useSetAlias } from "../../../api/models";
import { useMay } from "../../../api/session";
import type { ModelVersion } from "../../../api/shapes";
import { notifyDone, tell } from "../../../components/notify";

/** The aliases of a version, each to remove, and a field that sets or moves one. */
export function Aliases({ version }: { version: ModelVersion }) {
  const may = useMay(version.project, "member");
  const remove = useRemoveAlias({ project: version.project, model: version.model });
  return (
    <Group gap={4}>
      {version.aliases.map((alias) => (
        <Badge
          key={alias}
          variant="light"
          tt="none"
          rightSection={
            may && (
              <ActionIcon
                size={16}
                variant="transparent"
                aria-label={`Remove alias ${alias} from version ${version.version}`}
                onClick={() => tell(remove.mutateAsync(alias), () => notifyDone(`Alias ${alias} removed.`))}
              >
                <IconX size={12} aria-hidden />
              </ActionIcon>
            )
          }
        >
          {alias}
        </Badge>
      ))}
      {may && <SetAlias version={version} />}
      {!may && version.aliases.length === 0 && "–"}
    </Group>
  );
}

function SetAlias({ version }: { version: ModelVersion }) {
  const [opened, setOpened] = useState(false);
  return (
    <Popover opened={opened} onChange={setOpened} position="bottom-start" trapFocus withinPortal>
      <Popover.Target>
        <Tooltip label="Set an alias">
          <ActionIcon
            variant="subtle"
            color="gray"
            size="sm"
            aria-label={`Set an alias of version ${version.version}`}
            aria-expanded={opened}
            onClick={() => setOpened(!opened)}
          >
            <IconPlus size={14} aria-hidden />
          </ActionIcon>
        </Tooltip>
      </Popover.Target>
      <Popover.Dropdown>
        {opened && <AliasForm version={version} onDone={() => setOpened(false)} />}
      </Popover.Dropdown>
    </Popover>
  );
}

function AliasForm({ version, onDone }: { version: ModelVersion; onDone: () => void }) {
  const place = { project: version.project, model: version.model };
  const known = useQuery(modelQuery(place)).data?.aliases ?? {};
  const set = useSetAlias(place);
  const [alias, setAlias] = useState("");
  const at = known[alias.trim()];
  const isMove = at !== undefined && at !== version.version;
  const submit = (event: React.FormEvent) => {
    event.preventDefault();
    const name = alias.trim();
    if (!name) return;
    void tell(set.mutateAsync({ alias: name, version: String(version.version) }), () => {
      notifyDone(`${name} is version ${version.version} now.`);
      onDone();
    });
  };
  return (
    <form onSubmit={submit}>
      <Stack gap="xs" w={240}>
        <Autocomplete
          size="xs"
          label="Alias"
          placeholder="champion"
          data={Object.keys(known).filter((name) => known[name] !== version.version)}
          value={alias}
          onChange={setAlias}
          maxLength={100}
          data-autofocus
          comboboxProps={{ withinPortal: false }}
        />
        {isMove && (
          <Text size="xs" c="dimmed">
            Moves {alias.trim()} from version {at}.
          </Text>
        )}
        <Button size="xs" type="submit" disabled={!alias.trim()} loading={set.isPending}>
          {isMove ? "Move the alias" : "Set the alias"}
        </Button>
      </Stack>
    </form>
  );
}
