import { Badge, Button, Group, Paper } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconPlus } from "@tabler/icons-react";
import { useInfiniteQuery } from "@tanstack/react-query";
import { createColumnHelper } from "@tanstack/react-table";
import { useSession } from "../../api/session";
import type { User } from "../../api/shapes";
import { usersQuery } from "../../api/users";
import { DataTable } from "../../components/DataTable";
import { Paged } from "../../components/Paged";
import { PageHeader } from "../../components/PageHeader";
import { Time } from "../../components/Time";
import { NewUser } from "./NewUser";
import { UserActions } from "./UserActions";

const column = createColumnHelper<User>();

const COLUMNS = [
  column.accessor("name", { header: "User name", cell: ({ row }) => <Name user={row.original} /> }),
  column.accessor("full_name", { header: "Name" }),
  column.accessor("created_at", { header: "Made", cell: ({ getValue }) => <Time at={getValue()} /> }),
  column.display({
    id: "actions",
    header: "Actions",
    cell: ({ row }) => <UserActions user={row.original} />,
  }),
];

export function UserList() {
  const result = useInfiniteQuery(usersQuery);
  const [creating, dialog] = useDisclosure(false);
  const isAdmin = useSession()?.user.is_admin;
  return (
    <>
      <PageHeader
        title="Users"
        actions={
          isAdmin && (
            <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={dialog.open}>
              New user
            </Button>
          )
        }
      />
      <Paged result={result} empty={null}>
        {(users) => (
          <Paper withBorder>
            <DataTable label="Users" rows={users} columns={COLUMNS} rowId={(user) => user.id} />
          </Paper>
        )}
      </Paged>
      {creating && <NewUser onClose={dialog.close} />}
    </>
  );
}

function Name({ user }: { user: User }) {
  return (
    <Group gap="xs">
      {user.name}
      {user.is_admin && (
        <Badge variant="outline" color="gray" tt="none">
          site administrator
        </Badge>
      )}
      {user.is_service && (
        <Badge variant="outline" color="gray" tt="none">
          service account
        </Badge>
      )}
      {user.disabled_at && (
        <Badge variant="light" color="orange" tt="none">
          disabled
        </Badge>
      )}
    </Group>
  );
}
