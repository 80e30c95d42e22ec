import { AppShell } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { Outlet, useNavigate } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { useKeyboard } from "../../hooks/useKeyboard";
import { LiveProvider } from "../../hooks/useLive";
import { readChoice, writeChoice } from "../../lib/storage";
import { AwayBanner } from "../AwayBanner";
import { HealthBanner } from "../HealthBanner";
import { UploadPanel } from "../UploadPanel";
import { WarningBanner } from "../WarningBanner";
import { KeyboardHelp } from "./KeyboardHelp";
import { Navigation } from "./Navigation";
import { Palette } from "./Palette";
import { GROUPS } from "./places";
import { chooseRow, moveInRows } from "./rows";
import { TopBar } from "./TopBar";

/** The frame of every page behind the login. */
export function Shell() {
  const [opened, menu] = useDisclosure(false);
  const [help, helpDialog] = useDisclosure(false);
  const [keys, setKeys] = useState(readChoice("keys") !== "off");
  useKeyboard(useBindings(helpDialog.open), keys);
  const chooseKeys = (enabled: boolean) => {
    setKeys(enabled);
    writeChoice("keys", enabled ? "on" : "off");
  };
  return (
    <LiveProvider>
      <button type="button" className="skip-link" onClick={focusMain}>
        Skip to content
      </button>
      <AppShell
        header={{ height: 56 }}
        navbar={{ width: 200, breakpoint: "sm", collapsed: { mobile: !opened } }}
        padding="lg"
      >
        <AppShell.Header>
          <TopBar opened={opened} toggle={menu.toggle} showHelp={helpDialog.open} />
        </AppShell.Header>
        <AppShell.Navbar p="sm" aria-label="Main">
          <Navigation onNavigate={menu.close} />
        </AppShell.Navbar>
        <AppShell.Main id="main" tabIndex={-1} style={{ outline: "none" }}>
          <AwayBanner />
          <HealthBanner />
          <WarningBanner />
          <Outlet />
        </AppShell.Main>
      </AppShell>
      <UploadPanel />
      <Palette showHelp={helpDialog.open} />
      <KeyboardHelp opened={help} onClose={helpDialog.close} enabled={keys} setEnabled={chooseKeys} />
    </LiveProvider>
  );
}

function useBindings(showHelp: () => void) {
  const navigate = useNavigate();
  return useMemo(() => {
    const places = GROUPS.flatMap((group) => group.places);
    const going = places.flatMap((place) =>
      place.keys ? [[place.keys, () => void navigate({ to: place.to })] as const] : [],
    );
    return {
      ...Object.fromEntries(going),
      "?": showHelp,
      "/": focusFilter,
      j: () => moveInRows(1),
      k: () => moveInRows(-1),
      x: chooseRow,
    };
  }, [navigate, showHelp]);
}

function focusFilter(): void {
  document.querySelector<HTMLInputElement>("[data-filter]")?.focus();
}

/** A button, since with `<base href>` a link to `#main` would lead to the first page. */
function focusMain(): void {
  document.getElementById("main")?.focus();
}
