import { useDebouncedValue } from "@mantine/hooks";
import { Spotlight, type SpotlightActionData } from "@mantine/spotlight";
import { IconSearch } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { lazy, Suspense, useLayoutEffect, useState } from "react";
import { findQuery } from "../../api/find";
import { useMemberProjects } from "../../api/session";
import type { Found } from "../../api/shapes";
import { commandsMatching, type Form, useCommands } from "./commands";
import { addressOf, descriptionOf, FOUND_ICONS, labelOf, UNKNOWN_ICON } from "./found";
import { paletteStore, useEarlyLetters } from "./paletteStore";

const PAUSE_MILLISECONDS = 120;

/** Ctrl-K: everything on the server by a part of its name, every page, and what can be done from anywhere. */
export function Palette({ showHelp }: { showHelp: () => void }) {
  const [form, setForm] = useState<Form | null>(null);
  const [query, setQuery] = useState("");
  useEarlyLetters(setQuery);
  const commands = commandsMatching(useCommands({ open: setForm, showHelp }), query);
  const { actions: found, searching } = useFound(query);
  // What begins with the words comes first, then commands, then the rest.
  const actions = [...found.best, ...commands, ...found.others];
  useFirstMarked(actions.map((action) => action.id).join());
  return (
    <>
      <Spotlight
        store={paletteStore}
        actions={actions}
        filter={(_, actions) => actions}
        query={query}
        onQueryChange={setQuery}
        shortcut={["mod + K"]}
        // Gone at once: while its field faded out with the focus, Ctrl-K opened nothing.
        transitionProps={{ exitDuration: 0 }}
        limit={40}
        scrollable
        maxHeight={420}
        highlightQuery
        nothingFound={searching ? "Searching…" : "Nothing matches."}
        searchProps={{
          leftSection: <IconSearch size={18} aria-hidden />,
          placeholder: "Search datasets, jobs, runs, computes… or type a command",
          "aria-label": "Search everything",
        }}
      />
      {form && (
        <Suspense>
          <OpenForm form={form} close={() => setForm(null)} />
        </Suspense>
      )}
    </>
  );
}

/** Answers change the list after the words were typed: then Enter means the first of it. */
function useFirstMarked(list: string): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: marked anew whenever the list is another
  useLayoutEffect(() => {
    // The library marks nothing when the list changes, and does not know the new list yet.
    const actions = document.querySelectorAll(".mantine-Spotlight-action");
    actions.forEach((action, index) => {
      action.toggleAttribute("data-selected", index === 0);
    });
    if (actions.length > 0) paletteStore.updateState((state) => ({ ...state, selected: 0 }));
  }, [list]);
}

function useFound(query: string) {
  const navigate = useNavigate();
  const [text] = useDebouncedValue(query, PAUSE_MILLISECONDS);
  const { data, isFetching } = useQuery(findQuery(text));
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const action = (item: Found): SpotlightActionData => {
    const Picture = FOUND_ICONS[item.noun] ?? UNKNOWN_ICON;
    return {
      id: `${item.noun} ${item.project} ${item.dataset} ${item.name} ${item.id}`,
      label: labelOf(item),
      description: descriptionOf(item),
      leftSection: <Picture size={18} aria-hidden />,
      onClick: () => void navigate(addressOf(item)),
    };
  };
  // While the answer for the last letter is on its way, what was found before it is shown as far as it still fits.
  const fits = (item: Found) => words.every((word) => labelOf(item).toLowerCase().includes(word));
  const answered = !isFetching && text === query;
  const items = words.length === 0 ? [] : (data?.items ?? []).filter((item) => answered || fits(item));
  return {
    actions: {
      best: items.filter((item) => item.match !== "part").map(action),
      others: items.filter((item) => item.match === "part").map(action),
    },
    searching: !answered,
  };
}

const NewDataset = lazy(async () => ({
  default: (await import("../../pages/Dataset/parts/NewDataset")).NewDataset,
}));
const NewJob = lazy(async () => ({ default: (await import("../../pages/Job/parts/NewJobForm")).NewJobForm }));
const NewProject = lazy(async () => ({
  default: (await import("../../pages/Project/parts/NewProject")).NewProject,
}));
const NewVolume = lazy(async () => ({
  default: (await import("../../pages/Cache/parts/NewVolume")).NewVolume,
}));

function OpenForm({ form, close }: { form: Form; close: () => void }) {
  const projects = useMemberProjects();
  if (form === "dataset") return <NewDataset project={undefined} onClose={close} />;
  if (form === "job") return <NewJob project={projects[0] ?? ""} onClose={close} />;
  if (form === "project") return <NewProject onClose={close} />;
  return <NewVolume onClose={close} />;
}
