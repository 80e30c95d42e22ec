import { Checkbox, Select, TextInput } from "@mantine/core";
import type { UseFormReturnType } from "@mantine/form";
import { useInfiniteQuery } from "@tanstack/react-query";
import { connectionsQuery } from "../../../api/connections";
import { itemsOf } from "../../../api/paging";

export interface PlaceDraft {
  connection: string;
  uri: string;
  listing: boolean;
  path: string;
}

interface Props<Draft extends PlaceDraft> {
  project: string;
  form: UseFormReturnType<Draft>;
}

/** What is brought and where it goes: the part that an import and a source share. */
export function PlaceFields<Draft extends PlaceDraft>({ project, form }: Props<Draft>) {
  const connections = itemsOf(useInfiniteQuery(connectionsQuery(project)).data);
  const chosen = connections.find((one) => one.name === form.values.connection);
  const choose = (name: string | null) => {
    const found = connections.find((one) => one.name === name);
    form.setValues({ connection: name ?? "", uri: found?.url ?? "", listing: false } as Partial<Draft>);
  };
  return (
    <>
      <Select
        label="Connection"
        description={
          connections.length ? undefined : "This project has none: an administrator of it adds one"
        }
        data={connections.map((one) => one.name)}
        value={form.values.connection || null}
        onChange={choose}
        required
        allowDeselect={false}
      />
      <TextInput
        label="Address"
        description={
          chosen?.kind === "https"
            ? "The address of a file, or of a text that lists files"
            : "An object, or a prefix and everything below it"
        }
        required
        autoComplete="off"
        {...form.getInputProps("uri")}
      />
      {chosen?.kind === "https" && (
        <Checkbox
          label="The address is a list of files: one name per line, or sha256sum format"
          {...form.getInputProps("listing", { type: "checkbox" })}
        />
      )}
      <TextInput
        label="Folder in the dataset"
        placeholder="top level"
        autoComplete="off"
        {...form.getInputProps("path")}
      />
    </>
  );
}
