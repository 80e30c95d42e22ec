import { Badge, Button, Group, Paper } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconLogin2, IconPlus } from "@tabler/icons-react";
import { createColumnHelper } from "@tanstack/react-table";
import type { Provider } from "../../../api/shapes";
import { DataTable } from "../../../components/DataTable";
import { EmptyState } from "../../../components/EmptyState";
import { Section } from "../../../components/Section";
import { Time } from "../../../components/Time";
import { NewProvider } from "./NewProvider";
import { ProviderActions } from "./ProviderActions";

const column = createColumnHelper<Provider>();

const COLUMNS = [
  column.accessor("name", {
    header: "Provider",
    cell: ({ row }) => (
      <Group gap="xs">
        {row.original.name}
        {!row.original.enabled && (
          <Badge variant="light" color="orange" tt="none">
            switched off
          </Badge>
        )}
      </Group>
    ),
  }),
  column.accessor("kind", {
    header: "Kind",
    cell: ({ getValue }) => (getValue() === "oidc" ? "OpenID" : "directory"),
  }),
  column.accessor((one) => one.oidc?.issuer ?? one.ldap?.url ?? "", { id: "address", header: "Address" }),
  column.accessor("title", { header: "Title" }),
  column.accessor("created_at", { header: "Added", cell: ({ getValue }) => <Time at={getValue()} /> }),
  column.display({
    id: "actions",
    header: "Actions",
    cell: ({ row }) => <ProviderActions provider={row.original} />,
  }),
];

export function Providers({ providers }: { providers: Provider[] }) {
  const [creating, dialog] = useDisclosure(false);
  const create = (
    <Button size="compact-sm" leftSection={<IconPlus size={16} aria-hidden />} onClick={dialog.open}>
      New provider
    </Button>
  );
  return (
    <Section title="Providers" bare actions={providers.length > 0 && create}>
      {providers.length > 0 ? (
        <Paper withBorder>
          <DataTable label="Providers" rows={providers} columns={COLUMNS} rowId={(one) => one.name} />
        </Paper>
      ) : (
        <EmptyState
          icon={IconLogin2}
          sentence="No providers yet. Let people sign in with an OpenID provider or a directory."
          action={create}
          command="mill auth provider add corp --issuer https://login.example.com --client-id ID --client-secret-file FILE"
        />
      )}
      {creating && <NewProvider onClose={dialog.close} />}
    </Section>
  );
}
