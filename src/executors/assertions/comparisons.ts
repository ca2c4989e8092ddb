import type { Comparison } from '../../protocol/assertions.ts';
import { shortened } from '../../shortened.ts';
import { jsonStart } from './text.ts';
import { isFields } from '../../json-values.ts';

/**
 * Whether a found value (undefined = nothing was found) matches the target, which is always text. A returned text
 * means false and gives the reason.
 */
export type Compare = (actual: unknown, target: string) => boolean | string;

type Rule = {
  holds: Compare;
  /** The comparison in words, after "expected …". */
  phrase: (target: string) => string;
  /** True: an array is compared as a whole. False: the comparison must hold for each of its elements. */
  comparesWholeArray: boolean;
  /** The result for an empty selection: nothing is null and empty, has no key or value, and equals nothing. */
  holdsForNothing: boolean;
};

const quoted = (target: string): string => JSON.stringify(shortened(target, 200));

/** The 14 comparisons. */
export const comparisonRules: { readonly [C in Comparison]: Rule } = {
  EQUALS: {
    holds: (actual, target) => equalsTarget(actual, target),
    phrase: (target) => `to equal ${quoted(target)}`,
    comparesWholeArray: false,
    holdsForNothing: false,
  },
  NOT_EQUALS: {
    holds: (actual, target) => !equalsTarget(actual, target),
    phrase: (target) => `not to equal ${quoted(target)}`,
    comparesWholeArray: false,
    holdsForNothing: true,
  },
  HAS_KEY: {
    holds: (actual, target) => hasKey(actual, target),
    phrase: (target) => `to have the key ${quoted(target)}`,
    comparesWholeArray: false,
    holdsForNothing: false,
  },
  NOT_HAS_KEY: {
    holds: (actual, target) => !hasKey(actual, target),
    phrase: (target) => `not to have the key ${quoted(target)}`,
    comparesWholeArray: false,
    holdsForNothing: true,
  },
  HAS_VALUE: {
    holds: (actual, target) => hasValue(actual, target),
    phrase: (target) => `to have the value ${quoted(target)}`,
    comparesWholeArray: true,
    holdsForNothing: false,
  },
  NOT_HAS_VALUE: {
    holds: (actual, target) => !hasValue(actual, target),
    phrase: (target) => `not to have the value ${quoted(target)}`,
    comparesWholeArray: true,
    holdsForNothing: true,
  },
  IS_EMPTY: {
    holds: (actual) => isEmpty(actual),
    phrase: () => 'to be empty',
    comparesWholeArray: true,
    holdsForNothing: true,
  },
  NOT_EMPTY: {
    holds: (actual) => !isEmpty(actual),
    phrase: () => 'not to be empty',
    comparesWholeArray: true,
    holdsForNothing: false,
  },
  GREATER_THAN: {
    holds: (actual, target) => ordered(actual, target, (order) => order > 0),
    phrase: (target) => `to be greater than ${quoted(target)}`,
    comparesWholeArray: false,
    holdsForNothing: false,
  },
  LESS_THAN: {
    holds: (actual, target) => ordered(actual, target, (order) => order < 0),
    phrase: (target) => `to be less than ${quoted(target)}`,
    comparesWholeArray: false,
    holdsForNothing: false,
  },
  CONTAINS: {
    holds: (actual, target) => contains(actual, target),
    phrase: (target) => `to contain ${quoted(target)}`,
    comparesWholeArray: true,
    holdsForNothing: false,
  },
  NOT_CONTAINS: {
    holds: (actual, target) => !contains(actual, target),
    phrase: (target) => `not to contain ${quoted(target)}`,
    comparesWholeArray: true,
    holdsForNothing: true,
  },
  IS_NULL: {
    holds: (actual) => actual === null || actual === undefined,
    phrase: () => 'to be null',
    comparesWholeArray: true,
    holdsForNothing: true,
  },
  NOT_NULL: {
    holds: (actual) => actual !== null && actual !== undefined,
    phrase: () => 'not to be null',
    comparesWholeArray: true,
    holdsForNothing: false,
  },
};

/** True if the target is the JSON text of an array: then EQUALS compares the complete array. */
export function isArrayText(target: string): boolean {
  return Array.isArray(parsed(target));
}

/**
 * Text must equal exactly. A number equals any way to write it (also 0x…, 0o…, 0b…). true, false and null equal their
 * names. Arrays and objects equal their JSON text, whatever its white space and key order.
 */
function equalsTarget(actual: unknown, target: string): boolean {
  if (typeof actual === 'string') return actual === target;
  if (typeof actual === 'number' || typeof actual === 'bigint') return compareNumbers(actual, target) === 0;
  if (typeof actual === 'boolean' || actual === null) return String(actual) === target.trim();
  if (typeof actual === 'object') {
    const value = parsed(target);
    return value !== undefined && sameJson(actual, value);
  }
  return false;
}

function hasKey(actual: unknown, target: string): boolean {
  return isFields(actual) && Object.hasOwn(actual, target);
}

function hasValue(actual: unknown, target: string): boolean {
  if (Array.isArray(actual)) return actual.some((value) => equalsTarget(value, target));
  if (isFields(actual)) return Object.values(actual).some((value) => equalsTarget(value, target));
  return equalsTarget(actual, target);
}

/** Text contains a part; an array contains an element; for anything else, its JSON text contains a part. */
function contains(actual: unknown, target: string): boolean {
  if (typeof actual === 'string') return actual.includes(target);
  if (Array.isArray(actual)) return actual.some((value) => equalsTarget(value, target));
  if (actual === null || actual === undefined) return false;
  return jsonStart(actual, Infinity).includes(target);
}

function isEmpty(actual: unknown): boolean {
  if (actual === null || actual === undefined || actual === '') return true;
  if (Array.isArray(actual)) return actual.length === 0;
  if (isFields(actual)) {
    for (const _key in actual) return false;
    return true;
  }
  return false;
}

function ordered(actual: unknown, target: string, wanted: (order: number) => boolean): boolean | string {
  if (readNumber(target) === undefined) return `the target ${quoted(target)} is not a number`;
  if (typeof actual !== 'string' && typeof actual !== 'number' && typeof actual !== 'bigint') {
    return 'it is not a number';
  }
  const order = compareNumbers(actual, target);
  return order === undefined ? 'it is not a number' : wanted(order);
}

/** The order of two numbers (negative, zero, positive); undefined if one is not a number. */
function compareNumbers(actual: number | bigint | string, target: string): number | undefined {
  const left = typeof actual === 'string' ? readNumber(actual) : actual;
  const right = readNumber(target);
  if (left === undefined || right === undefined || Number.isNaN(left)) return undefined;
  // Compare two values of the same kind: a double from a parsed document has lost its digits above 2^53, so the
  // target is converted to a double too.
  if (typeof left === 'number' && typeof right === 'bigint') return order(left, Number(right));
  return order(left, right); // JavaScript compares a bigint with a number exactly
}

/** Maximum length of a text that is read as a number. */
const maxNumberLength = 1000;

function order(left: number | bigint, right: number | bigint): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

/** A number as people write it, without a unit. Integers above 2^53 keep all their digits, up to 1000. */
function readNumber(text: string): number | bigint | undefined {
  const trimmed = text.trim();
  // The time to parse digits grows with the square of their number.
  if (trimmed.length > maxNumberLength) return undefined;
  if (!/^(?:[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|0x[\da-f]+|0o[0-7]+|0b[01]+)$/i.test(trimmed))
    return undefined;
  const value = Number(trimmed);
  if (Number.isSafeInteger(value) || !/^[+-]?\d+$/.test(trimmed)) return value;
  return BigInt(trimmed.startsWith('+') ? trimmed.slice(1) : trimmed);
}

function parsed(text: string): unknown {
  const start = text.trimStart().charAt(0);
  if (start !== '[' && start !== '{') return undefined; // only arrays and objects are compared
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function sameJson(left: unknown, right: unknown): boolean {
  if (Array.isArray(left)) {
    return (
      Array.isArray(right) &&
      left.length === right.length &&
      left.every((value, index) => sameJson(value, right[index]))
    );
  }
  if (!isFields(left)) return typeof left === 'bigint' ? Number(left) === right : left === right;
  if (!isFields(right)) return false;
  const keys = Object.keys(left);
  return (
    keys.length === Object.keys(right).length &&
    keys.every((key) => Object.hasOwn(right, key) && sameJson(left[key], right[key]))
  );
}
