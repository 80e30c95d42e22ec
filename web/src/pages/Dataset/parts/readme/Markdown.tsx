import { Table, Title, Typography } from "@mantine/core";
import { lexer, type Token, type Tokens } from "marked";
import { Fragment, type ReactNode } from "react";
import { type FilePlace, fileAddress } from "../../../../api/commits";
import { TextLink } from "../../../../components/TextLink";
import { isImage } from "../kinds";
import { targetOf } from "./links";
import { textOfHtml, unescaped, withoutFrontMatter } from "./text";

interface Props {
  text: string;
  /** The folder that relative links start from; its ref is the one links keep. Without one they lead nowhere. */
  place?: FilePlace;
  /** Images are read from this commit. */
  commit?: string;
}

/**
 * Markdown as React elements. No HTML string is ever made: tags in the text are dropped, scripts cannot run,
 * and only images of the dataset itself are loaded.
 */
export default function Markdown({ text, ...around }: Props) {
  return (
    <Typography className="markdown">
      <Blocks tokens={lexer(withoutFrontMatter(text), { gfm: true })} {...around} />
    </Typography>
  );
}

type Around = Omit<Props, "text">;

function Blocks({ tokens, ...around }: Around & { tokens: Token[] | undefined }): ReactNode {
  return tokens?.map((token, index) => <Fragment key={index}>{shown(token, around)}</Fragment>);
}

function shown(token: Token, around: Around): ReactNode {
  const inside = "tokens" in token && token.tokens ? <Blocks tokens={token.tokens} {...around} /> : null;
  switch (token.type) {
    case "heading":
      // The page's own title is the only first-level heading.
      return <Title order={Math.min(token.depth + 1, 6) as 2 | 3 | 4 | 5 | 6}>{inside}</Title>;
    case "paragraph":
      return <p>{inside}</p>;
    case "blockquote":
      return <blockquote>{inside}</blockquote>;
    case "strong":
      return <strong>{inside}</strong>;
    case "em":
      return <em>{inside}</em>;
    case "del":
      return <del>{inside}</del>;
    case "codespan":
      return <code>{token.text}</code>;
    case "code":
      return (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
        <pre tabIndex={0}>
          <code>{token.text}</code>
        </pre>
      );
    case "br":
      return <br />;
    case "hr":
      return <hr />;
    case "list":
      return <List list={token as Tokens.List} {...around} />;
    case "table":
      return <Rows table={token as Tokens.Table} {...around} />;
    case "link":
      return (
        <Link href={token.href} {...around}>
          {inside}
        </Link>
      );
    case "image":
      return <Picture href={token.href} alt={token.text} {...around} />;
    case "html":
      return textOfHtml(token.text);
    case "escape":
      return token.text;
    case "text":
      return inside ?? unescaped(token.text);
    default:
      return null;
  }
}

function List({ list, ...around }: Around & { list: Tokens.List }) {
  const items = list.items.map((item, index) => (
    <li key={index}>
      {item.task && (
        <input type="checkbox" checked={item.checked ?? false} readOnly disabled aria-label="Done" />
      )}{" "}
      <Blocks tokens={item.tokens} {...around} />
    </li>
  ));
  return list.ordered ? <ol start={Number(list.start) || undefined}>{items}</ol> : <ul>{items}</ul>;
}

function Rows({ table, ...around }: Around & { table: Tokens.Table }) {
  return (
    <Table.ScrollContainer minWidth={0}>
      <Table withTableBorder>
        <Table.Thead>
          <Table.Tr>
            {table.header.map((cell, index) => (
              <Table.Th key={index} ta={cell.align ?? undefined}>
                <Blocks tokens={cell.tokens} {...around} />
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {table.rows.map((row, number) => (
            <Table.Tr key={number}>
              {row.map((cell, index) => (
                <Table.Td key={index} ta={cell.align ?? undefined}>
                  <Blocks tokens={cell.tokens} {...around} />
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

function Link({ href, place, children }: Around & { href: string; children: ReactNode }) {
  const target = targetOf(href, place?.path ?? "");
  if (target.kind === "web") {
    return (
      <a href={target.href} target="_blank" rel="noopener noreferrer nofollow">
        {children}
      </a>
    );
  }
  if (target.kind === "none" || !place) return children;
  const { project, dataset, ref } = place;
  const opened =
    target.kind === "folder"
      ? { path: target.path || undefined }
      : { path: place.path || undefined, file: target.path };
  return (
    <TextLink
      to="/projects/$project/datasets/$dataset"
      params={{ project, dataset }}
      search={{ tab: "files", ref, ...opened }}
      inherit
      underline="always"
    >
      {children}
    </TextLink>
  );
}

/** Images elsewhere on the web would tell their host who looks at this page: they become links. */
function Picture({ href, alt, place, commit }: Around & { href: string; alt: string }) {
  const target = targetOf(href, place?.path ?? "");
  if (place && commit && target.kind === "file" && isImage(target.path)) {
    return <img src={fileAddress({ ...place, ref: commit, path: target.path })} alt={alt} loading="lazy" />;
  }
  return (
    <Link href={href} place={place} commit={commit}>
      {alt || href}
    </Link>
  );
}
