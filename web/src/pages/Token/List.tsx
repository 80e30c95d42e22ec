import { Button, Paper, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconKey, IconPlus } from "@tabler/icons-react";
import { useInfiniteQuery } from "@tanstack/react-query";
import { createColumnHelper } from "@tanstack/react-table";
import type { Token } from "../../api/shapes";
import { tokensQuery, useDeleteToken } from "../../api/tokens";
import { DataTable } from "../../components/DataTable";
import { EmptyState } from "../../components/EmptyState";
import { notifyDone, tell } from "../../components/notify";
import { Paged } from "../../components/Paged";
import { PageHeader } from "../../components/PageHeader";
import { Time } from "../../components/Time";
import { NewToken } from "./NewToken";

const column = createColumnHelper<Token>();

const COLUMNS = [
  column.accessor("name", { header: "Name" }),
  column.accessor((token) => token.scopes?.join(", ") ?? "all", { id: "scopes", header: "Scopes" }),
  column.accessor("created_at", { header: "Made", cell: ({ getValue }) => <Time at={getValue()} /> }),
  column.accessor("last_used_at", {
    header: "Last use",
    cell: ({ getValue }) => (getValue() ? <Time at={getValue()} /> : "never"),
  }),
  column.accessor("expires_at", {
    header: "Expires",
    cell: ({ getValue }) => (getValue() ? <Time at={getValue()} /> : "never"),
  }),
  column.display({ id: "actions", header: "Actions", cell: ({ row }) => <Revoke token={row.original} /> }),
];

/** The viewer's own tokens, for the command line and for scripts. */
export function TokenList() {
  const result = useInfiniteQuery(tokensQuery);
  const [creating, dialog] = useDisclosure(false);
  const create = (
    <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={dialog.open}>
      New token
    </Button>
  );
  return (
    <>
      <PageHeader
        title="Tokens"
        below={<Text c="dimmed">A token lets a script act as you. Its secret is shown once.</Text>}
        actions={create}
      />
      <Paged
        result={result}
        empty={
          <EmptyState
            icon={IconKey}
            sentence="No tokens yet. Create one for a script or for the command line on another machine."
            action={create}
            command="mill token create my-laptop"
          />
        }
      >
        {(tokens) => (
          <Paper withBorder>
            <DataTable label="Tokens" rows={tokens} columns={COLUMNS} rowId={(token) => token.id} />
          </Paper>
        )}
      </Paged>
      {creating && <NewToken onClose={dialog.close} />}
    </>
  );
}

function Revoke({ token }: { token: Token }) {
  const remove = useDeleteToken();
  const revoke = () => tell(remove.mutateAsync(token.id), () => notifyDone(`${token.name} is revoked.`));
  return (
    <Button
      size="compact-sm"
      variant="default"
      loading={remove.isPending}
      onClick={revoke}
      aria-label={`Revoke ${token.name}`}
    >
      Revoke
    </Button>
  );
}
