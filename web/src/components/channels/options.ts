import type { NotificationChoice, NotificationKind } from "../../api/shapes";

const OF_SERVER: readonly NotificationKind[] = ["volume-nearly-full", "backup-failed"];

const WORDS = { off: "nothing", own: "of my own", all: "of everybody's" } as const;

interface Option {
  value: string;
  label: string;
}

/** What one may choose of a kind. In a project, also what holds everywhere. */
export function optionsOf(choice: NotificationChoice, inProject: boolean): Option[] {
  const usual: Option[] = inProject
    ? [
        {
          value: "default",
          label: choice.is_chosen ? "as everywhere" : `as everywhere: ${WORDS[choice.whose]}`,
        },
      ]
    : [];
  if (OF_SERVER.includes(choice.kind))
    return [
      { value: "off", label: WORDS.off },
      { value: "all", label: "yes" },
    ];
  const known =
    choice.kind === "channel-failing" ? (["off", "own"] as const) : (["off", "own", "all"] as const);
  return [...usual, ...known.map((value) => ({ value, label: WORDS[value] }))];
}
