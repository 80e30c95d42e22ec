import {
  Button,
  Group,
  Modal,
  NumberInput,
  SegmentedControl,
  Select,
  Stack,
  Switch,
  Text,
  TextInput,
} from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { useCreateCluster } from "../../../api/clusters";
import { useMemberProjects } from "../../../api/session";
import { CommandLine } from "../../../components/Copyable";
import { ErrorNotice } from "../../../components/ErrorNotice";
import { notifyDone } from "../../../components/notify";

const KINDS = [
  { value: "dask", label: "Dask" },
  { value: "ray", label: "Ray" },
];

/** A cluster with the packages of its image or machine; with others it is created by the command that is shown. */
export function NewCluster({ project, onClose }: { project?: string; onClose: () => void }) {
  const projects = useMemberProjects();
  const [chosen, setChosen] = useState(project);
  const [name, setName] = useState("");
  const [kind, setKind] = useState<"dask" | "ray">("dask");
  const [adapts, setAdapts] = useState(false);
  const [workers, setWorkers] = useState(2);
  const [most, setMost] = useState(4);
  const [cpu, setCpu] = useState(1);
  const [gigabytes, setGigabytes] = useState(0);
  const [image, setImage] = useState("");
  const place = chosen ?? projects[0];
  const create = useCreateCluster(place ?? "");
  const navigate = useNavigate();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    create.mutate(
      {
        name,
        kind,
        workers,
        cpu,
        memory_bytes: gigabytes * 1e9,
        scheduler_memory_bytes: 0,
        gpu_hundredths: 0,
        data: [],
        image: image || null,
        adapt: adapts ? { min: workers, max: most } : null,
      },
      {
        onSuccess: (made) => {
          notifyDone(`Cluster ${made.name} created.`);
          onClose();
          void navigate({
            to: "/projects/$project/clusters/$cluster",
            params: { project: made.project, cluster: made.name },
          });
        },
      },
    );
  };
  const count = adapts ? `--adapt ${workers}:${most}` : `--workers ${workers}`;
  const size = `${count} --cpu ${cpu}${gigabytes ? ` --memory ${gigabytes}GB` : ""}`;
  return (
    <Modal opened onClose={onClose} title="New cluster" closeButtonProps={{ "aria-label": "Close" }}>
      <form onSubmit={submit}>
        <Stack>
          <Select
            label="Project"
            data={projects}
            value={place ?? null}
            onChange={(value) => setChosen(value ?? undefined)}
            searchable
          />
          <TextInput
            label="Name"
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            autoComplete="off"
            required
            data-autofocus
          />
          <SegmentedControl
            data={KINDS}
            value={kind}
            onChange={(value) => setKind(value === "ray" ? "ray" : "dask")}
            aria-label="Kind"
          />
          <Switch
            label="Let workers follow the demand"
            checked={adapts}
            onChange={(event) => setAdapts(event.currentTarget.checked)}
          />
          <Group grow>
            <NumberInput
              label={adapts ? "Minimum" : "Workers"}
              min={0}
              max={1000}
              allowDecimal={false}
              value={workers}
              onChange={(value) => setWorkers(Number(value) || 0)}
            />
            {adapts && (
              <NumberInput
                label="Maximum"
                min={1}
                max={1000}
                allowDecimal={false}
                value={most}
                onChange={(value) => setMost(Number(value) || 1)}
              />
            )}
            <NumberInput
              label="CPUs of each"
              min={1}
              allowDecimal={false}
              value={cpu}
              onChange={(value) => setCpu(Number(value) || 1)}
            />
            <NumberInput
              label="GB of each"
              min={0}
              value={gigabytes}
              onChange={(value) => setGigabytes(Number(value) || 0)}
            />
          </Group>
          <TextInput
            label="Container image"
            description="Leave it empty for the Python of the machine."
            value={image}
            onChange={(event) => setImage(event.currentTarget.value)}
          />
          <Text size="sm" c="dimmed">
            Image or machine must have {kind === "dask" ? "dask and distributed" : "ray"}. With packages of
            your own:
          </Text>
          <CommandLine
            wrap
            command={`mill cluster create ${name || "NAME"} --kind ${kind} ${size} --env requirements.txt`}
          />
          {create.error && <ErrorNotice error={create.error} />}
          <Button type="submit" loading={create.isPending} disabled={!name || !place}>
            Create
          </Button>
        </Stack>
      </form>
    </Modal>
  );
}
