/** The text of the flow, in step with the canvas. */
import { yaml } from "@codemirror/lang-yaml";
import { useComputedColorScheme } from "@mantine/core";
import CodeMirror, { EditorView } from "@uiw/react-codemirror";
import { useMemo } from "react";

interface Props {
  text: string;
  isEditable: boolean;
  onChange: (text: string) => void;
}

export default function YamlPane({ text, isEditable, onChange }: Props) {
  const scheme = useComputedColorScheme("light");
  const extensions = useMemo(
    () => [
      yaml(),
      EditorView.lineWrapping,
      EditorView.contentAttributes.of({ "aria-label": "YAML of the flow" }),
    ],
    [],
  );
  return (
    <CodeMirror
      value={text}
      theme={scheme}
      height="100%"
      className="flow-yaml"
      editable={isEditable}
      extensions={extensions}
      basicSetup={{ foldGutter: true, tabSize: 2 }}
      onChange={onChange}
    />
  );
}
