import { Badge, Button, Group } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { createColumnHelper } from "@tanstack/react-table";
import type { BrowserSession } from "../../api/shapes";
import { sessionsQuery, useEndOtherSessions, useEndSession } from "../../api/signIn";
import { DataTable } from "../../components/DataTable";
import { Loaded } from "../../components/Loaded";
import { notifyDone, tell } from "../../components/notify";
import { Section } from "../../components/Section";
import { TextLink } from "../../components/TextLink";
import { Time } from "../../components/Time";
import { browserOf } from "./browser";

const column = createColumnHelper<BrowserSession>();

const COLUMNS = [
  column.accessor("user_agent", {
    header: "Browser",
    cell: ({ row, getValue }) => (
      <Group gap="xs">
        {browserOf(getValue())}
        {row.original.current && (
          <Badge variant="light" tt="none">
            this one
          </Badge>
        )}
      </Group>
    ),
  }),
  column.accessor("address", { header: "From", cell: ({ getValue }) => getValue() || "–" }),
  column.accessor("provider", {
    header: "Signed in with",
    cell: ({ getValue }) => getValue() ?? "password",
  }),
  column.accessor("created_at", { header: "Since", cell: ({ getValue }) => <Time at={getValue()} /> }),
  column.accessor("last_used_at", {
    header: "Last use",
    cell: ({ getValue }) => (getValue() ? <Time at={getValue()} /> : "–"),
  }),
  column.display({ id: "actions", header: "Actions", cell: ({ row }) => <End session={row.original} /> }),
];

/** Browsers in which the viewer is signed in. */
export function Sessions() {
  const result = useQuery(sessionsQuery);
  const endOthers = useEndOtherSessions();
  const others = result.data?.items.some((one) => !one.current);
  const leaveOthers = () =>
    tell(endOthers.mutateAsync(), ({ count }) =>
      notifyDone(`${count} ${count === 1 ? "browser is" : "browsers are"} signed out.`),
    );
  return (
    <Section
      title="Browsers"
      actions={
        <>
          <TextLink to="/tokens" size="sm">
            Command lines and scripts have tokens
          </TextLink>
          {others && (
            <Button size="compact-sm" variant="default" loading={endOthers.isPending} onClick={leaveOthers}>
              Sign out all others
            </Button>
          )}
        </>
      }
    >
      <Loaded result={result}>
        {({ items }) => <DataTable label="Browsers" rows={items} columns={COLUMNS} rowId={(one) => one.id} />}
      </Loaded>
    </Section>
  );
}

function End({ session }: { session: BrowserSession }) {
  const end = useEndSession();
  if (session.current) return null;
  const name = browserOf(session.user_agent);
  return (
    <Button
      size="compact-sm"
      variant="default"
      loading={end.isPending}
      aria-label={`Sign out ${name} at ${session.address}`}
      onClick={() => tell(end.mutateAsync(session.id), () => notifyDone(`${name} is signed out.`))}
    >
      Sign out
    </Button>
  );
}
