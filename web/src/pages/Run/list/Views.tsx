import { ActionIcon, Button, Checkbox, Group, Menu, Modal, Stack, Text, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconBookmark, IconChevronDown, IconDeviceFloppy, IconTrash } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { savedViewsQuery, useDeleteView, useSaveView } from "../../../api/savedViews";
import { useMay } from "../../../api/session";
import type { SavedView } from "../../../api/shapes";
import { ErrorNotice } from "../../../components/ErrorNotice";
import { notifyDone, tell } from "../../../components/notify";
import { byName } from "../../../lib/metric";
import type { RunListSearch } from "../search";

/** The parts of the address that a view holds. */
type Held = Pick<RunListSearch, "experiment" | "filter" | "sort" | "columns" | "group">;

interface Props {
  project: string;
  search: RunListSearch;
  /** The columns that are shown, also where nobody has chosen them. */
  columns: string;
  onShow: (held: Held, view: string | undefined) => void;
}

/** Saved views of the list: shows, saves and deletes them. */
export function Views({ project, search, columns, onShow }: Props) {
  const views = [...(useQuery(savedViewsQuery(project)).data ?? [])].sort((a, b) => byName(a.name, b.name));
  const [saving, dialog] = useDisclosure(false);
  const remove = useDeleteView(project);
  const may = useMay(project, "member");
  const shown = views.find((view) => view.id === search.view);
  const parts = [
    ["Shared", views.filter((view) => view.shared)],
    ["Only mine", views.filter((view) => !view.shared)],
  ] as const;
  const drop = (view: SavedView) =>
    tell(remove.mutateAsync(view.id), () => notifyDone(`View ${view.name} deleted.`));
  return (
    <>
      <Menu position="bottom-start" withinPortal width={280}>
        <Menu.Target>
          <Button
            variant={shown ? "light" : "default"}
            leftSection={<IconBookmark size={16} aria-hidden />}
            rightSection={<IconChevronDown size={14} aria-hidden />}
            maw={240}
          >
            {shown ? `${shown.name}${isChanged(shown, search) ? " (changed)" : ""}` : "Views"}
          </Button>
        </Menu.Target>
        <Menu.Dropdown mah={420} style={{ overflowY: "auto" }}>
          {parts.map(
            ([title, some]) =>
              some.length > 0 && (
                <div key={title}>
                  <Menu.Label>{title}</Menu.Label>
                  {some.map((view) => (
                    <Group key={view.id} gap={4} wrap="nowrap">
                      <Menu.Item flex={1} miw={0} onClick={() => onShow(heldBy(view), view.id)}>
                        <Text size="sm" truncate title={view.filter || view.name}>
                          {view.name}
                        </Text>
                      </Menu.Item>
                      {(may || !view.shared) && (
                        <ActionIcon
                          variant="subtle"
                          color="gray"
                          aria-label={`Delete view ${view.name}`}
                          onClick={() => void drop(view)}
                        >
                          <IconTrash size={14} />
                        </ActionIcon>
                      )}
                    </Group>
                  ))}
                </div>
              ),
          )}
          {views.length > 0 && <Menu.Divider />}
          {views.length > 0 && <Menu.Item onClick={() => onShow({}, undefined)}>All runs</Menu.Item>}
          <Menu.Item leftSection={<IconDeviceFloppy size={16} aria-hidden />} onClick={dialog.open}>
            Save this view…
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {saving && (
        <SaveView
          project={project}
          held={{ ...heldOf(search), columns }}
          first={shown}
          onClose={dialog.close}
          onSaved={(view) => onShow(heldBy(view), view.id)}
        />
      )}
    </>
  );
}

interface SaveProps {
  project: string;
  held: Held;
  first: SavedView | undefined;
  onClose: () => void;
  onSaved: (view: SavedView) => void;
}

function SaveView({ project, held, first, onClose, onSaved }: SaveProps) {
  const [name, setName] = useState(first?.name ?? "");
  const [shared, setShared] = useState(first?.shared ?? false);
  const may = useMay(project, "member");
  const save = useSaveView(project);
  const { experiment = "", filter = "", sort = "", columns = "", group = "" } = held;
  const send = () =>
    save.mutate(
      { name: name.trim(), shared, experiment, filter, sort, columns, group },
      {
        onSuccess: (view) => {
          onClose();
          onSaved(view);
          notifyDone(`View ${view.name} saved.`);
        },
      },
    );
  return (
    <Modal opened onClose={onClose} title="Save view" closeButtonProps={{ "aria-label": "Close" }}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          send();
        }}
      >
        <Stack>
          <TextInput
            label="Name"
            description="A view of the same name is replaced."
            value={name}
            maxLength={100}
            required
            data-autofocus
            onChange={(event) => setName(event.currentTarget.value)}
          />
          {may && (
            <Checkbox
              label={`Share with everybody in ${project}`}
              checked={shared}
              onChange={(event) => setShared(event.currentTarget.checked)}
            />
          )}
          {save.error && <ErrorNotice error={save.error} />}
          <Button type="submit" loading={save.isPending} disabled={name.trim() === ""}>
            Save
          </Button>
        </Stack>
      </form>
    </Modal>
  );
}

function heldOf({ experiment, filter, sort, columns, group }: RunListSearch): Held {
  return { experiment, filter, sort, columns, group };
}

function heldBy(view: SavedView): Held {
  return {
    experiment: view.experiment || undefined,
    filter: view.filter || undefined,
    sort: view.sort || undefined,
    columns: view.columns || undefined,
    group: view.group || undefined,
  };
}

function isChanged(view: SavedView, search: RunListSearch): boolean {
  return JSON.stringify(heldBy(view)) !== JSON.stringify(heldOf(search));
}
