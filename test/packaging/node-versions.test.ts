import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';

/** The oldest Node that `engines` promises is one that each production dependency accepts. */

type Locked = {
  version?: string;
  dev?: boolean;
  optional?: boolean;
  devOptional?: boolean;
  engines?: { node?: string };
};
const root = resolve(import.meta.dirname, '../..');
const { packages } = JSON.parse(readFileSync(resolve(root, 'package-lock.json'), 'utf8')) as {
  packages: Record<string, Locked>;
}; // npm's own file

type Numbers = [number, number, number];
const numbers = (text: string): Numbers => {
  const [major = 0, minor = 0, patch = 0] = text.split('.').map((part) => parseInt(part, 10) || 0);
  return [major, minor, patch];
};
const compare = (a: Numbers, b: Numbers) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2];

/** Whether a version satisfies a range, in the forms that packages use here. */
function satisfies(version: string, range: string): boolean {
  const given = numbers(version);
  return range.split('||').some((alternative) =>
    alternative
      .trim()
      .replace(/(>=|<=|[<>^~=])\s+/g, '$1')
      .split(/\s+/)
      .every((part) => {
        const [, sign = '', text = ''] = /^(>=|<=|[<>^~=]?)v?(.*)$/.exec(part) ?? [];
        if (text === '' || text === '*') return true;
        const wanted = numbers(text);
        const order = compare(given, wanted);
        const parts = text.split('.').filter((each) => /^\d+$/.test(each)).length;
        if (sign === '>=') return order >= 0;
        if (sign === '<=') return order <= 0;
        if (sign === '>') return order > 0;
        if (sign === '<') return order < 0;
        if (sign === '^') return order >= 0 && given[0] === wanted[0];
        if (sign === '~') return order >= 0 && given[0] === wanted[0] && given[1] === wanted[1];
        return wanted.slice(0, parts).every((each, index) => each === given[index]);
      }),
  );
}

test.each([
  ['20.19.0', '^18.17.0 || >=20.5.0', true],
  ['20.19.0', '>=22', false],
  ['20.19.0', '>= 20.20.0', false],
  ['20.19.0', '20 || >=22', true],
  ['20.19.0', '>=14 <20', false],
])('Node %s in %s: %s', (version, range, expected) => {
  expect(satisfies(version, range)).toBe(expected);
});

test('every production dependency runs on the oldest promised Node, and on the tested ones', () => {
  const [, oldest = ''] = /^>=(\d+\.\d+\.\d+)$/.exec(packages['']?.engines?.node ?? '') ?? [];
  expect(oldest).not.toBe('');
  const production = Object.entries(packages).filter(
    ([path, { dev, devOptional }]) => path !== '' && !dev && !devOptional,
  );
  expect(production.length).toBeGreaterThan(100);
  const refusing = production.flatMap(([path, { version = '', engines }]) =>
    [oldest, '22.12.0', '24.0.0', '26.0.0']
      .filter((node) => engines?.node !== undefined && !satisfies(node, engines.node))
      .map((node) => `${path} ${version} refuses Node ${node} (${engines?.node})`),
  );
  expect(refusing).toEqual([]);
});
