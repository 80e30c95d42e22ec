import { Anchor } from "@mantine/core";
import { useState } from "react";

/** From so many characters on, only the beginning is shown until somebody asks. */
const MANY = 300;

/** A text among others: a long one does not push them out of sight. */
export function LongText({ text }: { text: string }) {
  const [all, setAll] = useState(false);
  if (all || text.length <= MANY) return text;
  return (
    <>
      {text.slice(0, MANY)}…{" "}
      <Anchor component="button" type="button" fz="xs" onClick={() => setAll(true)}>
        Show all {text.length.toLocaleString("en")} characters
      </Anchor>
    </>
  );
}
