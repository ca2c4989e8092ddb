import { autocompletion, closeBrackets, closeBracketsKeymap } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { javascript } from '@codemirror/lang-javascript';
import { json } from '@codemirror/lang-json';
import { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting } from '@codemirror/language';
import { highlightSelectionMatches, searchKeymap } from '@codemirror/search';
import { Compartment, EditorState } from '@codemirror/state';
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  keymap,
  lineNumbers,
  type ViewUpdate,
} from '@codemirror/view';
import { tags } from '@lezer/highlight';

/** The editor of scripts. It is large, so code.tsx loads it when a field is shown. */

export type Language = 'javascript' | 'json' | 'text';

const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.modifier, tags.operatorKeyword], color: 'var(--errored)' },
  { tag: [tags.string, tags.regexp, tags.special(tags.string)], color: 'var(--passed)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--degraded)' },
  { tag: [tags.comment], color: 'var(--soft)', fontStyle: 'italic' },
  { tag: [tags.propertyName, tags.function(tags.variableName)], color: 'var(--accent)' },
  { tag: tags.invalid, color: 'var(--failed)' },
]);

const look = EditorView.theme({
  '&': { color: 'var(--text)', backgroundColor: 'var(--card)', fontSize: '13px', maxHeight: '60vh' },
  '.cm-scroller': { fontFamily: 'ui-monospace, Menlo, Consolas, monospace', lineHeight: '1.55' },
  '.cm-content': { caretColor: 'var(--text)', minHeight: '120px' },
  '.cm-gutters': { backgroundColor: 'var(--back)', color: 'var(--soft)', border: '0' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'var(--hover)' },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '1px' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-selectionBackground, &.cm-focused .cm-selectionBackground': {
    backgroundColor: 'color-mix(in srgb, var(--accent) 28%, transparent)',
  },
  '.cm-tooltip, .cm-panels': { backgroundColor: 'var(--raised)', color: 'var(--text)' },
});

/**
 * Starts an editor in `host`. The shadow root lets it use style sheets of its own, which the page's policy allows there
 * without inline styles. Tab indents; Escape and then Tab leaves the editor.
 */
export function startEditor(
  host: HTMLElement,
  options: {
    text: string;
    label: string;
    language: Language;
    isReadOnly: boolean;
    onChange: (text: string) => void;
  },
): { setText: (text: string) => void; setReadOnly: (is: boolean) => void; destroy: () => void } {
  const root = host.shadowRoot ?? host.attachShadow({ mode: 'open', delegatesFocus: true });
  const readOnly = new Compartment();
  const language =
    options.language === 'json'
      ? [json()]
      : options.language === 'text'
        ? []
        : [javascript({ typescript: true })];
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: options.text,
      extensions: [
        lineNumbers(),
        history(),
        drawSelection(),
        indentOnInput(),
        bracketMatching(),
        closeBrackets(),
        autocompletion(),
        highlightActiveLine(),
        highlightSelectionMatches(),
        keymap.of([
          ...closeBracketsKeymap,
          ...defaultKeymap,
          ...searchKeymap,
          ...historyKeymap,
          indentWithTab,
        ]),
        language,
        syntaxHighlighting(colours),
        look,
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({ 'aria-label': options.label, spellcheck: 'false' }),
        readOnly.of(EditorState.readOnly.of(options.isReadOnly)),
        EditorView.updateListener.of((update: ViewUpdate) => {
          if (update.docChanged) options.onChange(update.state.doc.toString());
        }),
      ],
    }),
  });
  return {
    setText: (text) => {
      const now = view.state.doc.toString();
      if (now !== text) view.dispatch({ changes: { from: 0, to: now.length, insert: text } });
    },
    setReadOnly: (is) => view.dispatch({ effects: readOnly.reconfigure(EditorState.readOnly.of(is)) }),
    destroy: () => view.destroy(),
  };
}
