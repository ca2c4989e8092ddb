import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { SuiteFailed } from '../../../../src/script/suite/place/place.ts';
import {
  privatePackage,
  privateProject,
  startPrivateRegistry,
  type PrivateRegistry,
  type RegistryMood,
} from '../../../helpers/suites/private-registry.ts';
import {
  cacheIn,
  dataFolder,
  enginesHere,
  placeOf,
  runOf,
  type RunOf,
} from '../../../helpers/suites/suite-install.ts';

/**
 * Packages that only who shows a token gets, from a registry that only who trusts the agent's authorities reaches: every manager
 * installs them with what the check and the agent say, and says clearly what is wrong otherwise.
 */

const token = 'npm_token-of-the-check/7741+walnut==';
const managers = ['npm', 'pnpm', 'yarn-classic', 'yarn-modules', 'yarn-pnp', 'bun'] as const;
type Manager = (typeof managers)[number];

const open: PrivateRegistry[] = [];
async function startRegistry(mood: RegistryMood = 'answers'): Promise<PrivateRegistry> {
  const registry = await startPrivateRegistry(token);
  registry.mood = mood;
  open.push(registry);
  return registry;
}
afterAll(() => Promise.all(open.map((each) => each.close())));
afterAll(() => rmSync(dataFolder, { recursive: true, force: true }));

/** A run of a project that needs the private package, with the token as a variable of its check. */
function prepare(
  manager: Manager,
  options: Partial<RunOf> & { registry: PrivateRegistry; trusted?: boolean },
) {
  const { registry, trusted = true, ...more } = options;
  const place = placeOf(null);
  for (const [path, text] of Object.entries(privateProject(manager, registry))) {
    mkdirSync(dirname(join(place.project, path)), { recursive: true });
    writeFileSync(join(place.project, path), text);
  }
  const authorities = join(place.root, 'ca.pem');
  writeFileSync(authorities, registry.authority);
  const run = runOf({
    place,
    env: { NPM_TOKEN: token },
    beneath: trusted ? { NODE_EXTRA_CA_CERTS: authorities } : {},
    ...more,
  });
  return { ...run, place, lines: () => run.log.map(({ msg }) => msg).join('\n') };
}

async function failureOf(run: ReturnType<typeof prepare>): Promise<Error> {
  const error: unknown = await run.install().then(
    () => expect.fail('it was installed'),
    (thrown: unknown) => thrown,
  );
  return error as Error; // what rejects is one
}

const reasonOf = (error: Error) => (error instanceof SuiteFailed ? error.reason : expect.fail(String(error)));

/** The files below these folders that hold the text. */
function filesWith(text: string, ...folders: string[]): string[] {
  return folders.flatMap((folder) =>
    readdirSync(folder, { withFileTypes: true, recursive: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .filter((file) => readFileSync(file).includes(text)),
  );
}

const ask = `-p "require('${privatePackage.name}')"`;

describe.skipIf(enginesHere.length === 0).concurrent('a private registry', { timeout: 60_000 }, () => {
  /** The message of a failed install of each. */
  const failures = (
    names: readonly Manager[],
    options: Partial<RunOf> & { registry: PrivateRegistry; trusted?: boolean },
  ) =>
    Promise.all(
      names.map(async (manager) => ({ manager, error: await failureOf(prepare(manager, options)) })),
    );
  const each = ['npm', 'pnpm', 'yarn-classic', 'yarn-modules', 'bun'] as const;

  // First, since it mostly waits.
  test('a registry that hangs or sends a byte a second: the stage and the registry are named', async () => {
    const [hanging, trickling] = [await startRegistry('hangs'), await startRegistry('trickles')];
    const timeoutMs = 4000;
    const failed = await Promise.all([
      failures(['npm', 'yarn-classic', 'bun'], { registry: hanging, timeoutMs }),
      failures(['npm', 'pnpm', 'yarn-modules'], { registry: trickling, timeoutMs }),
    ]);
    for (const [index, { host }] of [hanging, trickling].entries())
      for (const { manager, error } of failed[index] ?? []) {
        const { code, message } = reasonOf(error);
        expect(code).toBe('INSTALL_FAILED');
        expect(message, manager).toMatch(
          /^the install command did not finish within 4 s, in stage install: /,
        );
        expect(message, manager).toContain(
          `packages are fetched from https://${host}/: check that it answers`,
        );
      }
  });

  test.each(managers)('%s: the token arrives, and is stored nowhere', async (manager) => {
    const registry = await startRegistry();
    const folder = join(dataFolder, `cache-${manager}`);
    const { cache } = cacheIn(folder);
    const run = prepare(manager, { registry, cache });
    const installed = await run.install().catch((error: unknown) => {
      throw new Error(run.lines(), { cause: error });
    });
    const yarn = manager.startsWith('yarn-') ? `yarn ${manager === 'yarn-classic' ? '-s ' : ''}` : '';
    expect(await run.say(`${yarn}node ${ask}`)).toBe('widget 1.2.3');
    await installed.keep();
    expect([...registry.shown]).toEqual([`Bearer ${token}`]);
    expect(registry.asked).toContain(`GET /${privatePackage.name}/-/widget-1.2.3.tgz 200`);
    expect(run.lines()).not.toContain(token);
    expect(filesWith(token, run.place.root, folder)).toEqual([]);

    // From the cache, the registry is not asked again.
    const count = registry.asked.length;
    const again = prepare(manager, { registry, cache, env: { NPM_TOKEN: 'another' } });
    expect((await again.install()).dependencyCache).toBe('hit');
    expect(await again.say(`${yarn}node ${ask}`)).toBe('widget 1.2.3');
    expect(registry.asked.length).toBe(count);
  });

  test('a value that it refuses: the registry is named, and the variable', async () => {
    const registry = await startRegistry();
    const env = { NPM_TOKEN: 'of-last-year' };
    for (const { manager, error } of await failures(each, { registry, env })) {
      const { code, message } = reasonOf(error);
      expect(code).toBe('INSTALL_FAILED');
      expect(message, manager).toContain(
        `\nthe registry https://${registry.host} rejected this check's credentials (401): check the value of NPM_TOKEN in ` +
          "the check's variables, and its read permissions\n",
      );
    }
  });

  test('a variable that the check does not have', async () => {
    const registry = await startRegistry();
    // Without it, pnpm leaves .npmrc aside as a whole, and asks another registry.
    const beneath = { npm_config_registry: 'http://127.0.0.1:9/', npm_config_fetch_retries: '0' };
    for (const { manager, error } of await failures(each, { registry, env: {}, beneath, trusted: true })) {
      const file = manager === 'yarn-modules' ? '.yarnrc.yml' : '.npmrc';
      expect(error.message, manager).toContain(
        `${file} needs NPM_TOKEN, which the check does not have: add it to the check's variables`,
      );
    }
  });

  test('an unknown certificate authority is our fault, with the variable of the agent', async () => {
    const registry = await startRegistry();
    const beneath = { npm_config_fetch_retries: '0' };
    for (const { manager, error } of await failures(each, { registry, beneath, trusted: false })) {
      expect(error, manager).toMatchObject({ code: 'NETWORK_UNAVAILABLE' });
      expect(error.message, manager).toContain(
        'set NODE_EXTRA_CA_CERTS of the agent to a file of authorities',
      );
      expect(error.message, manager).toContain(`https://${registry.host}`);
    }
    expect(registry.asked).toEqual([]);
  });
});
