import { NavLink, Text } from "@mantine/core";
import { Link, useLocation } from "@tanstack/react-router";
import { useSession } from "../../api/session";
import { ProjectSwitch } from "./ProjectSwitch";
import { GROUPS, type Place } from "./places";

export function Navigation({ onNavigate }: { onNavigate: () => void }) {
  const isAdmin = useSession()?.user.is_admin ?? false;
  return (
    <>
      <ProjectSwitch hiddenFrom="sm" />
      {GROUPS.map((group) => (
        <div key={group.label}>
          {group.label && (
            <Text size="xs" fw={600} c="dimmed" tt="uppercase" mt="md" mb={4} px="sm">
              {group.label}
            </Text>
          )}
          {group.places
            .filter((place) => isAdmin || !place.siteAdmin)
            .map((place) => (
              <PlaceLink key={place.to} place={place} onNavigate={onNavigate} />
            ))}
        </div>
      ))}
    </>
  );
}

function PlaceLink({ place, onNavigate }: { place: Place; onNavigate: () => void }) {
  const { pathname } = useLocation();
  const active = isWithin(place.to, pathname);
  return (
    <NavLink
      component={Link}
      to={place.to}
      activeOptions={{ exact: true }}
      label={place.label}
      leftSection={<place.icon size={18} aria-hidden />}
      active={active}
      aria-current={active ? "page" : undefined}
      onClick={onNavigate}
      style={{ borderRadius: "var(--mantine-radius-md)" }}
    />
  );
}

/** A page below a noun belongs to it, although its address begins with the project: /projects/x/jobs/y. */
export function isWithin(place: string, pathname: string): boolean {
  const below =
    /^\/projects\/[^/]+\/(datasets|jobs|runs|flows|models|endpoints|clusters|workspaces|searches|library)(?:\/|-new)/.exec(
      pathname.replace("/flow-runs/", "/flows/"),
    );
  if (below) return place === `/${below[1]}`;
  return place === pathname || (place !== "/" && pathname.startsWith(`${place}/`));
}
