import { isObject, type Fields } from '../../../json-values.ts';

/** Fields of constructs as plain values, with references as files write them. */

const deepest = 32;

type Problem = (path: string, reason: string) => void;

/** The plain value of fields. Functions and the like are problems. */
export function plainValue(value: unknown, problem: Problem): unknown {
  const above: object[] = [];
  const visit = (one: unknown, path: string): unknown => {
    if (typeof one === 'function' || typeof one === 'symbol' || typeof one === 'bigint') {
      problem(path, `is a ${typeof one}: give a plain value`);
      return null;
    }
    if (!isObject(one)) return one;
    if (one instanceof Date) return Number.isNaN(one.getTime()) ? null : one.toISOString();
    if (one instanceof URL) return one.href;
    if (isConstruct(one)) return { ref: one.logicalId };
    if (above.includes(one) || above.length > deepest) {
      problem(path, 'contains itself, or is nested too deeply');
      return null;
    }
    if (!Array.isArray(one) && !isPlain(one)) {
      problem(path, 'is an object of a class: give a plain object');
      return null;
    }
    above.push(one);
    const result = Array.isArray(one)
      ? one.map((item: unknown, index) => visit(item, `${path}.${index}`))
      : fieldsIn(one, path);
    above.pop();
    return result;
  };
  const fieldsIn = (one: object, path: string): Fields =>
    Object.fromEntries(
      Object.entries(one)
        .filter(([, member]) => member !== undefined)
        .map(([name, member]: [string, unknown]) => [
          name,
          visit(member, path === '' ? name : `${path}.${name}`),
        ]),
    );
  return visit(value, '');
}

const isPlain = (value: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(value);
  // Another realm has its own Object.
  return prototype === null || Object.getPrototypeOf(prototype) === null;
};

/** The loader gives the files a copy of the package's classes, so `instanceof` knows nothing. */
const isConstruct = (value: object): value is { kind: string; logicalId: string } =>
  !isPlain(value) &&
  'kind' in value &&
  typeof value.kind === 'string' &&
  'logicalId' in value &&
  typeof value.logicalId === 'string';
