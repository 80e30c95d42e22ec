import { Grid } from "@mantine/core";
import type { CommitPlace } from "../../../api/commits";
import { FilePreview } from "../../Dataset/parts/FilePreview";
import { FolderTable } from "./FolderTable";

/** What the address says: a tab, and in it a folder and a file. */
interface Shown<Tab extends string> {
  tab?: Tab;
  path?: string;
  file?: string;
}

interface Props<Tab extends string> {
  title: string;
  tree: CommitPlace;
  search: Shown<Tab>;
  onSearch: (search: Shown<Tab>) => void;
}

/** The files of a commit, and beside them a preview of one; which, is in the address. */
export function FileBrowser<Tab extends string>({ title, tree, search, onSearch }: Props<Tab>) {
  const { tab, path = "", file } = search;
  return (
    <Grid>
      <Grid.Col span={{ base: 12, md: file ? 5 : 12 }} order={{ base: 2, md: 1 }}>
        <FolderTable
          title={title}
          place={{ ...tree, path }}
          selected={file}
          onFolder={(folder) => onSearch({ tab, path: folder || undefined })}
          onFile={(chosen) => onSearch({ ...search, file: chosen })}
        />
      </Grid.Col>
      {file && (
        <Grid.Col span={{ base: 12, md: 7 }} order={{ base: 1, md: 2 }}>
          <FilePreview
            key={file}
            file={{ ...tree, path: file }}
            onClose={() => onSearch({ ...search, file: undefined })}
          />
        </Grid.Col>
      )}
    </Grid>
  );
}
