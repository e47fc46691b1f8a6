// The rich-text editor of the corpus: ProseMirror as its own examples set it up. Bundled by `stage.py`.
import { baseKeymap } from 'prosemirror-commands';
import { history, redo, undo } from 'prosemirror-history';
import { keymap } from 'prosemirror-keymap';
import { DOMParser } from 'prosemirror-model';
import { schema } from 'prosemirror-schema-basic';
import { EditorState, TextSelection } from 'prosemirror-state';
import { EditorView } from 'prosemirror-view';

const source = document.createElement('div');
source.innerHTML = '<p>one two</p><p>three <strong>four</strong></p>';
const doc = DOMParser.fromSchema(schema).parse(source);
const plugins = [history(), keymap({ 'Mod-z': undo, 'Mod-y': redo }), keymap(baseKeymap)];
const fresh = () => EditorState.create({ doc, plugins });

const view = new EditorView(document.getElementById('editor'), { state: fresh() });

window.editor = {
  reset() {
    if (!view.state.doc.eq(doc)) view.updateState(fresh());
  },
  /** @param {[number, number]} caret positions in the document */
  focus([start, end]) {
    view.updateState(fresh());
    view.focus();
    view.dispatch(view.state.tr.setSelection(TextSelection.create(view.state.doc, start, end)));
  },
  read() {
    view.domObserver.flush(); // what the document says and the editor has not looked at yet
    const { doc: now, selection } = view.state;
    return { doc: JSON.stringify(now.toJSON()), selection: `${selection.anchor}-${selection.head}`, html: view.dom.innerHTML };
  },
};
