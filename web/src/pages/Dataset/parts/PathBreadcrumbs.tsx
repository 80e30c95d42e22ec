import { Breadcrumbs, Text } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { TextLink } from "../../../components/TextLink";
import { visibleName } from "../../../lib/names";

const route = getRouteApi("/in/projects/$project/datasets/$dataset");

/** `train/cats` as a way back up, one link for each directory. */
export function PathBreadcrumbs({ path }: { path: string }) {
  const { dataset } = route.useParams();
  const parts = path ? path.split("/") : [];
  return (
    <Breadcrumbs component="nav" aria-label="Directory" separatorMargin={6}>
      {[dataset, ...parts].map((part, index) => {
        const here = parts.slice(0, index).join("/");
        return index === parts.length ? (
          <Text key={here} fw={600} aria-current="location">
            {visibleName(part)}
          </Text>
        ) : (
          <PathLink key={here} path={here} name={part} />
        );
      })}
    </Breadcrumbs>
  );
}

function PathLink({ path, name }: { path: string; name: string }) {
  return (
    <TextLink
      from="/projects/$project/datasets/$dataset"
      to="."
      search={(now) => ({ tab: "files", ref: now.ref, path: path || undefined })}
    >
      {visibleName(name)}
    </TextLink>
  );
}
