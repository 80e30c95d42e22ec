/** Colours and type: system fonts only, and text colours that reach WCAG AA on both schemes. */
import { type CSSVariablesResolver, createTheme, darken, type MantineTheme } from "@mantine/core";

export const theme = createTheme({
  primaryColor: "cyan",
  primaryShade: { light: 9, dark: 9 },
  defaultRadius: "md",
  cursorType: "pointer",
  respectReducedMotion: true,
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif',
  fontFamilyMonospace: 'ui-monospace, "SF Mono", "Cascadia Mono", "DejaVu Sans Mono", monospace',
  headings: { fontWeight: "650" },
  components: {
    Tooltip: { defaultProps: { openDelay: 250, withArrow: true } },
    Table: { defaultProps: { verticalSpacing: "xs", highlightOnHover: true } },
  },
});

/** Text on the light tints of badges and alerts, which the default shade leaves below 4.5:1. */
function darkOnTints(current: MantineTheme): Record<string, string> {
  const names = ["gray", "red", "indigo", "blue", "cyan", "green", "orange"] as const;
  const dark = names.map((name) => [
    `--mantine-color-${name}-light-color`,
    darken(current.colors[name][9], 0.3),
  ]);
  return Object.fromEntries(dark);
}

/** The default dimmed and placeholder greys stay below 4.5:1 on the page's backgrounds. */
export const cssVariables: CSSVariablesResolver = (current) => ({
  variables: {},
  light: {
    ...darkOnTints(current),
    "--mantine-color-dimmed": current.colors.gray[7],
    "--mantine-color-placeholder": current.colors.gray[6],
    "--mill-surface": "#f7f9fa",
    "--mill-chart-grid": "#e3e7ea",
  },
  dark: {
    "--mantine-color-dimmed": current.colors.dark[1],
    "--mantine-color-placeholder": current.colors.dark[2],
    "--mill-surface": "#1b1d20",
    "--mill-chart-grid": "#34383d",
  },
});
