import type { ScriptType } from '../../../protocol/check-types.ts';
import type { CreateBody } from '../fields/schema.ts';
import { settleShared, type SettledCheck } from './rules.ts';
import { type Problems } from '../../http/problems.ts';
import { checkDependencies, pathProblem } from './dependencies.ts';
import { playwrightConfigLength } from '../fields/scripts.ts';

/** Rules between the fields of script checks. */

/** A script check after validation: no null lists, all defaults filled in. */
export type SettledScriptCheck<T extends ScriptType = ScriptType> = Omit<
  CreateBody<T>,
  'locations' | 'privateLocations' | 'environmentVariables' | 'dependencies'
> &
  Pick<SettledCheck, 'locations' | 'privateLocations' | 'environmentVariables'> & {
    dependencies: { path: string; content: string }[];
  };

const settings: readonly string[] = ['timeout', 'use', 'expect'];
/** Settings of `use` that the agent sets, because it chooses the browser and the recordings. */
const agentsOwn: readonly string[] = [
  'browserName',
  'channel',
  'connectOptions',
  'defaultBrowserType',
  'headless',
  'launchOptions',
  'screenshot',
  'storageState',
  'trace',
  'video',
];

function checkPlaywrightConfig(config: CreateBody<'BROWSER'>['playwrightConfig'], problems: Problems): void {
  if (config === null) return;
  for (const name of Object.keys(config)) {
    if (settings.includes(name)) continue;
    problems.add(
      `playwrightConfig.${name.slice(0, 200)}`,
      `is not accepted: only ${settings.join(', ')} are, the agent sets the others`,
    );
  }
  for (const name of Object.keys(config.use ?? {})) {
    if (!agentsOwn.includes(name)) continue;
    problems.add(`playwrightConfig.use.${name}`, 'is not accepted: the agent sets it');
  }
  if (JSON.stringify(config).length > playwrightConfigLength) {
    problems.add('playwrightConfig', `must not be larger than ${playwrightConfigLength} characters of JSON`);
  }
}

/** Like settleCheck, for script checks. */
export function settleScriptCheck<T extends ScriptType>(
  type: T,
  body: CreateBody<T>,
  problems: Problems,
): SettledScriptCheck<T> {
  const given: CreateBody<ScriptType> = body;
  checkDependencies(given.dependencies, problems);
  checkPlaywrightConfig(given.playwrightConfig, problems);
  if (given.scriptPath !== null) {
    const problem = given.scriptPath === '' ? 'must name a file' : pathProblem(given.scriptPath);
    if (problem !== null) problems.add('scriptPath', problem);
    if (given.scriptPath.length > 512) problems.add('scriptPath', 'must have at most 512 characters');
  }
  const settled = {
    ...given,
    ...settleShared(type, given, problems),
    dependencies: given.dependencies ?? [],
  };
  return settled as unknown as SettledScriptCheck<T>; // as in settleCheck
}
