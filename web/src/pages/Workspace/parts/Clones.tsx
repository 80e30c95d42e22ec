import { Badge, Box, Button, Group, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useInfiniteQuery } from "@tanstack/react-query";
import { itemsOf } from "../../../api/paging";
import type { Workspace } from "../../../api/shapes";
import { workspacesQuery } from "../../../api/workspaces";
import { Loaded } from "../../../components/Loaded";
import { Status } from "../../../components/Status";
import { TextLink } from "../../../components/TextLink";
import { formatBytes } from "../../../lib/quantity";
import { type FamilyMember, familyOf } from "./family";
import { NewWorkspace } from "./NewWorkspace";

/** Where it came from and what was made of it, as a tree. */
export function Clones({ workspace }: { workspace: Workspace }) {
  const result = useInfiniteQuery(workspacesQuery({ project: workspace.project }));
  const [opened, dialog] = useDisclosure(false);
  return (
    <Stack>
      <Group>
        <Button variant="default" onClick={dialog.open} disabled={workspace.state !== "ready"}>
          Clone
        </Button>
      </Group>
      <Loaded result={result}>
        {() => {
          const family = familyOf(itemsOf(result.data), workspace);
          return (
            <>
              <Branch member={family} shown={workspace} />
              {family.clones.length === 0 && <Text c="dimmed">It has no clones.</Text>}
            </>
          );
        }}
      </Loaded>
      {opened && <NewWorkspace project={workspace.project} clone={workspace.name} onClose={dialog.close} />}
    </Stack>
  );
}

function Branch({ member, shown }: { member: FamilyMember; shown: Workspace }) {
  const { workspace, clones } = member;
  return (
    <Box component="ul" m={0} pl={0} style={{ listStyle: "none" }}>
      <li>
        <Group gap="xs" py={4}>
          <TextLink
            to="/projects/$project/workspaces/$workspace"
            params={{ project: workspace.project, workspace: workspace.name }}
            fw={workspace.id === shown.id ? 700 : 400}
          >
            {workspace.name}
          </TextLink>
          <Status state={workspace.state} size="sm" />
          {workspace.source.written && (
            <Badge variant="outline" size="sm" tt="none">
              from {workspace.source.written}
            </Badge>
          )}
          <Text size="sm" c="dimmed">
            {formatBytes(workspace.unique_bytes)} of its own
          </Text>
        </Group>
        {clones.length > 0 && (
          <Box pl="lg" ml={6} style={{ borderInlineStart: "2px solid var(--mantine-color-default-border)" }}>
            {clones.map((one) => (
              <Branch key={one.workspace.id} member={one} shown={shown} />
            ))}
          </Box>
        )}
      </li>
    </Box>
  );
}
