import { expect, it } from "vitest";
import { filesOf } from "./patch";

const PATCH = `diff --git a/net.py b/net.py
index 1..2 100644
--- a/net.py
+++ b/net.py
@@ -1,2 +1,3 @@
 def net():
-    return 1
+    return 2
+
diff --git "a/sp ace.py" "b/sp ace.py"
new file mode 100644
--- /dev/null
+++ "b/sp ace.py"
@@ -0,0 +1 @@
+x
`;

it("splits a diff by file and counts lines, not headers", () => {
  const files = filesOf(PATCH);
  expect(files.map(({ name, added, removed }) => [name, added, removed])).toEqual([
    ["net.py", 2, 1],
    ["sp ace.py", 1, 0],
  ]);
  expect(files[0]?.lines[0]).toBe("@@ -1,2 +1,3 @@");
});

it("shows a text that is no diff as it is", () => {
  expect(filesOf("something\nelse")).toEqual([
    { name: "changes", added: 0, removed: 0, lines: ["something", "else"] },
  ]);
});
