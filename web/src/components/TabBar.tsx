import { Tabs } from "@mantine/core";
import type { ReactNode } from "react";

interface Props<Tab extends string> {
  label: string;
  tabs: readonly Tab[];
  names: Readonly<Record<Tab, string>>;
  value: Tab;
  onChange: (tab: Tab) => void;
  /** The content of the chosen tab. */
  children: ReactNode;
}

/** Tabs whose choice is in the address; only the chosen one is drawn. */
export function TabBar<Tab extends string>({ label, tabs, names, value, onChange, children }: Props<Tab>) {
  return (
    <Tabs value={value} onChange={(chosen) => onChange(chosen as Tab)} keepMounted={false}>
      <Tabs.List mb="md" aria-label={label}>
        {tabs.map((tab) => (
          <Tabs.Tab key={tab} value={tab}>
            {names[tab]}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      <Tabs.Panel value={value}>{children}</Tabs.Panel>
    </Tabs>
  );
}
