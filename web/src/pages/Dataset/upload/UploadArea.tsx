import { VisuallyHidden } from "@mantine/core";
import { createContext, type ReactNode, useContext, useRef, useState } from "react";
import { useMay } from "../../../api/session";
import type { Dataset } from "../../../api/shapes";
import { notifyError } from "../../../components/notify";
import { itemsOfDrop, itemsOfInput } from "../../../lib/upload/collect";
import type { Item } from "../../../lib/upload/sending";
import type { Unfinished } from "../../../lib/upload/unfinished";
import { DropTarget } from "./DropTarget";
import { UploadDialog } from "./UploadDialog";

/** Opens the browser's chooser; `again` is an interrupted upload whose files are to be chosen once more. */
interface Choosers {
  chooseFiles: () => void;
  chooseFolder: (again?: Unfinished) => void;
}

const ChoosersContext = createContext<Choosers | null>(null);

/** Ways to choose what to upload; null for those who may not. */
export function useUploadChoosers(): Choosers | null {
  return useContext(ChoosersContext);
}

interface Props {
  dataset: Dataset;
  /** The branch and the directory that the page shows. */
  branch: string;
  path: string;
  children: ReactNode;
}

interface Chosen {
  items: Item[];
  again: Unfinished | undefined;
}

/** The page of one dataset as a place to drop files on; everything chosen is looked at in a dialog first. */
export function UploadArea({ dataset, branch, path, children }: Props) {
  const may = useMay(dataset.project, "member") && dataset.kind === "data";
  const [chosen, setChosen] = useState<Chosen | null>(null);
  const again = useRef<Unfinished | undefined>(undefined);
  const files = useRef<HTMLInputElement>(null);
  const folder = useRef<HTMLInputElement>(null);
  if (!may) return children;

  const take = (items: Item[]) => {
    if (items.length > 0) setChosen({ items, again: again.current });
  };
  const drop = (data: DataTransfer) => {
    again.current = undefined;
    itemsOfDrop(data).then(take, notifyError);
  };
  const choosers: Choosers = {
    chooseFiles: () => {
      again.current = undefined;
      files.current?.click();
    },
    chooseFolder: (unfinished) => {
      again.current = unfinished;
      folder.current?.click();
    },
  };
  const change = (field: HTMLInputElement) => {
    take(itemsOfInput(field.files ?? []));
    // Choosing the same files again must be a change, too.
    field.value = "";
  };
  return (
    <ChoosersContext value={choosers}>
      <DropTarget onDrop={drop} label={`Drop files and folders to upload them to ${dataset.name}`}>
        {children}
      </DropTarget>
      <VisuallyHidden aria-hidden>
        <input
          ref={files}
          type="file"
          multiple
          tabIndex={-1}
          data-testid="choose-files"
          onChange={(event) => change(event.currentTarget)}
        />
        <input
          ref={folder}
          type="file"
          // @ts-expect-error: every browser knows it, React's types do not
          webkitdirectory=""
          tabIndex={-1}
          data-testid="choose-folder"
          onChange={(event) => change(event.currentTarget)}
        />
      </VisuallyHidden>
      {chosen && (
        <UploadDialog
          dataset={dataset}
          items={chosen.items}
          again={chosen.again}
          branch={branch}
          path={path}
          onClose={() => setChosen(null)}
        />
      )}
    </ChoosersContext>
  );
}
