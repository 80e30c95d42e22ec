import { Button, Code } from "@mantine/core";
import { createColumnHelper } from "@tanstack/react-table";
import { useVerifyBackup } from "../../api/backups";
import type { Backup, BackupRun } from "../../api/shapes";
import { notifyDone, tell } from "../../components/notify";
import { Status } from "../../components/Status";
import { Time } from "../../components/Time";
import { formatBytes } from "../../lib/quantity";

const backup = createColumnHelper<Backup>();

export const BACKUP_COLUMNS = [
  backup.accessor("id", {
    header: "Backup",
    cell: ({ getValue }) => <Code className="unbroken">{getValue()}</Code>,
  }),
  backup.accessor("created_at", { header: "Shows", cell: ({ getValue }) => <Time at={getValue()} /> }),
  backup.accessor("bytes", { header: "Size", cell: ({ getValue }) => formatBytes(getValue()) }),
  backup.accessor("rows", { header: "Rows", cell: ({ getValue }) => getValue().toLocaleString("en") }),
  backup.accessor("engine", { header: "From" }),
  backup.accessor("is_encrypted", {
    header: "Encrypted",
    cell: ({ getValue }) => (getValue() ? "yes" : "no"),
  }),
  backup.display({ id: "actions", header: "Actions", cell: ({ row }) => <Verify backup={row.original} /> }),
];

const run = createColumnHelper<BackupRun>();
const STATES = { queued: "queued", running: "running", done: "succeeded", failed: "failed" } as const;

export const RUN_COLUMNS = [
  run.accessor("asked_at", { header: "Asked", cell: ({ getValue }) => <Time at={getValue()} /> }),
  run.accessor("work", { header: "Work" }),
  run.accessor("state", { header: "State", cell: ({ getValue }) => <Status state={STATES[getValue()]} /> }),
  run.accessor("by", { header: "By" }),
  run.accessor("backup_id", { header: "Backup", cell: ({ getValue }) => getValue() ?? "–" }),
  run.accessor("problem", {
    header: "Problem",
    enableSorting: false,
    cell: ({ getValue }) => <span className="row-name">{getValue() ?? "–"}</span>,
  }),
];

function Verify({ backup }: { backup: Backup }) {
  const verify = useVerifyBackup();
  const start = () =>
    tell(verify.mutateAsync(backup.id), () => notifyDone("Every byte of the backup is being read."));
  return (
    <Button
      size="xs"
      variant="default"
      onClick={start}
      loading={verify.isPending}
      aria-label={`Verify ${backup.id}`}
    >
      Verify
    </Button>
  );
}
