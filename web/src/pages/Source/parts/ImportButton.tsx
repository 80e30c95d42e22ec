import { Alert, Button, List, Modal, Stack, Text } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useDisclosure } from "@mantine/hooks";
import { IconCloudDownload } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { refsQuery } from "../../../api/datasets";
import { projectsQuery } from "../../../api/projects";
import type { Dataset, Imported } from "../../../api/shapes";
import { useImport } from "../../../api/sources";
import { ErrorNotice } from "../../../components/ErrorNotice";
import { importCommand } from "./commands";
import { type PlaceDraft, PlaceFields } from "./PlaceFields";
import { describeResult } from "./results";
import { SameOnCommandLine } from "./SameOnCommandLine";

interface Props {
  dataset: Dataset;
  /** What the page shows: a branch, or something that cannot be changed. */
  shown: string | undefined;
  path: string;
}

/** For a dataset's page: registers objects of a bucket or site as files of it. Not shown to viewers. */
export function ImportButton(props: Props) {
  const [opened, dialog] = useDisclosure(false);
  const projects = useQuery(projectsQuery).data?.items ?? [];
  const role = projects.find((project) => project.name === props.dataset.project)?.role;
  if (!role || role === "viewer") return null;
  return (
    <>
      <Button
        variant="default"
        leftSection={<IconCloudDownload size={16} aria-hidden />}
        onClick={dialog.open}
      >
        Import
      </Button>
      {opened && <ImportDialog {...props} onClose={dialog.close} />}
    </>
  );
}

function ImportDialog({ dataset, shown, path, onClose }: Props & { onClose: () => void }) {
  const refs = useQuery(refsQuery({ project: dataset.project, dataset: dataset.name })).data?.items ?? [];
  const isBranch = refs.some((known) => known.name === shown && known.type === "branch");
  const branch = isBranch && shown ? shown : dataset.default_branch;
  const bring = useImport({ project: dataset.project, dataset: dataset.name });
  const form = useForm<PlaceDraft>({ initialValues: { connection: "", uri: "", listing: false, path } });
  return (
    <Modal
      opened
      onClose={onClose}
      title={`Import into ${dataset.name}@${branch}`}
      size="lg"
      closeButtonProps={{ "aria-label": "Close" }}
    >
      {bring.data ? (
        <Done result={bring.data} onClose={onClose} />
      ) : (
        <form onSubmit={form.onSubmit((draft) => bring.mutate({ ...draft, branch, message: "" }))}>
          <Stack>
            <Text size="sm" c="dimmed">
              Objects stay where they are; nothing is copied. Reading an object that changed there fails.
            </Text>
            <PlaceFields project={dataset.project} form={form} />
            {bring.error && <ErrorNotice error={bring.error} />}
            <Button type="submit" loading={bring.isPending}>
              Import
            </Button>
            <SameOnCommandLine
              command={importCommand(
                { project: dataset.project, dataset: dataset.name, branch },
                form.values,
              )}
            />
          </Stack>
        </form>
      )}
    </Modal>
  );
}

function Done({ result, onClose }: { result: Imported; onClose: () => void }) {
  const skipped = result.skipped ?? [];
  return (
    <Stack>
      <Text>{describeResult(result)}</Text>
      {skipped.length > 0 && (
        <Alert color="orange" title="Not imported">
          <List size="sm">
            {skipped.slice(0, 10).map((one) => (
              <List.Item key={one.uri}>
                {one.uri}: {one.reason}
              </List.Item>
            ))}
          </List>
        </Alert>
      )}
      <Button onClick={onClose}>Close</Button>
    </Stack>
  );
}
