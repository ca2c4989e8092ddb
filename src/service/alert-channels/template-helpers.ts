import { dateHelper, randomHelpers } from '../../templates/common-helpers.ts';
import type { Helper } from '../../templates/dialect.ts';
import { TemplateError } from '../../templates/template-error.ts';
import { isTruthy, textOf, type Value } from '../../templates/values.ts';

/** The helpers of webhook templates (facts, 4.4), as pure functions of their arguments. */

/** Largest text that a helper builds from shorter texts. */
const maxLength = 65_536;

const numberOf = (value: Value): number =>
  typeof value === 'number' ? value : textOf(value).trim() === '' ? Number.NaN : Number(textOf(value));

/** Compares as numbers if both are numeric, even as text; otherwise as texts. */
function order(a: Value, b: Value): number {
  const [x, y] = [numberOf(a), numberOf(b)];
  if (!Number.isNaN(x) && !Number.isNaN(y)) return x - y;
  const [left, right] = [textOf(a), textOf(b)];
  return left < right ? -1 : left > right ? 1 : 0;
}

const same = (a: Value, b: Value): boolean => a === b || (Array.isArray(a) && textOf(a) === textOf(b));
/** `200` and "200" are equal. */
const alike = (a: Value, b: Value): boolean =>
  same(a, b) || (isTruthy(a) && isTruthy(b) && textOf(a) === textOf(b));

const operators: { readonly [operator: string]: (a: Value, b: Value) => boolean } = {
  '==': alike,
  '===': same,
  '!=': (a, b) => !alike(a, b),
  '!==': (a, b) => !same(a, b),
  '<': (a, b) => order(a, b) < 0,
  '>': (a, b) => order(a, b) > 0,
  '<=': (a, b) => order(a, b) <= 0,
  '>=': (a, b) => order(a, b) >= 0,
  typeof: (a, b) => typeof a === b,
};

function compare([a, operator, b]: readonly Value[]): boolean {
  const known = Object.hasOwn(operators, textOf(operator)) ? operators[textOf(operator)] : undefined;
  if (known === undefined) {
    throw new TemplateError(
      `compare has no operator "${textOf(operator).slice(0, 20)}"; use one of ${Object.keys(operators).join(' ')}`,
    );
  }
  return known(a, b);
}

function contains([collection, item, from]: readonly Value[]): boolean {
  if (collection === null || collection === undefined || item === undefined) return false;
  const start = typeof from === 'number' ? from : 0;
  if (Array.isArray(collection)) return collection.slice(start).some((each: Value) => alike(each, item));
  return textOf(collection).includes(textOf(item), start);
}

/** The value of a tag like "team:shop" or "team=shop": the first tag with the key counts. */
function tagValue([tags, key, fallback]: readonly Value[]): Value {
  for (const tag of Array.isArray(tags) ? tags : []) {
    const [, name, value] = /^([^:=]*)[:=]([^]*)$/.exec(textOf(tag)) ?? [];
    if (name !== undefined && name.trim() === textOf(key)) return value?.trim();
  }
  return fallback;
}

function split([text, separator, index]: readonly Value[]): Value {
  const parts = textOf(text).split(separator === undefined ? ',' : textOf(separator), 1000);
  return index === undefined ? parts : placeOf(parts, index);
}

/** The list element at a position, from the end if negative. Undefined if it is not an integer. */
function placeOf(list: readonly Value[], index: Value): Value {
  const place = numberOf(index);
  return Number.isInteger(place) ? list.at(place) : undefined;
}

function replace([text, old, replacement]: readonly Value[]): string {
  const source = textOf(text);
  const place = textOf(old) === '' ? -1 : source.indexOf(textOf(old));
  if (place === -1) return source;
  return source.slice(0, place) + textOf(replacement) + source.slice(place + textOf(old).length);
}

const date = dateHelper((phrase) => `"${phrase.slice(0, 100)}" is not a known time`);

const table: { readonly [name: string]: Helper } = {
  ...Object.fromEntries(randomHelpers),
  year: (_args, { now }) => new Date(now()).getUTCFullYear(),
  date,
  moment: date,
  tagValue,
  split,
  replace,
  lookup: ([list, index]) => (Array.isArray(list) ? placeOf(list, index) : undefined),
  default: (args) => args.find((value) => value !== undefined && value !== null && value !== ''),
  startsWith: ([prefix, text]) => textOf(text).startsWith(textOf(prefix)),
  contains,
  has: contains,
  eq: ([a, b]) => same(a, b),
  is: ([a, b]) => alike(a, b),
  isnt: ([a, b]) => !alike(a, b),
  gt: ([a, b]) => order(a, b) > 0,
  gte: ([a, b]) => order(a, b) >= 0,
  lt: ([a, b]) => order(a, b) < 0,
  lte: ([a, b]) => order(a, b) <= 0,
  compare,
  and: (args) => args.every(isTruthy),
  or: (args) => args.some(isTruthy),
  not: ([value]) => !isTruthy(value),
  neither: ([a, b]) => !isTruthy(a) && !isTruthy(b),
  isTruthy: ([value]) => isTruthy(value),
  isFalsey: ([value]) => !isTruthy(value),
  ifEven: ([value]) => numberOf(value) % 2 === 0,
  ifOdd: ([value]) => Math.abs(numberOf(value) % 2) === 1,
  ifNth: ([n, value]) => numberOf(value) % numberOf(n) === 0,
  unlessEq: ([a, b]) => !same(a, b),
  unlessGt: ([a, b]) => order(a, b) <= 0,
  unlessGteq: ([a, b]) => order(a, b) < 0,
  unlessLt: ([a, b]) => order(a, b) >= 0,
  unlessLteq: ([a, b]) => order(a, b) > 0,
};

/** In the worst case, a search compares each character of the text with each character of the search text. */
const searching = ['contains', 'has', 'replace', 'split'];

/** The most characters that a helper may inspect with these arguments. */
export function workOf(name: string, args: readonly Value[]): number {
  const [first = 0, second = 0, ...others] = args.map((value) => textOf(value).length);
  const isSearch = searching.includes(name) && !Array.isArray(args[0]);
  return others.reduce(
    (sum, length) => sum + length,
    isSearch ? first * Math.max(1, second) : first + second,
  );
}

/** Helpers by name. Each truncates the text that it returns. */
export const helpers: ReadonlyMap<string, Helper> = new Map(
  Object.entries(table).map(([name, helper]): [string, Helper] => [
    name,
    (args, context) => {
      const value = helper(args, context);
      return typeof value === 'string' ? value.slice(0, maxLength) : value;
    },
  ]),
);
