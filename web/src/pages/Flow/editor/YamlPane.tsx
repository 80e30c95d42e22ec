/** The text of the flow, in step with the canvas. Lines with problems are marked. */
import { yaml } from "@codemirror/lang-yaml";
import { useComputedColorScheme } from "@mantine/core";
import CodeMirror, {
  Decoration,
  EditorView,
  type ReactCodeMirrorRef,
  StateEffect,
  StateField,
} from "@uiw/react-codemirror";
import { useEffect, useRef } from "react";

interface Props {
  text: string;
  isEditable: boolean;
  /** Lines with problems, from 1. */
  marked: readonly number[];
  /** The line to show; a new object shows it again. */
  shown: { line: number } | null;
  onChange: (text: string) => void;
}

const setMarked = StateEffect.define<readonly number[]>();
const MARK = Decoration.line({ class: "flow-yaml-problem" });

const markedLines = StateField.define({
  create: () => Decoration.none,
  update: (before, transaction) => {
    const given = transaction.effects.find((effect) => effect.is(setMarked));
    if (!given) return before.map(transaction.changes);
    const { doc } = transaction.state;
    const lines = [...new Set(given.value as readonly number[])].filter(
      (line) => line >= 1 && line <= doc.lines,
    );
    return Decoration.set(lines.sort((a, b) => a - b).map((line) => MARK.range(doc.line(line).from)));
  },
  provide: (field) => EditorView.decorations.from(field),
});

const EXTENSIONS = [
  yaml(),
  markedLines,
  EditorView.lineWrapping,
  EditorView.contentAttributes.of({ "aria-label": "YAML of the flow" }),
];
const SETUP = { foldGutter: true, tabSize: 2 };

export default function YamlPane({ text, isEditable, marked, shown, onChange }: Props) {
  const scheme = useComputedColorScheme("light");
  const editor = useRef<ReactCodeMirrorRef>(null);
  const show = (view: EditorView | undefined) => {
    if (!view || !shown) return;
    const line = view.state.doc.line(Math.min(shown.line, view.state.doc.lines));
    view.dispatch({
      selection: { anchor: line.from },
      effects: EditorView.scrollIntoView(line.from, { y: "center" }),
    });
    view.focus();
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: only a new wish moves the cursor
  useEffect(() => show(editor.current?.view), [shown]);
  useEffect(() => editor.current?.view?.dispatch({ effects: setMarked.of(marked) }), [marked]);
  return (
    <CodeMirror
      ref={editor}
      value={text}
      theme={scheme}
      height="100%"
      className="flow-yaml"
      editable={isEditable}
      extensions={EXTENSIONS}
      basicSetup={SETUP}
      // Tab leaves the editor, as it leaves every field.
      indentWithTab={false}
      onCreateEditor={(view) => {
        view.dispatch({ effects: setMarked.of(marked) });
        show(view);
      }}
      onChange={onChange}
    />
  );
}
