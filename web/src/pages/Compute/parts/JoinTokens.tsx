import { Button, Paper, Title } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { createColumnHelper } from "@tanstack/react-table";
import { joinTokensQuery, useRevokeJoinToken } from "../../../api/computes";
import { useSession } from "../../../api/session";
import type { JoinToken } from "../../../api/shapes";
import { DataTable } from "../../../components/DataTable";
import { notifyDone, tell } from "../../../components/notify";
import { Paged } from "../../../components/Paged";
import { Time } from "../../../components/Time";
import { useNow } from "../../../hooks/useNow";

const column = createColumnHelper<JoinToken>();

const COLUMNS = [
  column.accessor("site", { header: "Site" }),
  column.display({ id: "state", header: "State", cell: ({ row }) => <State token={row.original} /> }),
  column.accessor("created_by", { header: "Made by" }),
  column.accessor("created_at", { header: "Made", cell: ({ getValue }) => <Time at={getValue()} /> }),
  column.accessor("expires_at", { header: "Expires", cell: ({ getValue }) => <Time at={getValue()} /> }),
  column.display({ id: "actions", header: "Actions", cell: ({ row }) => <Revoke token={row.original} /> }),
];

/** Tokens with which agents join, for site administrators; nothing is shown while there are none. */
export function JoinTokens() {
  const isAdmin = useSession()?.user.is_admin ?? false;
  const result = useInfiniteQuery({ ...joinTokensQuery, enabled: isAdmin });
  if (!isAdmin || result.data === undefined) return null;
  return (
    <Paged result={result} empty={null}>
      {(tokens) => (
        <section aria-label="Join tokens">
          <Title order={2} size="h5" mb="sm">
            Join tokens
          </Title>
          <Paper withBorder>
            <DataTable label="Join tokens" rows={tokens} columns={COLUMNS} rowId={(token) => token.id} />
          </Paper>
        </section>
      )}
    </Paged>
  );
}

function State({ token }: { token: JoinToken }) {
  const now = useNow(30_000);
  if (token.used_at) return <>used by {token.compute ?? "a detached compute"}</>;
  return <>{Date.parse(token.expires_at) < now.getTime() ? "expired" : "open"}</>;
}

function Revoke({ token }: { token: JoinToken }) {
  const revoke = useRevokeJoinToken();
  if (token.used_at) return null;
  return (
    <Button
      size="compact-sm"
      variant="default"
      loading={revoke.isPending}
      onClick={() => tell(revoke.mutateAsync(token.id), () => notifyDone("Join token revoked."))}
      aria-label={`Revoke the token for ${token.site}`}
    >
      Revoke
    </Button>
  );
}
