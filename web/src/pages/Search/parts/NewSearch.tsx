import {
  Button,
  type ButtonProps,
  Checkbox,
  Group,
  Modal,
  NumberInput,
  Select,
  SimpleGrid,
  Stack,
  TagsInput,
  Text,
  Textarea,
  TextInput,
} from "@mantine/core";
import { useDebouncedValue, useDisclosure, useMediaQuery } from "@mantine/hooks";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { datasetsQuery } from "../../../api/datasets";
import { itemsOf } from "../../../api/paging";
import { searchPreviewQuery, useStartSearch } from "../../../api/searches";
import { useMemberProjects } from "../../../api/session";
import { CommandLine } from "../../../components/Copyable";
import { ErrorNotice } from "../../../components/ErrorNotice";
import { shellLine } from "../../../lib/names";
import { plural } from "../../../lib/quantity";
import { OnSelect } from "../../Job/parts/OnSelect";
import { ObjectiveRows } from "./ObjectiveRows";
import { ParameterRows } from "./ParameterRows";
import { EMPTY_DRAFT, fileOf, requestOf, type SearchDraft, wordsOf } from "./searchDraft";

interface ButtonOwn {
  project: string | undefined;
  draft?: SearchDraft;
  icon: ReactNode;
  variant?: ButtonProps["variant"];
  children: ReactNode;
}

/** Opens the form; nothing for those who may start none. */
export function NewSearchButton({ project, draft = EMPTY_DRAFT, icon, variant, children }: ButtonOwn) {
  const [opened, dialog] = useDisclosure(false);
  const projects = useMemberProjects();
  const [first] = projects;
  if (first === undefined || (project !== undefined && !projects.includes(project))) return null;
  return (
    <>
      <Button variant={variant} leftSection={icon} onClick={dialog.open}>
        {children}
      </Button>
      {opened && <NewSearch project={project ?? first} draft={draft} onClose={dialog.close} />}
    </>
  );
}

interface FormProps {
  project: string;
  draft: SearchDraft;
  onClose: () => void;
}

/** What is run, what is tried, what is looked for; below, the first commands and the file that does the same. */
function NewSearch({ project: first, draft: begin, onClose }: FormProps) {
  const [project, setProject] = useState(first);
  const [draft, setDraft] = useState(begin);
  const start = useStartSearch();
  const navigate = useNavigate();
  const change = (part: Partial<SearchDraft>) => setDraft((before) => ({ ...before, ...part }));
  const submit = (event: React.FormEvent) => {
    event.preventDefault();
    start.mutate(
      { project, ...requestOf(draft) },
      {
        onSuccess: (made) => {
          onClose();
          void navigate({ to: "/projects/$project/searches/$search", params: { project, search: made.id } });
        },
      },
    );
  };
  return (
    <Modal
      opened
      onClose={onClose}
      title={draft.like ? `New search from ${draft.like.name}` : "New search"}
      size="xl"
      fullScreen={useMediaQuery("(max-width: 48em)")}
      closeButtonProps={{ "aria-label": "Close" }}
    >
      <form onSubmit={submit}>
        <Stack>
          <Where project={project} onProject={setProject} draft={draft} onChange={change} />
          <Textarea
            label="Command"
            description="A parameter stands here as {lr}; any other is appended as --lr VALUE."
            autosize
            minRows={2}
            required
            data-autofocus
            classNames={{ input: "mono" }}
            value={draft.command}
            onChange={(event) => change({ command: event.currentTarget.value })}
          />
          {draft.like ? (
            <Text size="sm" c="dimmed">
              Code, data and environment are those of {draft.like.name}.
            </Text>
          ) : (
            <Needs project={project} draft={draft} onChange={change} />
          )}
          <ParameterRows parameters={draft.parameters} onChange={(parameters) => change({ parameters })} />
          <ObjectiveRows objectives={draft.objectives} onChange={(objectives) => change({ objectives })} />
          <How draft={draft} onChange={change} />
          <Preview project={project} draft={draft} />
          {start.error && <ErrorNotice error={start.error} />}
          <Button type="submit" loading={start.isPending} disabled={!draft.command.trim()}>
            Start the search
          </Button>
          {!draft.like && <TheSame draft={draft} />}
        </Stack>
      </form>
    </Modal>
  );
}

interface PartProps {
  draft: SearchDraft;
  onChange: (part: Partial<SearchDraft>) => void;
}

function Where({
  project,
  onProject,
  draft,
  onChange,
}: PartProps & { project: string; onProject: (name: string) => void }) {
  const projects = useMemberProjects();
  return (
    <Group grow align="flex-start">
      <TextInput
        label="Name"
        placeholder="generated"
        autoComplete="off"
        maxLength={63}
        value={draft.name}
        onChange={(event) => onChange({ name: event.currentTarget.value })}
      />
      {projects.length > 1 && !draft.like && (
        <Select
          label="Project"
          data={projects}
          value={project}
          onChange={(name) => name && onProject(name)}
          allowDeselect={false}
          searchable
        />
      )}
    </Group>
  );
}

function Needs({ project, draft, onChange }: PartProps & { project: string }) {
  const found = itemsOf(useInfiniteQuery(datasetsQuery({ project })).data);
  return (
    <>
      <TagsInput
        label="Data"
        description="DATASET or DATASET@REF. Press Enter to add. All trials read the same commit."
        data={found.map((dataset) => dataset.name)}
        acceptValueOnBlur
        limit={20}
        maxDropdownHeight={140}
        value={draft.inputs}
        onChange={(inputs) => onChange({ inputs })}
      />
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        <NumberInput
          label="GPUs of each trial"
          min={0}
          decimalScale={2}
          value={draft.gpus}
          onChange={(gpus) => onChange({ gpus })}
        />
        <OnSelect value={draft.on} onChange={(on) => onChange({ on })} />
      </SimpleGrid>
      <Text size="sm" c="dimmed">
        No code is sent: trials run what is installed on the compute. To send a folder, use mill search run in
        it.
      </Text>
    </>
  );
}

const METHODS = [
  { value: "tpe", label: "TPE: learns from earlier trials" },
  { value: "random", label: "Random" },
  { value: "grid", label: "Grid: all combinations" },
];

function How({ draft, onChange }: PartProps) {
  return (
    <>
      <SimpleGrid cols={{ base: 1, xs: 3 }}>
        <Select
          label="Method"
          data={METHODS}
          value={draft.method}
          onChange={(method) => method && onChange({ method: method as SearchDraft["method"] })}
          allowDeselect={false}
        />
        <NumberInput
          label="Most trials"
          placeholder={draft.method === "grid" ? "all" : "20"}
          min={1}
          max={10_000}
          allowDecimal={false}
          value={draft.maxTrials}
          onChange={(maxTrials) => onChange({ maxTrials })}
        />
        <NumberInput
          label="In parallel"
          min={1}
          max={1000}
          allowDecimal={false}
          value={draft.parallel}
          onChange={(parallel) => onChange({ parallel })}
        />
      </SimpleGrid>
      <Group>
        <Checkbox
          label="Stop trials early that do badly (ASHA)"
          checked={draft.prunes}
          onChange={(event) => onChange({ prunes: event.currentTarget.checked })}
        />
        {draft.prunes && (
          <>
            <NumberInput
              size="xs"
              w={110}
              label="First step"
              min={1}
              value={draft.minStep}
              onChange={(minStep) => onChange({ minStep })}
            />
            <NumberInput
              size="xs"
              w={110}
              label="Factor"
              min={2}
              max={100}
              value={draft.factor}
              onChange={(factor) => onChange({ factor })}
            />
          </>
        )}
      </Group>
    </>
  );
}

/** The first commands, or what is wrong, while somebody types. */
function Preview({ project, draft }: { project: string; draft: SearchDraft }) {
  const [settled] = useDebouncedValue(draft, 500);
  const words = wordsOf(settled.command, settled.parameters.map(({ name }) => name.trim()).filter(Boolean));
  const asks = words !== null && words.length > 0;
  const { data, error } = useQuery({ ...searchPreviewQuery(project, requestOf(settled)), enabled: asks });
  if (words === null) return <Text size="sm">Unclosed quotation mark.</Text>;
  if (!asks) return null;
  if (error) {
    return (
      <Text size="sm" role="status">
        {error.message}
      </Text>
    );
  }
  if (!data) return null;
  return (
    <div role="status">
      <Text size="sm" mb={4}>
        {data.combinations === null ? "" : `${plural(data.combinations, "combination")}. `}
        Runs at most {plural(data.max_trials, "trial")}. The first:
      </Text>
      {data.first.slice(0, 3).map(({ command }) => (
        <Text key={command.join(" ")} size="xs" className="mono" style={{ overflowWrap: "anywhere" }}>
          {shellLine(command)}
        </Text>
      ))}
    </div>
  );
}

function TheSame({ draft }: { draft: SearchDraft }) {
  return (
    <div>
      <Text size="xs" c="dimmed" mb={2}>
        The same as a file, for mill search run search.yaml
      </Text>
      <CommandLine command={fileOf(draft)} />
    </div>
  );
}
