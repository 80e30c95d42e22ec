import { Alert, Button, Group, Modal, SegmentedControl, Select, Stack, TextInput } from "@mantine/core";
import { type UseFormReturnType, useForm } from "@mantine/form";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { connectionsQuery } from "../../../api/connections";
import { datasetsQuery } from "../../../api/datasets";
import { useAddMirror, usePlanMirror } from "../../../api/mirrors";
import { itemsOf } from "../../../api/paging";
import { sitesQuery } from "../../../api/topology";
import { workspacesQuery } from "../../../api/workspaces";
import { ErrorNotice } from "../../../components/ErrorNotice";
import { EVERY } from "./every";
import { describeMirrored, EMPTY_MIRROR, type MirrorDraft, mirrorCommand, mirrorOf } from "./mirrorDraft";
import { SameOnCommandLine } from "./SameOnCommandLine";

interface Part {
  project: string;
  form: UseFormReturnType<MirrorDraft>;
}

const FROM = [
  { value: "dataset", label: "Dataset" },
  { value: "workspace", label: "Workspace" },
];
const TO = [
  { value: "bucket", label: "Bucket" },
  { value: "site", label: "Another site" },
];

export function NewMirror({ project, onClose }: { project: string; onClose: () => void }) {
  const add = useAddMirror(project);
  const plan = usePlanMirror(project);
  const form = useForm<MirrorDraft>({ initialValues: EMPTY_MIRROR, onValuesChange: () => plan.reset() });
  return (
    <Modal opened onClose={onClose} title="New mirror" size="lg" closeButtonProps={{ "aria-label": "Close" }}>
      <form onSubmit={form.onSubmit((draft) => add.mutate(mirrorOf(draft), { onSuccess: onClose }))}>
        <Stack>
          <SegmentedControl data={FROM} aria-label="Mirror from" {...form.getInputProps("from")} />
          <From project={project} form={form} />
          <SegmentedControl data={TO} aria-label="Mirror to" {...form.getInputProps("to")} />
          <To project={project} form={form} />
          <Select label="Every" data={EVERY} allowDeselect={false} {...form.getInputProps("every")} />
          {plan.data && (
            <Alert role="status" color="gray" title="A run would do this">
              {describeMirrored(plan.data)}, {plan.data.unchanged.toLocaleString("en")} unchanged,{" "}
              {plan.data.conflict_count ?? 0} conflicts
            </Alert>
          )}
          {(add.error ?? plan.error) && <ErrorNotice error={add.error ?? plan.error} />}
          <Group>
            <Button type="submit" loading={add.isPending}>
              Add and run now
            </Button>
            <Button
              variant="default"
              loading={plan.isPending}
              onClick={() => form.validate().hasErrors || plan.mutate(mirrorOf(form.values))}
            >
              Try without changing anything
            </Button>
          </Group>
          <SameOnCommandLine command={mirrorCommand(project, form.values)} />
        </Stack>
      </form>
    </Modal>
  );
}

function From({ project, form }: Part) {
  const isDataset = form.values.from === "dataset";
  const datasets = useInfiniteQuery(datasetsQuery({ project }));
  const workspaces = useInfiniteQuery(workspacesQuery({ project, deleted: false }));
  if (isDataset)
    return (
      <Group grow align="flex-start">
        <Select
          label="Dataset"
          data={itemsOf(datasets.data).map((one) => one.name)}
          searchable
          required
          allowDeselect={false}
          {...form.getInputProps("dataset")}
        />
        <TextInput label="Branch" required autoComplete="off" {...form.getInputProps("branch")} />
      </Group>
    );
  return (
    <Group grow align="flex-start">
      <Select
        label="Workspace"
        data={itemsOf(workspaces.data).map((one) => one.name)}
        searchable
        required
        allowDeselect={false}
        {...form.getInputProps("workspace")}
      />
      <TextInput
        label="Snapshots"
        description="A series, like daily. Empty: each run takes one."
        inputWrapperOrder={["label", "input", "description"]}
        autoComplete="off"
        {...form.getInputProps("label")}
      />
    </Group>
  );
}

function To({ project, form }: Part) {
  const connections = itemsOf(useInfiniteQuery(connectionsQuery(project)).data).filter((one) => one.writable);
  const sites = useQuery(sitesQuery);
  const choose = (name: string | null) => {
    const found = connections.find((one) => one.name === name);
    form.setValues({ connection: name ?? "", uri: found?.url ?? "" });
  };
  if (form.values.to === "site")
    return (
      <Select
        label="Site"
        description="The commit is kept cached on a volume of it"
        data={sites.data?.items.map((one) => one.name) ?? []}
        required
        allowDeselect={false}
        {...form.getInputProps("site")}
      />
    );
  return (
    <Group grow align="flex-start">
      <Select
        label="Connection"
        description={connections.length ? undefined : "None of this project may be written: see Connections"}
        data={connections.map((one) => one.name)}
        value={form.values.connection || null}
        onChange={choose}
        required
        allowDeselect={false}
      />
      <TextInput label="Prefix" required autoComplete="off" {...form.getInputProps("uri")} />
    </Group>
  );
}
