import Type, { type TSchema } from 'typebox';
import { Nullable, StringEnum, IntegerEnum } from '../../../protocol/schema.ts';
import { BundleKey, suiteBrowsers, suiteMinutes } from '../../../protocol/suite.ts';
import { suiteEngines } from '../../../protocol/suite-engines.ts';
import { defaultFrequency, frequenciesOf } from '../schedule/rules.ts';

/** Fields of checks that are Playwright suites (facts, 2.10 and 6). */

const ListOf = <S extends TSchema>(item: S, maxItems: number, description: string) =>
  Type.Array(item, { maxItems, default: [], description });

export const suiteFields = {
  doubleCheck: Type.Boolean({
    default: false,
    deprecated: true,
    description: 'Not for suites: Playwright retries tests itself.',
  }),
  frequency: IntegerEnum(frequenciesOf.PLAYWRIGHT, {
    default: defaultFrequency,
    description: 'Minutes between runs.',
  }),
  codeBundlePath: Type.Union([BundleKey], {
    description: 'Key of the code bundle, from POST /v1/playwright-bundles.',
  }),
  installCommand: Nullable(Type.String({ minLength: 1, maxLength: 4096 }), {
    default: null,
    description: 'Null = chosen by the lock file.',
  }),
  testCommand: Nullable(Type.String({ minLength: 1, maxLength: 4096 }), {
    default: null,
    description:
      'Null = `playwright test` of the package manager; config, projects and tags are added to it.',
  }),
  playwrightConfigPath: Nullable(Type.String({ minLength: 1, maxLength: 512 }), {
    default: null,
    description: "Relative to workingDir. Null = Playwright's own search.",
  }),
  pwProjects: ListOf(Type.String({ minLength: 1, maxLength: 256 }), 50, 'Projects to run; none = all.'),
  pwTags: ListOf(
    Type.String({ minLength: 1, maxLength: 512 }),
    50,
    'Tests with any of these: each a tag, or several with spaces between that a test must all have.',
  ),
  workingDir: Type.String({
    maxLength: 512,
    default: '',
    description: 'Folder of the bundle in which everything runs; empty = its root.',
  }),
  engine: Nullable(StringEnum(suiteEngines), { default: null, description: 'Null = node.' }),
  engineVersion: Nullable(Type.String({ minLength: 1, maxLength: 32 }), {
    default: null,
    description: 'Null = the default of the engine.',
  }),
  browsers: ListOf(
    StringEnum(suiteBrowsers),
    suiteBrowsers.length,
    'Browsers to have ready besides those that the config names.',
  ),
  maxRunMinutes: Type.Integer({
    minimum: 1,
    maximum: suiteMinutes.maximum,
    default: suiteMinutes.default,
    description: 'Minutes that a run may take.',
  }),
};
