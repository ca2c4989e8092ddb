import { maxOptionalRun, optionalRun } from '../../../executors/assertions/pattern.ts';

/**
 * Patterns of RE2, whose syntax differs from that of JavaScript. They are translated; what has no equal is refused. RE2
 * has no look-around and no back-references, and this refuses them as it does.
 */
export type Pattern = { readonly text: string; readonly expression: RegExp };

const space = '\\t\\n\\f\\r ';
const posix: ReadonlyMap<string, string> = new Map(
  Object.entries({
    alnum: '0-9A-Za-z',
    alpha: 'A-Za-z',
    ascii: '\\x00-\\x7f',
    blank: '\\t ',
    cntrl: '\\x00-\\x1f\\x7f',
    digit: '0-9',
    graph: '!-~',
    lower: 'a-z',
    print: ' -~',
    punct: '!-/:-@[-`{-~'.replaceAll('[', '\\['),
    space: '\\t\\n\\v\\f\\r ',
    upper: 'A-Z',
    word: '0-9A-Za-z_',
    xdigit: '0-9A-Fa-f',
  }),
);

type State = { readonly source: string; at: number; out: string; dotAll: boolean; unicode: boolean };

/** Throws an Error whose message says what is wrong. */
export function patternOf(text: string): Pattern {
  const flags = /^\(\?([a-zA-Z]+)\)/.exec(text);
  const letters = flags?.[1] ?? '';
  for (const letter of letters) {
    if (!'ims'.includes(letter))
      throw new Error(`is a pattern with the flag ${letter}, which is not supported`);
  }
  const state: State = {
    source: text.slice(flags?.[0].length ?? 0),
    at: 0,
    out: '',
    dotAll: letters.includes('s'),
    unicode: /\\[pP]|\\x\{/.test(text),
  };
  while (state.at < state.source.length) step(state);
  if (optionalRun(state.out) > maxOptionalRun) {
    throw new Error(
      `is a pattern with more than ${maxOptionalRun} optional parts in a row; join some of them`,
    );
  }
  const used = [letters.includes('i') ? 'i' : '', letters.includes('m') ? 'm' : '', state.unicode ? 'u' : ''];
  try {
    return { text, expression: new RegExp(state.out, used.join('')) };
  } catch (error: unknown) {
    throw new Error(`is not a pattern: ${error instanceof Error ? error.message : 'unreadable'}`, {
      cause: error,
    });
  }
}

function step(state: State): void {
  const { source, at } = state;
  const rest = source.slice(at);
  const put = (out: string, length: number) => {
    state.out += out;
    state.at += length;
  };
  if (rest.startsWith('\\')) return escape(state, false);
  if (rest.startsWith('[')) return characterClass(state);
  if (rest.startsWith('.')) return put(state.dotAll ? '[^]' : '[^\\n]', 1);
  if (rest.startsWith('(?')) {
    const name = /^\(\?P?<(\w+)>/.exec(rest);
    if (name !== null) return put(`(?<${name[1]}>`, name[0].length);
    if (rest.startsWith('(?:')) return put('(?:', 3);
    throw new Error(`is a pattern with ${rest.slice(0, 4)}, which is not supported`);
  }
  put(rest[0] ?? '', 1);
}

/** `inside`: in the brackets of a class. */
function escape(state: State, inside: boolean): void {
  const rest = state.source.slice(state.at);
  const next = rest[1] ?? '';
  const put = (out: string, length: number) => {
    state.out += out;
    state.at += length;
  };
  if (/[1-9]/.test(next)) throw new Error('is a pattern with a back-reference, which is not supported');
  if (next === 'Q') {
    const end = rest.indexOf('\\E');
    const literal = rest.slice(2, end < 0 ? undefined : end);
    return put(literal.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, '\\$&'), end < 0 ? rest.length : end + 2);
  }
  const code = /^\\x\{([0-9a-fA-F]+)\}/.exec(rest);
  if (code !== null) return put(`\\u{${code[1]}}`, code[0].length);
  const property = /^\\([pP])(?:\{(\^?)(\w+)\}|(\w))/.exec(rest);
  if (property !== null) {
    const [whole, letter = 'p', , long, short] = property;
    const name = long ?? short ?? '';
    return put(`\\${letter}{${name.length > 2 ? 'Script=' : ''}${name}}`, whole.length);
  }
  if (next === 's') return put(inside ? space : `[${space}]`, 2);
  if (next === 'S' && !inside) return put(`[^${space}]`, 2);
  if (!inside && next === 'z') return put('(?![^])', 2);
  if (!inside && next === 'A') return put('(?<![^])', 2);
  if (next === 'a') return put('\\x07', 2);
  // Punctuation may always be escaped; with the flag u, JavaScript refuses some of it.
  if (/[!"#%&',:;<=>@`~_ ]/.test(next) || (next === '-' && !inside)) return put(next, 2);
  if (/[bBdDwWfnrtvx0SE]/.test(next) || /[\\^$.*+?()[\]{}|/-]/.test(next)) {
    return put(`\\${next}`, 2);
  }
  throw new Error(`is a pattern with \\${next}, which is not supported`);
}

function characterClass(state: State): void {
  const { source } = state;
  state.out += '[';
  state.at += 1;
  if (source[state.at] === '^') {
    state.out += '^';
    state.at += 1;
  }
  // A bracket at the beginning stands for itself.
  if (source[state.at] === ']') {
    state.out += '\\]';
    state.at += 1;
  }
  for (;;) {
    const character = source[state.at];
    if (character === undefined) throw new Error('is not a pattern: a bracket is not closed');
    if (character === ']') {
      state.out += ']';
      state.at += 1;
      return;
    }
    const named = /^\[:(\w+):\]/.exec(source.slice(state.at));
    if (named !== null) {
      const characters = posix.get(named[1] ?? '');
      if (characters === undefined) throw new Error(`is a pattern with ${named[0]}, which is not supported`);
      state.out += characters;
      state.at += named[0].length;
    } else if (character === '\\') escape(state, true);
    else {
      state.out += character === '[' ? '\\[' : character;
      state.at += 1;
    }
  }
}
