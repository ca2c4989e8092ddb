import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { Environment } from '../../config/read.ts';
import { exitCodes, FatalError } from '../../errors.ts';
import { isFields, type Fields } from '../../json-values.ts';
import { withTexts } from './text-files.ts';

/** A check as `plan` and `apply` read it, as a body that creates one. */

/** Fields that name what exists only in a service, or that say nothing about a run. */
const leftOut: readonly string[] = [
  'kind',
  'logicalId',
  'physicalId',
  'member',
  'protected',
  'groupId',
  'locations',
  'privateLocations',
  'alertChannelSubscriptions',
  'triggerIncident',
];

type Source = { path: string; env: Environment };

/** The body in a file of a project; any other value is returned as it is. Throws FatalError (64). */
export async function ofProject(value: unknown, { path, env }: Source): Promise<unknown> {
  if (!isFields(value) || (value['kind'] !== 'check' && value['logicalId'] === undefined)) return value;
  const own = Object.fromEntries(Object.entries(value).filter(([name]) => !leftOut.includes(name)));
  const body = await withTexts(own, async ({ path: field, file }) => {
    const text = await readFile(resolve(dirname(path), String(file)), 'utf8').catch(() => null);
    if (text === null)
      throw wrong(path, `${field.join('.')} names no file (${String(file)}): correct the path`);
    return text;
  });
  return withVariables(body, { path, env }, '');
}

/** `{env: NAME}` stands for the value of an environment variable. */
function withVariables(value: unknown, source: Source, at: string): unknown {
  if (Array.isArray(value))
    return value.map((item: unknown, index) => withVariables(item, source, `${at}${index}.`));
  if (!isFields(value)) return value;
  const name = value['env'];
  if (typeof name === 'string' && Object.keys(value).length === 1) {
    const text = source.env[name];
    if (text !== undefined && text !== '') return text;
    throw wrong(source.path, `${at.slice(0, -1)} needs the environment variable ${name}: set it`);
  }
  const entries = Object.entries(value).map(([field, member]): [string, unknown] => [
    field,
    withVariables(member, source, `${at}${field}.`),
  ]);
  return Object.fromEntries(entries) as Fields;
}

const wrong = (path: string, problem: string) =>
  new FatalError('CONFIGURATION', `${path} is not a valid check: ${problem}`, { exitCode: exitCodes.usage });
