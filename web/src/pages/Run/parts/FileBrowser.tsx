import { Grid } from "@mantine/core";
import type { CommitPlace } from "../../../api/commits";
import { FilePreview } from "../../Dataset/parts/FilePreview";
import type { RunSearch } from "../tabs";
import { FolderTable } from "./FolderTable";

interface Props {
  title: string;
  tree: CommitPlace;
  search: RunSearch;
  onSearch: (search: RunSearch) => void;
}

/** The files of a commit, and beside them a preview of one; which, is in the address. */
export function FileBrowser({ title, tree, search, onSearch }: Props) {
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
