/** What the palette can do beside finding things: go to a page, make something, change the look. */
import { useMantineColorScheme } from "@mantine/core";
import type { SpotlightActionData } from "@mantine/spotlight";
import {
  IconDatabasePlus,
  IconDeviceDesktop,
  IconFolderPlus,
  IconKeyboard,
  IconLogout,
  IconMoon,
  IconPlayerPlay,
  IconServerBolt,
  IconSun,
} from "@tabler/icons-react";
import { useNavigate } from "@tanstack/react-router";
import { useMemberProjects, useSession, useSignOut } from "../../api/session";
import { uploads } from "../../hooks/useUploads";
import { placesFor } from "./places";

export type Form = "dataset" | "job" | "project" | "volume";

interface Given {
  open: (form: Form) => void;
  showHelp: () => void;
}

export function useCommands({ open, showHelp }: Given): SpotlightActionData[] {
  return [...usePages(), ...useForms(open), ...useSettings(showHelp)];
}

/** Those whose label, or another word for it, has every word that was typed; all of them while nothing was. */
export function commandsMatching(commands: SpotlightActionData[], text: string): SpotlightActionData[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return commands.filter((command) => {
    const spoken = `${command.label} ${command.keywords ?? ""}`.toLowerCase();
    return words.every((word) => spoken.includes(word));
  });
}

function usePages(): SpotlightActionData[] {
  const navigate = useNavigate();
  const isAdmin = useSession()?.user.is_admin ?? false;
  return placesFor(isAdmin).map((place) => ({
    id: `go ${place.to}`,
    label: `Go to ${place.label}`,
    leftSection: <place.icon size={18} aria-hidden />,
    onClick: () => void navigate({ to: place.to }),
  }));
}

function useForms(open: Given["open"]): SpotlightActionData[] {
  const isAdmin = useSession()?.user.is_admin ?? false;
  const mayMake = useMemberProjects().length > 0;
  const forms = [
    ["dataset", "New dataset", "create add", IconDatabasePlus, mayMake],
    ["job", "Submit a job", "new run start", IconPlayerPlay, mayMake],
    ["project", "New project", "create add", IconFolderPlus, isAdmin],
    ["volume", "Add a volume", "new create cache nfs", IconServerBolt, isAdmin],
  ] as const;
  return forms
    .filter(([, , , , may]) => may)
    .map(([form, label, keywords, Picture]) => ({
      id: `new ${form}`,
      label,
      keywords,
      leftSection: <Picture size={18} aria-hidden />,
      onClick: () => open(form),
    }));
}

function useSettings(showHelp: () => void): SpotlightActionData[] {
  const { setColorScheme } = useMantineColorScheme();
  const navigate = useNavigate();
  const signOut = useSignOut();
  const leave = () => {
    uploads.leave();
    signOut.mutate(undefined, { onSettled: () => void navigate({ to: "/login" }) });
  };
  const settings = [
    ["Light theme", "colour color scheme mode", IconSun, () => setColorScheme("light")],
    ["Dark theme", "colour color scheme mode", IconMoon, () => setColorScheme("dark")],
    ["System theme", "colour color scheme mode auto", IconDeviceDesktop, () => setColorScheme("auto")],
    ["Keyboard shortcuts", "help keys", IconKeyboard, showHelp],
    ["Sign out", "log out leave", IconLogout, leave],
  ] as const;
  return settings.map(([label, keywords, Picture, onClick]) => ({
    id: label,
    label,
    keywords,
    leftSection: <Picture size={18} aria-hidden />,
    onClick,
  }));
}
