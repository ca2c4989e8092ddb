import { ProtoError } from './wire.ts';

/** Splits the text of a .proto file into words, numbers, texts and signs. Comments are dropped. */

export type Token = { kind: 'word' | 'number' | 'text' | 'sign' | 'end'; value: string; line: number };

const pattern =
  /(?<space>\s+|\/\/[^\n]*|\/\*[^]*?\*\/)|(?<word>\.?[A-Za-z_][\w.]*)|(?<number>[+-]?(?:0[xX][\da-fA-F]+|\d[\d.]*(?:[eE][+-]?\d+)?))|(?<text>"(?:[^"\\\n]|\\[^\n])*"|'(?:[^'\\\n]|\\[^\n])*')|(?<sign>[{}[\]()<>=;:,.+-])/y;

const maxTokens = 500_000;

/** All tokens, with one of the kind `end` last. Throws ProtoError at a sign that the language does not have. */
export function tokensOf(source: string): Token[] {
  const tokens: Token[] = [];
  let line = 1;
  pattern.lastIndex = 0;
  while (pattern.lastIndex < source.length) {
    const from = pattern.lastIndex;
    const match = pattern.exec(source);
    if (match === null)
      throw new ProtoError(`line ${line}: unexpected ${JSON.stringify(source[from] ?? '')}`);
    const [whole] = match;
    const { word, number, text, sign } = match.groups ?? {};
    if (word !== undefined) tokens.push({ kind: 'word', value: word, line });
    else if (number !== undefined) tokens.push({ kind: 'number', value: number, line });
    else if (text !== undefined) tokens.push({ kind: 'text', value: text.slice(1, -1), line });
    else if (sign !== undefined) tokens.push({ kind: 'sign', value: sign, line });
    if (tokens.length > maxTokens) throw new ProtoError(`there are more than ${maxTokens} words`);
    for (const character of whole) if (character === '\n') line += 1;
  }
  tokens.push({ kind: 'end', value: 'the end of the text', line });
  return tokens;
}
