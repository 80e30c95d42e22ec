import { Button, Group, Modal, SegmentedControl, Select, Stack, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useInfiniteQuery } from "@tanstack/react-query";
import { datasetsQuery } from "../../../api/datasets";
import { itemsOf } from "../../../api/paging";
import { useAddSource } from "../../../api/sources";
import { ErrorNotice } from "../../../components/ErrorNotice";
import { sourceCommand } from "./commands";
import { EVERY } from "./every";
import { type PlaceDraft, PlaceFields } from "./PlaceFields";
import { SameOnCommandLine } from "./SameOnCommandLine";

interface Draft extends PlaceDraft {
  dataset: string;
  branch: string;
  copies: string;
  every: string;
}

const HOW = [
  { value: "no", label: "Register where they lie" },
  { value: "yes", label: "Copy into the lake" },
];

export function NewSource({ project, onClose }: { project: string; onClose: () => void }) {
  const add = useAddSource(project);
  const datasets = itemsOf(useInfiniteQuery(datasetsQuery({ project })).data).map((one) => one.name);
  const form = useForm<Draft>({
    initialValues: {
      dataset: "",
      branch: "main",
      connection: "",
      uri: "",
      listing: false,
      path: "",
      copies: "no",
      every: "3600",
    },
  });
  const send = ({ every, copies, ...draft }: Draft) =>
    add.mutate({ ...draft, copies: copies === "yes", every_seconds: Number(every) }, { onSuccess: onClose });
  return (
    <Modal opened onClose={onClose} title="New source" size="lg" closeButtonProps={{ "aria-label": "Close" }}>
      <form onSubmit={form.onSubmit(send)}>
        <Stack>
          <Group grow align="flex-start">
            <Select
              label="Dataset"
              data={datasets}
              searchable
              required
              allowDeselect={false}
              {...form.getInputProps("dataset")}
            />
            <TextInput label="Branch" required autoComplete="off" {...form.getInputProps("branch")} />
          </Group>
          <PlaceFields project={project} form={form} />
          <SegmentedControl data={HOW} aria-label="Import mode" {...form.getInputProps("copies")} />
          <Select label="Every" data={EVERY} allowDeselect={false} {...form.getInputProps("every")} />
          {add.error && <ErrorNotice error={add.error} />}
          <Button type="submit" loading={add.isPending}>
            Add and run now
          </Button>
          <SameOnCommandLine command={commandOf(project, form.values)} />
        </Stack>
      </form>
    </Modal>
  );
}

function commandOf(project: string, draft: Draft): string {
  const into = { project, dataset: draft.dataset, branch: draft.branch };
  return sourceCommand(into, { ...draft, copies: draft.copies === "yes" });
}
