import { Spotlight, type SpotlightActionData } from "@mantine/spotlight";
import { IconDatabase, IconPlayerPlay, IconSearch } from "@tabler/icons-react";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { datasetsQuery } from "../../api/datasets";
import { jobsQuery } from "../../api/jobs";
import { itemsOf } from "../../api/paging";
import { useSession } from "../../api/session";
import { paletteStore, useEarlyLetters } from "./paletteStore";
import { placesFor } from "./places";

/** Ctrl-K: every place, dataset and recent job by a part of its name. */
export function Palette() {
  const [opened, setOpened] = useState(false);
  const [query, setQuery] = useState("");
  useEarlyLetters(setQuery);
  const actions = [...usePlaces(), ...useDatasets(opened), ...useJobs(opened)];
  return (
    <Spotlight
      store={paletteStore}
      actions={actions}
      query={query}
      onQueryChange={setQuery}
      shortcut={["mod + K"]}
      limit={12}
      highlightQuery
      nothingFound="Nothing has that name."
      onSpotlightOpen={() => setOpened(true)}
      onSpotlightClose={() => setOpened(false)}
      searchProps={{
        leftSection: <IconSearch size={18} aria-hidden />,
        placeholder: "Datasets, jobs, pages",
        "aria-label": "Search everything",
        onKeyDown: ({ key, currentTarget }) => key === "Enter" && currentTarget.value !== "" && chooseFirst(),
      }}
    />
  );
}

/** Names that were loaded after the words were typed are not marked; Enter then means the first of them. */
function chooseFirst(): void {
  const actions = [...document.querySelectorAll<HTMLElement>(".mantine-Spotlight-action")];
  if (!actions.some((action) => action.hasAttribute("data-selected"))) actions[0]?.click();
}

function usePlaces(): SpotlightActionData[] {
  const navigate = useNavigate();
  const isAdmin = useSession()?.user.is_admin ?? false;
  return placesFor(isAdmin).map((place) => ({
    id: place.to,
    label: place.label,
    leftSection: <place.icon size={18} aria-hidden />,
    onClick: () => navigate({ to: place.to }),
  }));
}

function useDatasets(enabled: boolean): SpotlightActionData[] {
  const navigate = useNavigate();
  const { data } = useInfiniteQuery({ ...datasetsQuery({}), enabled });
  return itemsOf(data).map((dataset) => ({
    id: `dataset ${dataset.id}`,
    label: dataset.name,
    description: `Dataset in ${dataset.project}`,
    leftSection: <IconDatabase size={18} aria-hidden />,
    onClick: () =>
      navigate({
        to: "/projects/$project/datasets/$dataset",
        params: { project: dataset.project, dataset: dataset.name },
      }),
  }));
}

function useJobs(enabled: boolean): SpotlightActionData[] {
  const navigate = useNavigate();
  const { data } = useInfiniteQuery({ ...jobsQuery({}), enabled });
  return itemsOf(data).map((job) => ({
    id: `job ${job.id}`,
    label: job.written,
    description: `Job in ${job.project}, ${job.state}`,
    leftSection: <IconPlayerPlay size={18} aria-hidden />,
    onClick: () =>
      navigate({ to: "/projects/$project/jobs/$job", params: { project: job.project, job: job.id } }),
  }));
}
