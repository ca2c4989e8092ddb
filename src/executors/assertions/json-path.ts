import { createRequire } from 'node:module';
import type * as jsonP3 from 'json-p3';
import type { JSONPathEnvironment, JSONPathNode, JSONPathQuery, jsonpath, JSONValue } from 'json-p3';
import { toError } from '../../errors.ts';
import { runBounded } from './bound.ts';
import { remember } from './cache.ts';

type Library = typeof jsonP3;

/** The result of a JSONPath. `single`: the path can select only one value (RFC 9535, "singular query"). */
export type PathMatch = { values: unknown[]; single: boolean } | { error: string };

type Path = { query: JSONPathQuery; single: boolean; wide: boolean } | { error: string };

const wideLimitMs = 100;

let loaded: { library: Library; environment: JSONPathEnvironment } | undefined;

const compiled = remember(500, compile);

/**
 * Values at a JSONPath (RFC 9535) in a document. In addition to the RFC, `.length` of an array is its length. Never
 * throws: a path that is invalid, or that takes longer than 100 ms, returns an error text.
 */
export function findByPath(source: string, document: unknown): PathMatch {
  const path = compiled(source);
  if ('error' in path) return path;
  const { query, single, wide } = path;
  const find = (): unknown[] => {
    const values: unknown[] = [];
    // The document came from JSON.parse (or contains bigints, which the library passes through).
    for (const node of query.lazyQuery(document as JSONValue)) values.push(node.value);
    return values;
  };
  try {
    if (!wide) return { values: find(), single };
    const ran = runBounded(find, wideLimitMs);
    if ('stoppedAfterMs' in ran) {
      return { error: `the JSONPath ${source} took longer than ${ran.stoppedAfterMs} ms and was stopped` };
    }
    return { values: ran.result, single };
  } catch (error: unknown) {
    return { error: `the JSONPath ${source} cannot be applied: ${toError(error).message}` };
  }
}

function compile(source: string): Path {
  if (!source.startsWith('$')) return { error: `the JSONPath ${JSON.stringify(source)} must start with $` };
  try {
    const { library, environment } = (loaded ??= load());
    const query = environment.compile(source);
    if (hasWrongOperand(query, library)) {
      return {
        error: `the JSONPath ${JSON.stringify(source)} is not valid: a comparison takes no ! and no other comparison`,
      };
    }
    if (source.includes('length')) addArrayLengths(query, library);
    return { query, single: query.singularQuery(), wide: isWide(source) };
  } catch (error: unknown) {
    return { error: `the JSONPath ${JSON.stringify(source)} is not valid: ${toError(error).message}` };
  }
}

/**
 * Loaded with the first path, because the library takes 2 MB of memory; synchronously, because evaluation is
 * synchronous.
 */
function load(): { library: Library; environment: JSONPathEnvironment } {
  const library = createRequire(import.meta.url)('json-p3') as Library; // matches the package's own types
  return { library, environment: new library.JSONPathEnvironment({ maxRecursionDepth: 1000 }) };
}

/**
 * True for paths whose work may grow faster than the document: those with at least two branching operators, or with
 * regular expressions from the document or the check.
 */
function isWide(source: string): boolean {
  const branching = source.match(/\.\.|[*?,:]/g)?.length ?? 0;
  return branching > 1 || /\b(?:match|search)\s*\(/.test(source);
}

/** Whether a filter has a form as `!@.a == 1` or `@.a == 1 == 2`: RFC 9535 has none such, but the library takes them. */
function hasWrongOperand(query: JSONPathQuery, library: Library): boolean {
  const { selectors, expressions } = library.jsonpath;
  const inExpression = (expression: jsonpath.expressions.FilterExpression): boolean => {
    if (expression instanceof expressions.LogicalExpression) return inExpression(expression.expression);
    if (expression instanceof expressions.PrefixExpression) return inExpression(expression.right);
    if (expression instanceof expressions.FunctionExtension) return expression.args.some(inExpression);
    if (expression instanceof expressions.FilterQuery) return hasWrongOperand(expression.path, library);
    if (!(expression instanceof expressions.InfixExpression)) return false;
    const operands = [expression.left, expression.right];
    const isLogical = expression.operator === '&&' || expression.operator === '||';
    return (
      (!isLogical &&
        operands.some(
          (each) =>
            each instanceof expressions.PrefixExpression || each instanceof expressions.InfixExpression,
        )) ||
      operands.some(inExpression)
    );
  };
  return query.segments.some((segment) =>
    segment.selectors.some(
      (selector) => selector instanceof selectors.FilterSelector && inExpression(selector.expression),
    ),
  );
}

/** Makes every `.length` of the query, also inside filters, return the length of an array. */
function addArrayLengths(query: JSONPathQuery, library: Library): void {
  const { selectors, expressions } = library.jsonpath;
  const inExpression = (expression: jsonpath.expressions.FilterExpression): void => {
    if (expression instanceof expressions.LogicalExpression) inExpression(expression.expression);
    else if (expression instanceof expressions.PrefixExpression) inExpression(expression.right);
    else if (expression instanceof expressions.FunctionExtension) expression.args.forEach(inExpression);
    else if (expression instanceof expressions.FilterQuery) inQuery(expression.path);
    else if (expression instanceof expressions.InfixExpression) {
      inExpression(expression.left);
      inExpression(expression.right);
    }
  };
  const inQuery = (part: JSONPathQuery): void => {
    for (const segment of part.segments) {
      for (const selector of segment.selectors) {
        if (selector instanceof selectors.FilterSelector) inExpression(selector.expression);
        if (selector instanceof selectors.NameSelector && selector.name === 'length') {
          const resolve = selector.resolve.bind(selector);
          selector.resolve = (node) => lengthNodes(node, library) ?? resolve(node);
          selector.lazyResolve = function* (node) {
            yield* selector.resolve(node);
          };
        }
      }
    }
  };
  inQuery(query);
}

function lengthNodes(node: JSONPathNode, library: Library): JSONPathNode[] | null {
  if (!Array.isArray(node.value)) return null;
  return [new library.JSONPathNode(node.value.length, [...node.location, 'length'], node.root)];
}
