import Type from 'typebox';
import { Nullable, IntegerEnum } from '../../../protocol/schema.ts';
import { scriptBytes } from '../../../protocol/script.ts';
import { frequenciesOf, defaultFrequency } from '../schedule/rules.ts';

/** Fields of checks that are scripts (specification, "Browser check"; facts, 2.8 and 2.9). */

/** Limit of all files of a check together, in characters. With the script they fit into one body. */
export const dependenciesLength = 3 * 1024 * 1024;
/** Limit of the settings, in characters of JSON. */
export const playwrightConfigLength = 64 * 1024;

const Dependency = Type.Object({
  path: Type.String({
    minLength: 1,
    maxLength: 512,
    description: 'Relative to the folder of the script; must not leave it.',
  }),
  content: Type.String({ maxLength: scriptBytes }),
});

/** Files that scripts load. */
export const dependencies = Nullable(Type.Array(Dependency, { maxItems: 250 }), {
  default: [],
  description: 'Files that the script needs, 3 MiB together at most; shown with includeDependencies.',
});

/** Open, so that the rules can distinguish a setting that is not accepted from one that does not exist. */
export const playwrightConfig = Nullable(
  Type.Object(
    {
      timeout: Type.Optional(
        Type.Integer({ minimum: 1, maximum: 240_000, description: 'Milliseconds of one test.' }),
      ),
      use: Type.Optional(Type.Object({}, { additionalProperties: true })),
      expect: Type.Optional(Type.Object({}, { additionalProperties: true })),
    },
    { additionalProperties: true },
  ),
  {
    default: null,
    description: 'Settings of Playwright Test: timeout, use and expect. The others are set by the agent.',
  },
);

/** Fields of a script type. There are no response-time limits, because a script marks itself as degraded. */
export const scriptFields = {
  frequency: IntegerEnum(frequenciesOf.BROWSER, {
    default: defaultFrequency,
    description: 'Minutes between runs.',
  }),
  script: Nullable(Type.String({ minLength: 1, maxLength: scriptBytes }), {
    description:
      'Runs with @playwright/test of the runtime. Null = the file of dependencies that scriptPath names.',
  }),
  dependencies,
  playwrightConfig,
  sslCheckDomain: Nullable(
    Type.String({
      maxLength: 253,
      pattern: '^(?:[^\\s/@:?#]+(?::[0-9]{1,5})?)?$',
      description: 'a domain name, like shop.example, or one with a port',
    }),
    { default: null },
  ),
};
