import type { SuiteType } from '../../../protocol/check-types.ts';
import { posix } from 'node:path';
import { engineVersions } from '../../../protocol/suite-engines.ts';
import type { CreateBody } from '../fields/schema.ts';
import { settleShared, type SettledCheck } from './rules.ts';
import { type Problems } from '../../http/problems.ts';

/** Rules between the fields of Playwright suites. */

/** A suite after validation: no null lists, all defaults filled in. */
export type SettledSuite = Omit<
  CreateBody<'PLAYWRIGHT'>,
  'locations' | 'privateLocations' | 'environmentVariables'
> &
  Pick<SettledCheck, 'locations' | 'privateLocations' | 'environmentVariables'>;

/** Refuses fields that other types have and suites do not, if the body sets them. */
function checkInapplicable(body: CreateBody<'PLAYWRIGHT'>, problems: Problems): void {
  const retries = 'is not for suites: set retries in the Playwright config';
  if (body.retryStrategy !== null) problems.add('retryStrategy', `${retries} (must be null)`);
  if (body.doubleCheck) problems.add('doubleCheck', `${retries} (must be false)`);
  if (body.shouldFail) {
    problems.add('shouldFail', 'is not for suites: mark tests that must fail with test.fail()');
  }
  if (body.runtimeId !== null) {
    problems.add('runtimeId', 'is not for suites: they bring their own packages (must be null)');
  }
  const phases = ['setupSnippetId', 'tearDownSnippetId', 'localSetupScript', 'localTearDownScript'] as const;
  for (const phase of phases) {
    if (body[phase] === null || body[phase] === '') continue;
    problems.add(phase, "is not for suites: use Playwright's globalSetup and globalTeardown (must be null)");
  }
}

function checkEngine({ engine, engineVersion }: CreateBody<'PLAYWRIGHT'>, problems: Problems): void {
  if (engineVersion === null) return;
  const name = engine ?? 'node';
  const allowed = engineVersions[name];
  const isVersion = /^\d{1,6}(\.\d{1,6}){0,2}$/.test(engineVersion);
  if (isVersion && allowed.some((one) => engineVersion === one || engineVersion.startsWith(`${one}.`)))
    return;
  problems.add(
    'engineVersion',
    `must be ${allowed.join(', ')} or a full version number of one of these with engine ${name}`,
  );
}

// oxlint-disable-next-line no-control-regex -- those characters are the subject
const control = /[\u0000-\u001f\u007f\u2028\u2029]/;
const controlReason = 'must not contain line breaks or other control characters';

/** Why a path cannot name a file in the bundle, relative to `from`; null = it can. The agent refuses the same paths. */
function placeProblem(path: string, from: string): string | null {
  if (control.test(path)) return controlReason;
  if (path.includes('\\') || posix.isAbsolute(path) || /^[A-Za-z]:/.test(path)) {
    return 'must be a relative path with forward slashes';
  }
  const normal = posix.normalize(posix.join(from, path));
  return normal === '..' || normal.startsWith('../') ? 'must not leave the code bundle' : null;
}

function checkPlaces(body: CreateBody<'PLAYWRIGHT'>, problems: Problems): void {
  const { workingDir, playwrightConfigPath: config } = body;
  const problem = placeProblem(workingDir, '');
  if (problem !== null) problems.add('workingDir', problem);
  if (config === null) return;
  const ofConfig = placeProblem(config, problem === null ? workingDir : '');
  if (ofConfig !== null) problems.add('playwrightConfigPath', ofConfig);
  else if (config.endsWith('/') || /(^|\/)\.{1,2}$/.test(config)) {
    problems.add('playwrightConfigPath', 'must name a file');
  }
}

function checkTexts(body: CreateBody<'PLAYWRIGHT'>, problems: Problems): void {
  for (const name of ['installCommand', 'testCommand'] as const) {
    const command = body[name];
    if (command === null) continue;
    if (control.test(command)) problems.add(name, controlReason);
    else if (command.trim() === '') problems.add(name, 'must name a command, or be null for the default');
  }
  for (const name of ['pwProjects', 'pwTags'] as const) {
    for (const [index, text] of body[name].entries()) {
      const where = `${name}.${index}`;
      if (control.test(text)) problems.add(where, controlReason);
      else if (text.trim() === '') problems.add(where, 'must not be blank');
    }
  }
}

/** Like settleCheck, for suites. */
export function settleSuite(
  type: SuiteType,
  body: CreateBody<'PLAYWRIGHT'>,
  problems: Problems,
): SettledSuite {
  checkInapplicable(body, problems);
  checkEngine(body, problems);
  checkPlaces(body, problems);
  checkTexts(body, problems);
  const { workingDir } = body;
  const settled = {
    ...body,
    // Null values, because checkInapplicable has already reported these fields.
    ...settleShared(type, { ...body, retryStrategy: null, ...noPhases }, problems),
    ...noPhases,
    workingDir: ['', '.', './'].includes(workingDir) ? '' : posix.normalize(workingDir).replace(/\/$/, ''),
    browsers: [...new Set(body.browsers)],
  };
  return settled as unknown as SettledSuite; // as in settleCheck
}

const noPhases = {
  setupSnippetId: null,
  tearDownSnippetId: null,
  localSetupScript: null,
  localTearDownScript: null,
};
