import { Button, Loader, Modal, NumberInput, Select, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconExternalLink, IconTerminal2 } from "@tabler/icons-react";
import { lazy, Suspense, useState } from "react";
import { useOpenPort } from "../../../api/ports";
import { useMay } from "../../../api/session";
import type { Job } from "../../../api/shapes";
import { CommandLine } from "../../../components/Copyable";
import { ErrorNotice } from "../../../components/ErrorNotice";
import { notifyError } from "../../../components/notify";
import { Section } from "../../../components/Section";
import { shellQuote } from "../../../lib/names";
import { openInTab } from "../../../lib/openInTab";
import { ranksOf } from "./Ranks";

const Terminal = lazy(() => import("./Terminal"));

/** Ways into a running job, for members of its project: a terminal, and the ports it listens at. */
export function Reach({ job }: { job: Job }) {
  const may = useMay(job.project, "member");
  const [shell, terminal] = useDisclosure(false);
  const [rank, setRank] = useState(0);
  const [asking, port] = useDisclosure(false);
  if (!may || job.state !== "running") return null;
  return (
    <Section
      title="Access"
      bare
      actions={
        <>
          {ranksOf(job) > 1 && <RankSelect processes={ranksOf(job)} rank={rank} onChange={setRank} />}
          <Button
            variant="default"
            leftSection={<IconTerminal2 size={16} aria-hidden />}
            onClick={terminal.toggle}
          >
            {shell ? "Close the terminal" : "Open a terminal"}
          </Button>
          {job.ports?.map((one) => (
            <OpenDeclared key={one} job={job} rank={rank} port={one} />
          ))}
          <Button variant="default" onClick={port.open}>
            {job.ports?.length ? "Another port" : "Open a port"}
          </Button>
        </>
      }
    >
      {shell ? (
        <Suspense fallback={<Loader size="sm" />}>
          <Terminal key={rank} job={job} rank={rank} />
        </Suspense>
      ) : (
        <CommandLine command={`mill bash ${shellQuote(job.written)}${rankOption(rank)}`} />
      )}
      {asking && <OpenPort job={job} rank={rank} onClose={port.close} />}
    </Section>
  );
}

interface RankProps {
  processes: number;
  rank: number;
  onChange: (rank: number) => void;
}

/** Beside which process of a distributed job terminals and ports open. */
function RankSelect({ processes, rank, onChange }: RankProps) {
  return (
    <Select
      aria-label="Rank"
      data={Array.from({ length: processes }, (_, number) => ({
        value: String(number),
        label: `Rank ${number}`,
      }))}
      value={String(rank)}
      allowDeselect={false}
      searchable={processes > 10}
      onChange={(value) => onChange(Number(value))}
      w={120}
    />
  );
}

/** One of the ports it was submitted with: a click away. */
function OpenDeclared({ job, rank, port }: { job: Job; rank: number; port: number }) {
  const open = useOpenPort();
  return (
    <Button
      leftSection={<IconExternalLink size={16} aria-hidden />}
      loading={open.isPending}
      onClick={() =>
        openInTab(open, { project: job.project, job: job.id, rank, port }, { onError: notifyError })
      }
    >
      Open port {port}
    </Button>
  );
}

function OpenPort({ job, rank, onClose }: { job: Job; rank: number; onClose: () => void }) {
  const open = useOpenPort();
  const [port, setPort] = useState<number | string>(8888);
  const where = { project: job.project, job: job.id, rank, port: Number(port) };
  const submit = () => openInTab(open, where, { onDone: onClose });
  return (
    <Modal
      opened
      onClose={onClose}
      title={ranksOf(job) > 1 ? `Open a port of rank ${rank}` : "Open a port"}
      closeButtonProps={{ "aria-label": "Close" }}
    >
      <Stack>
        <Text size="sm">Open a notebook or dashboard that the job serves on this port in a new tab.</Text>
        <NumberInput label="Port" min={1} max={65535} value={port} onChange={setPort} data-autofocus />
        {open.error && <ErrorNotice error={open.error} />}
        <Button onClick={submit} loading={open.isPending} disabled={!port}>
          Open
        </Button>
        <CommandLine command={`mill port-forward ${shellQuote(job.written)} ${port}${rankOption(rank)}`} />
      </Stack>
    </Modal>
  );
}

function rankOption(rank: number): string {
  return rank > 0 ? ` --rank ${rank}` : "";
}
