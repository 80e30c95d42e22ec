import { Anchor, type AnchorProps } from "@mantine/core";
import { createLink } from "@tanstack/react-router";
import type { ComponentPropsWithRef } from "react";

type Props = AnchorProps & Omit<ComponentPropsWithRef<"a">, keyof AnchorProps>;

function StyledAnchor(props: Props) {
  return <Anchor {...props} />;
}

/** A link to another place of the page: the library's look, the router's checked addresses. */
export const TextLink = createLink(StyledAnchor);
