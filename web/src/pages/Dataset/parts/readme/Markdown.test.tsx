import { expect, it } from "vitest";
import { showPage } from "../../../../testing/page";
import { targetOf } from "./links";
import Markdown from "./Markdown";
import { withoutFrontMatter } from "./text";

const place = { project: "default", dataset: "digits", ref: "main", path: "train" };
const show = (text: string) => showPage(<Markdown text={text} place={place} commit="c1" />);

it("shows headings, emphasis, code, lists and tables", async () => {
  const page = await show(
    "# Digits\n\nSome **bold** and `code`.\n\n- [x] done\n- open\n\n|a|b|\n|-|-|\n|1|2|\n",
  );
  expect(page.getByRole("heading", { name: "Digits", level: 2 })).toBeTruthy();
  expect(page.getByText("bold").tagName).toBe("STRONG");
  expect(page.getByText("code").tagName).toBe("CODE");
  expect(page.getByRole("checkbox").hasAttribute("checked")).toBe(true);
  expect(page.getByRole("cell", { name: "2" })).toBeTruthy();
});

it("makes no element from HTML and no link that runs anything", async () => {
  const page = await show(
    "<script>document.title='taken'</script>\n\n<img src=x onerror=alert(1)>\n\n<b>kept</b>\n\n" +
      "[click](javascript:alert(1)) [data](data:text/html,x) <iframe src='https://e.example'></iframe>\n\n&lt;i&gt;\n",
  );
  const shown = page.getByTestId("shown");
  expect(shown.querySelector("script, iframe, img, b, i, a")).toBeNull();
  expect(shown.textContent).toContain("kept");
  expect(shown.textContent).toContain("click");
  expect(shown.textContent).toContain("<i>");
  expect(shown.textContent).not.toContain("taken");
});

it("loads images of the dataset only", async () => {
  const page = await show("![here](../a b.png) ![far](https://far.example/x.png) ![drawing](x.svg)");
  expect(page.queryAllByRole("img")).toHaveLength(0);
  const other = await show("![one](one.png)");
  expect(other.getByRole("img", { name: "one" }).getAttribute("src")).toContain(
    "commits/c1/file?path=train%2Fone.png",
  );
  expect(page.getByRole("link", { name: "far" }).getAttribute("rel")).toContain("noreferrer");
});

it.each([
  ["a.txt", "file", "train/a.txt"],
  ["./a%20b.txt#part", "file", "train/a b.txt"],
  ["../labels.csv", "file", "labels.csv"],
  ["/top.txt", "file", "top.txt"],
  ["sub/", "folder", "train/sub"],
  ["..", "folder", ""],
])("resolves %s to the %s %s", (href, kind, path) => {
  expect(targetOf(href, "train")).toEqual({ kind, path });
});

it.each([
  "../../x",
  "//far.example/x",
  "#part",
  "javascript:alert(1)",
  "JaVaScRiPt:x",
  "data:,x",
  "file:///x",
  "%E0%A4%A",
])("leads nowhere from %s", (href) => {
  expect(targetOf(href, "train").kind).toBe("none");
});

it("skips the YAML of a dataset card", () => {
  expect(withoutFrontMatter("---\nlicense: mit\n---\n# Card\n")).toBe("# Card\n");
  expect(withoutFrontMatter("# Card\n---\n")).toBe("# Card\n---\n");
});
