import { Alert, Button, Paper, Stack, Text } from "@mantine/core";
import { IconAlertTriangle, IconDatabaseExport, IconPlus } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { backupStatusQuery, backupsQuery, useCreateBackup } from "../../api/backups";
import type { BackupStatus } from "../../api/shapes";
import { DataTable } from "../../components/DataTable";
import { EmptyState } from "../../components/EmptyState";
import { Facts } from "../../components/Facts";
import { Loaded } from "../../components/Loaded";
import { notifyDone, tell } from "../../components/notify";
import { PageHeader } from "../../components/PageHeader";
import { Section } from "../../components/Section";
import { Time } from "../../components/Time";
import { formatSeconds } from "../../lib/quantity";
import { BACKUP_COLUMNS, RUN_COLUMNS } from "./columns";

/** Copies of the server's database, keys and files: which there are, and what came of the last attempts. */
export function BackupList() {
  const status = useQuery(backupStatusQuery);
  const create = useCreateBackup();
  const start = () => tell(create.mutateAsync(), () => notifyDone("The backup is being made."));
  const action = status.data?.place ? (
    <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={start} loading={create.isPending}>
      Back up now
    </Button>
  ) : null;
  return (
    <>
      <PageHeader
        title="Backups"
        below={
          <Text c="dimmed">Copies of this server's database, keys and files. The lake is not in them.</Text>
        }
        actions={action}
      />
      <Loaded result={status}>
        {(found) =>
          found.place ? (
            <Stack gap="lg">
              <Summary status={found} />
              <Complete newest={found.newest?.backup_id} />
              <Section title="Last attempts">
                <DataTable
                  label="Last attempts"
                  rows={found.runs}
                  columns={RUN_COLUMNS}
                  rowId={(run) => run.id}
                />
              </Section>
            </Stack>
          ) : (
            <EmptyState
              docs="backup/"
              icon={IconDatabaseExport}
              sentence="This server makes no backups of itself. Start it with a directory or bucket for them."
              command="mill up --backup-to /mnt/backups --backup-passphrase-file passphrase"
            />
          )
        }
      </Loaded>
    </>
  );
}

function Summary({ status }: { status: BackupStatus }) {
  const every = status.every_seconds ? `every ${formatSeconds(status.every_seconds)}` : "only when asked";
  return (
    <>
      {status.problem && (
        <Alert color="orange" icon={<IconAlertTriangle aria-hidden />} title="Backups need attention">
          {status.problem} {status.hint}
        </Alert>
      )}
      <Paper withBorder p="md">
        <Facts
          facts={[
            { name: "Place", value: status.place },
            { name: "Made", value: `${every}, the newest ${status.keep} kept` },
            {
              name: "Encrypted",
              value: status.is_encrypted ? "yes" : "no: whoever reads them has the server's keys",
            },
            {
              name: "Newest",
              value: status.newest?.started_at ? <Time at={status.newest.started_at} /> : "none yet",
            },
            { name: "Next", value: status.next_at ? <Time at={status.next_at} /> : "–" },
          ]}
        />
      </Paper>
    </>
  );
}

function Complete({ newest }: { newest: string | null | undefined }) {
  const result = useQuery(backupsQuery(newest));
  return (
    <Section title="Complete backups">
      <Loaded result={result}>
        {({ items }) =>
          items.length ? (
            <DataTable
              label="Complete backups"
              rows={items}
              columns={BACKUP_COLUMNS}
              rowId={(one) => one.id}
            />
          ) : (
            <Text p="md">No backups yet. The first one is made within a minute of the server's start.</Text>
          )
        }
      </Loaded>
    </Section>
  );
}
