import { TemplateError } from './template-error.ts';

/** The part of the pinned Handlebars parser's syntax tree that this program reads. */

export type PathExpression = {
  type: 'PathExpression';
  /** True for `@index` and similar names. */
  data: boolean;
  /** Number of `../` before the name. */
  depth: number;
  parts: unknown[];
};
export type Expression =
  | PathExpression
  | { type: 'StringLiteral' | 'NumberLiteral' | 'BooleanLiteral'; value: string | number | boolean }
  | { type: 'UndefinedLiteral' | 'NullLiteral' }
  | ({ type: 'SubExpression' } & Call);

/** A name with its arguments: `name argument … key=value`. */
export type Call = {
  path: Expression;
  params: Expression[];
  hash?: { pairs: { key: string; value: Expression }[] };
};
export type Block = { type: 'BlockStatement'; program?: Program; inverse?: Program } & Call;
export type Statement =
  | { type: 'ContentStatement'; value: string }
  | { type: 'CommentStatement' }
  | ({ type: 'MustacheStatement'; escaped: boolean } & Call)
  | Block
  | { type: 'PartialStatement' | 'PartialBlockStatement' | 'Decorator' | 'DecoratorBlock' };
export type Program = { body: Statement[]; blockParams?: string[] };

/** The name that an expression begins with, dots included. Throws TemplateError if it begins with a literal. */
export function nameOf(path: Expression): string {
  if (path.type !== 'PathExpression') throw new TemplateError('an expression must begin with a name');
  return path.parts.length === 0 ? 'this' : path.parts.map(String).join('.');
}
