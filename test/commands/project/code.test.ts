import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Command } from '../../../src/commands/command.ts';
import { apply, plan } from '../../../src/commands/project/apply.ts';
import { loadCode } from '../../../src/commands/project/code/load.ts';
import { validate } from '../../../src/commands/project/validate.ts';
import * as constructs from '../../../src/constructs/constructs.ts';
import { resourceTypes } from '../../../src/service/projects/kinds.ts';
import { builtProgram } from '../../helpers/build.ts';
import { anyDatabase } from '../../helpers/service/database.ts';
import { idleBackground } from '../../helpers/service/one-of-everything.ts';
import { startTestService, type TestService } from '../../helpers/service/service.ts';

/** Projects in TypeScript: the same plan as in YAML, and clear errors of files that throw or never finish. */

const root = resolve(import.meta.dirname, '../../..');
/** Files compile for seconds while other tests run. */
const patientMs = 120_000;

// The process that loads files is a compiled one.
beforeAll(async () => void (await builtProgram()), 180_000);
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'project-code-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function write(files: { [name: string]: string }, into = folder): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(into, name)), { recursive: true });
    writeFileSync(join(into, name), text);
  }
}

const script = "import { test } from '@playwright/test';\ntest('home', () => undefined);\n";

const yaml = {
  'project.yaml': 'logicalId: shop\nprojectName: Shop\nchecks:\n  locations: [eu-west-1]\n',
  'all.yaml': `kind: alert-channel
logicalId: mail
type: EMAIL
config: { address: ops@shop.example }
---
kind: check-group
logicalId: pages
name: Pages
---
kind: variable
logicalId: token
key: TOKEN
value: { env: SHOP_TOKEN }
secret: true
---
kind: check
logicalId: home
checkType: BROWSER
name: Home
scriptFile: ./scripts/home.spec.ts
groupId: { ref: pages }
---
kind: check
logicalId: cart
checkType: URL
name: Cart
frequency: 5
request: { url: "https://shop.example/cart" }
alertChannelSubscriptions: [{ alertChannelId: { ref: mail }, activated: true }]
`,
  'scripts/home.spec.ts': script,
};

const typescript = {
  'project.check.ts': `import { Project } from 'private-location-agent';
new Project('shop', { projectName: 'Shop', checks: { locations: ['eu-west-1'] } });
`,
  'shared/channels.ts': `import { AlertChannel } from 'private-location-agent';
export const mail = new AlertChannel('mail', { type: 'EMAIL', config: { address: 'ops@shop.example' } });
`,
  'shop.check.ts': `import { Check, CheckGroup, Variable, env } from 'private-location-agent';
import { mail } from './shared/channels';

enum Minutes { Five = 5 }
export default async (): Promise<void> => {
  const name: string = await Promise.resolve('Cart');
  new Variable('token', { key: 'TOKEN', value: env('SHOP_TOKEN'), secret: true });
  const pages = new CheckGroup('pages', { name: 'Pages' });
  new Check('home', { checkType: 'BROWSER', name: 'Home', scriptFile: './scripts/home.spec.ts', groupId: pages });
  new Check('cart', {
    checkType: 'URL',
    name,
    frequency: Minutes.Five,
    request: { url: 'https://shop.example/cart' },
    alertChannelSubscriptions: [{ alertChannelId: mail, activated: true }],
  });
};
`,
  // Loaded after the file that imports the same module: it is constructed once.
  'z.check.js': `import { mail } from './shared/channels';
export const again = mail;
`,
  'scripts/home.spec.ts': script,
};

describe('against a service', () => {
  let api: TestService;
  beforeAll(async () => {
    const db = await anyDatabase.open();
    api = await startTestService(db, { background: await idleBackground(db) });
  });
  afterAll(async () => {
    await api.close();
    await anyDatabase.close();
  });

  async function run(command: Command, args: readonly string[]) {
    let [stdout, stderr] = ['', ''];
    const code = await command([folder, ...args], {
      env: { ...process.env, SERVICE_URL: api.url, SERVICE_API_KEY: api.account.key, SHOP_TOKEN: 'a-secret' },
      stdout: (text) => (stdout += text),
      stderr: (text) => (stderr += text),
    });
    return { code, stdout, stderr };
  }
  const planned = async (files: { [name: string]: string }) => {
    rmSync(folder, { recursive: true, force: true });
    write(files);
    const { stdout, stderr } = await run(plan, ['--json']);
    expect(stderr).toBe('');
    // Numbers of resources that a plan creates are not given again.
    const text = stdout.replaceAll(
      /("(?:physicalId|alertChannelId)"|"property":"groupId","before":null,"after"):"?[^",}]+"?/g,
      '$1:0',
    );
    return (JSON.parse(text) as { diff: { logicalId: string }[] }).diff;
  };

  test(
    'the plan of a project in TypeScript is that of the project in YAML',
    async () => {
      const diff = await planned(yaml);
      expect(diff.map(({ logicalId }) => logicalId)).toEqual(['mail', 'pages', 'cart', 'home', 'token']);
      expect(await planned(typescript)).toEqual(diff);
      const applied = await run(apply, []);
      expect([applied.code, applied.stderr]).toEqual([0, expect.not.stringContaining('a-secret')]);
      expect(await run(plan, [])).toMatchObject({ code: 0, stdout: 'no changes\n' });
      write(yaml);
      for (const name of ['project', 'shop']) rmSync(join(folder, `${name}.check.ts`));
      rmSync(join(folder, 'z.check.js'));
      expect(await run(plan, [])).toMatchObject({ code: 0, stdout: 'no changes\n' });
    },
    patientMs,
  );
});

test('there is a class for each kind of resource', () => {
  const classes = Object.keys(constructs).filter((name) => /^[A-Z]/.test(name) && name !== 'Project');
  const kebab = (name: string) => name.replaceAll(/(?<!^)[A-Z]/g, '-$&').toLowerCase();
  expect(classes.map(kebab).sort()).toEqual([...resourceTypes].sort());
});

describe('files that go wrong', () => {
  const head = "import { Check, Project } from 'private-location-agent';\nnew Project('shop');\n";
  const problemsOf = async (text: string, limitMs = 60_000, env: { [name: string]: string } = {}) => {
    write({ 'a.check.ts': text });
    let printed = '';
    const stderr = (line: string) => (printed += line);
    const files = ['a.check.ts'];
    const { problems } = await loadCode({ folder, files, env: { ...process.env, ...env }, stderr, limitMs });
    return { problems, printed };
  };

  test.each([
    [
      'throws',
      `${head}\nfunction fail(): never {\n  throw new Error('no such page');\n}\nfail();`,
      'a.check.ts:5: no such page',
    ],
    ['has a mistake in its syntax', `${head}const = 1;\n`, /^a\.check\.ts:3: ParseError/],
    ['imports what is not there', `import './none';`, /^a\.check\.ts.*: Cannot find module '\.\/none'/],
    ['exits', `${head}process.exit(3);`, 'a.check.ts: ended the process with exit code 3'],
    [
      'awaits for ever',
      'export default () => new Promise(() => undefined);',
      /^a\.check\.ts: ended early: it awaits/,
    ],
    [
      'gives a function as a field',
      `${head}new Check('a', { checkType: 'URL', name: (() => 'a') as never, request: { url: 'x' } });`,
      'a.check.ts:3: name is a function: give a plain value',
    ],
    [
      'gives a value that contains itself',
      `${head}const a: any = {};\na.a = a;\nnew Check('a', a);`,
      'a.check.ts:5: a contains itself, or is nested too deeply',
    ],
  ])(
    'a file that %s',
    async (_what, text, problem) => {
      const { problems } = await problemsOf(text);
      expect(problems).toEqual([typeof problem === 'string' ? problem : expect.stringMatching(problem)]);
    },
    patientMs,
  );

  test(
    'an endless loop is ended, and its line is named',
    async () => {
      const { problems } = await problemsOf(`${head}\nlet turns = 0;\nfor (;;) {\n  turns += 1;\n}\n`, 5_000);
      expect(problems).toEqual([
        expect.stringMatching(/^a\.check\.ts:[56]: does not finish within 5 s: correct the loop/),
      ]);
    },
    patientMs,
  );

  test(
    'no key is in the environment of the files, and what they print is passed on',
    async () => {
      const text =
        "console.log(`${process.env['SERVICE_API_KEY']} ${process.env['S3_SECRET_ACCESS_KEY']} ${process.env['SHOP']}\\u001b[31m`);";
      const { printed, problems } = await problemsOf(text, 60_000, {
        SERVICE_API_KEY: 'the-key',
        S3_SECRET_ACCESS_KEY: 'of-the-bucket',
        SHOP: 'here',
      });
      expect([printed, problems]).toEqual(['undefined undefined here [31m\n', []]);
    },
    patientMs,
  );

  test(
    'validate names file, line and field',
    async () => {
      write({
        'a.check.ts': `${head}\nnew Check('a', { checkType: 'URL', nmae: 'A', request: { url: 'x' } } as never);\nnew Check('a', { checkType: 'URL', name: 'B', request: { url: 'x' } });`,
        'project.yaml': 'logicalId: other\n',
      });
      let printed = '';
      const stderr = (line: string) => (printed += line);
      expect(await validate([folder], { env: process.env, stdout: stderr, stderr })).toBe(1);
      expect(printed.trim().split('\n').sort()).toEqual([
        'a.check.ts:2: the project is also in project.yaml:1: remove one of them',
        'a.check.ts:4: name is required',
        expect.stringMatching(/^a\.check\.ts:4: nmae is not a known field/),
        'a.check.ts:5: logicalId a is also in a.check.ts:4: choose another one',
      ]);
    },
    patientMs,
  );
});

test(
  'the packed package has types that compile, and can be imported',
  () => {
    const pack = spawnSync('npm', ['pack', '--ignore-scripts', '--pack-destination', folder], {
      cwd: root,
      encoding: 'utf8',
    });
    expect([pack.status, pack.status === 0 ? '' : pack.stderr]).toEqual([0, '']);
    const archive = readdirSync(folder).find((name) => name.endsWith('.tgz')) ?? '';
    const parts = ['package/package.json', 'package/schemas', 'package/dist/constructs'];
    expect(spawnSync('tar', ['-xzf', archive, ...parts], { cwd: folder }).status).toBe(0);
    mkdirSync(join(folder, 'node_modules'));
    symlinkSync(join(folder, 'package'), join(folder, 'node_modules/private-location-agent'));
    write({
      'package.json': '{"type":"module"}',
      'shop.check.ts': `${typescript['shop.check.ts'].replace('./shared/channels', './shared/channels.ts')}
const group = new CheckGroup('g', { name: 'G' });
// @ts-expect-error -- a group is no channel
new Check('a', { checkType: 'URL', name: 'A', request: { url: 'x' }, alertChannelSubscriptions: [{ alertChannelId: group, activated: true }] });
// @ts-expect-error -- no field of a URL check
new Check('b', { checkType: 'URL', name: 'B', request: { url: 'x' }, script: 'x' });
// @ts-expect-error -- it has no name
new Check('c', { checkType: 'URL', request: { url: 'x' } });
new Check('d', { member: false, physicalId: '0f0e' });
`,
      'shared/channels.ts': typescript['shared/channels.ts'],
      'tsconfig.json': JSON.stringify({
        compilerOptions: {
          strict: true,
          noEmit: true,
          module: 'nodenext',
          target: 'es2022',
          types: [],
          allowImportingTsExtensions: true,
          skipLibCheck: false,
          exactOptionalPropertyTypes: true,
        },
        include: ['*.check.ts'],
      }),
    });
    const tsc = spawnSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', folder], {
      encoding: 'utf8',
    });
    expect([tsc.stdout, tsc.status]).toEqual(['', 0]);
    const text =
      "import { Check, env } from 'private-location-agent'; console.log(new Check('a', {}).kind, env('A').env);";
    const imported = spawnSync(process.execPath, ['--input-type=module', '-e', text], {
      cwd: folder,
      encoding: 'utf8',
    });
    expect([imported.stdout, imported.stderr]).toEqual(['check A\n', '']);
  },
  patientMs,
);
