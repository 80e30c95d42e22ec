import { Button, Group } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { createColumnHelper } from "@tanstack/react-table";
import { useMemo } from "react";
import type { LinkedSignIn } from "../../api/shapes";
import { linksQuery, signInWaysQuery, useLink, useUnlink } from "../../api/signIn";
import { DataTable } from "../../components/DataTable";
import { BriefEmptyState } from "../../components/EmptyState";
import { Loaded } from "../../components/Loaded";
import { notifyDone, tell } from "../../components/notify";
import { Section } from "../../components/Section";
import { Time } from "../../components/Time";

const column = createColumnHelper<LinkedSignIn>();

/** Accounts at providers that are linked with the viewer's, and buttons that link others. */
export function LinkedSignIns({ user }: { user: string }) {
  const result = useQuery(linksQuery(user));
  const providers = useQuery(signInWaysQuery()).data?.providers ?? [];
  const link = useLink();
  const begin = (provider: string) =>
    tell(link.mutateAsync(provider), ({ url }) => window.location.assign(url));
  const columns = useMemo(
    () => [
      column.accessor("provider", { header: "Provider" }),
      column.accessor("email", { header: "E-mail", cell: ({ getValue }) => getValue() || "–" }),
      column.accessor("subject", { header: "Known there as" }),
      column.accessor("used_at", {
        header: "Last use",
        cell: ({ getValue }) => (getValue() ? <Time at={getValue()} /> : "never"),
      }),
      column.display({
        id: "actions",
        header: "Actions",
        cell: ({ row }) => <Unlink user={user} linked={row.original} />,
      }),
    ],
    [user],
  );
  return (
    <Section
      title="Linked sign-ins"
      bare
      actions={
        <Group gap="xs">
          {providers.map(({ name, title }) => (
            <Button
              key={name}
              size="compact-sm"
              variant="default"
              loading={link.isPending && link.variables === name}
              onClick={() => begin(name)}
            >
              Link {title}
            </Button>
          ))}
        </Group>
      }
    >
      <Loaded result={result}>
        {({ items }) =>
          items.length > 0 ? (
            <DataTable
              label="Linked sign-ins"
              rows={items}
              columns={columns}
              rowId={(one) => `${one.provider} ${one.subject}`}
            />
          ) : (
            <BriefEmptyState
              words={
                providers.length > 0
                  ? "No linked sign-ins yet. Link one to sign in without a password."
                  : "This server has no provider to sign in with. A site administrator can add one."
              }
            />
          )
        }
      </Loaded>
    </Section>
  );
}

function Unlink({ user, linked }: { user: string; linked: LinkedSignIn }) {
  const unlink = useUnlink(user);
  const { provider, subject } = linked;
  return (
    <Button
      size="compact-sm"
      variant="default"
      loading={unlink.isPending}
      aria-label={`Unlink ${subject} at ${provider}`}
      onClick={() =>
        tell(unlink.mutateAsync({ provider, subject }), () => notifyDone(`${provider} is unlinked.`))
      }
    >
      Unlink
    </Button>
  );
}
