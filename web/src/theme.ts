/** Colours and type: system fonts only, and text colours that reach WCAG AA on both schemes. */
import { type CSSVariablesResolver, createTheme } from "@mantine/core";

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

/** The default dimmed and placeholder greys stay below 4.5:1 on the page's backgrounds. */
export const cssVariables: CSSVariablesResolver = (current) => ({
  variables: {},
  light: {
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
