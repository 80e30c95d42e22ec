import { ActionIcon, Select, Stack, Table } from "@mantine/core";
import { IconX } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { membersQuery, usePutMember, useRemoveMember } from "../../../api/projects";
import type { Member, Role } from "../../../api/shapes";
import { Loaded } from "../../../components/Loaded";
import { tell } from "../../../components/notify";
import { AddMember } from "./AddMember";
import { ROLES } from "./roles";

interface Props {
  project: string;
  mayChange: boolean;
}

export function Members({ project, mayChange }: Props) {
  const result = useQuery(membersQuery(project));
  return (
    <Loaded result={result}>
      {({ items }) => (
        <Stack>
          <Table aria-label={`Members of ${project}`}>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>User</Table.Th>
                <Table.Th>Name</Table.Th>
                <Table.Th>Role</Table.Th>
                <Table.Th>{mayChange && "Actions"}</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {items.map((member) => (
                <MemberRow key={member.user} member={member} project={project} mayChange={mayChange} />
              ))}
            </Table.Tbody>
          </Table>
          {mayChange && <AddMember project={project} />}
        </Stack>
      )}
    </Loaded>
  );
}

function MemberRow({ member, project, mayChange }: Props & { member: Member }) {
  const put = usePutMember(project);
  const remove = useRemoveMember(project);
  const change = (role: string | null) =>
    role && tell(put.mutateAsync({ user: member.user, role: role as Role }));
  return (
    <Table.Tr>
      <Table.Td>{member.user}</Table.Td>
      <Table.Td>{member.full_name}</Table.Td>
      <Table.Td>
        {mayChange ? (
          <Select
            aria-label={`Role of ${member.user}`}
            data={ROLES}
            value={member.role}
            onChange={change}
            allowDeselect={false}
            size="xs"
            w={120}
          />
        ) : (
          member.role
        )}
      </Table.Td>
      <Table.Td>
        {mayChange && (
          <ActionIcon
            variant="default"
            aria-label={`Remove ${member.user}`}
            loading={remove.isPending}
            onClick={() => tell(remove.mutateAsync(member.user))}
          >
            <IconX size={14} />
          </ActionIcon>
        )}
      </Table.Td>
    </Table.Tr>
  );
}
