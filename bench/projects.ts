import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, cpus, tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { isFields, parsedJson } from '../src/json-values.ts';
import { postgresBinaries, startPostgres } from '../test/helpers/service/postgres.ts';

/**
 * The real commands on a project of 1,000 resources of many kinds in 1,000 files: apply into an empty account, a plan without
 * changes, and an export. With the embedded database, and with PostgreSQL where its binaries are.
 */

const limitSeconds = 10;
const main = resolve(import.meta.dirname, '../src/main.js');

/** How many there are of each kind; 1,000 in all. */
const numbers = { channels: 10, snippets: 20, variables: 40, groups: 20, windows: 10, checks: 900 };

const requests: readonly (readonly [string, string])[] = [
  ['URL', 'request: { url: "https://shop.example/%" }'],
  ['API', 'request: { url: "https://shop.example/%", headers: [{ key: a, value: b }] }'],
  ['TCP', 'request: { hostname: shop.example, port: 443 }'],
  ['DNS', 'request: { query: shop.example, recordType: A }'],
  ['ICMP', 'request: { hostname: shop.example }'],
  ['BROWSER', 'scriptFile: ./%.spec.ts'],
];

/** Name and text of each file. */
function files(): Map<string, string> {
  const all = new Map([
    ['project.yaml', 'logicalId: shop\nprojectName: Shop\nchecks:\n  locations: [eu-west-1]\n'],
  ]);
  const add = (kind: string, count: number, text: (number: number) => string) => {
    for (let number = 0; number < count; number++)
      all.set(
        `${kind}/${number}.yaml`,
        `kind: ${kind}\nlogicalId: ${kind}-${number}\n${text(number).replaceAll('%', String(number))}\n`,
      );
  };
  add('alert-channel', numbers.channels, () => 'type: EMAIL\nconfig: { address: ops%@shop.example }');
  add('snippet', numbers.snippets, () => 'name: snippet-%\nscript: console.log(%)');
  add('variable', numbers.variables, () => 'key: V_%\nvalue: "%"');
  add('check-group', numbers.groups, () => 'name: Group %');
  add(
    'maintenance-window',
    numbers.windows,
    () => 'name: Window %\nstartsAt: "2035-01-01T00:00:00.000Z"\nendsAt: "2035-01-01T01:00:00.000Z"',
  );
  add('check', numbers.checks, (number) => {
    const [type = '', request = ''] = requests[number % requests.length] ?? [];
    if (type === 'BROWSER')
      all.set(
        `check/${number}.spec.ts`,
        `import { test } from '@playwright/test';\ntest('${number}', () => undefined);\n`,
      );
    const group = `groupId: { ref: check-group-${number % numbers.groups} }`;
    const channel = `alertChannelSubscriptions: [{ alertChannelId: { ref: alert-channel-${number % numbers.channels} }, activated: true }]`;
    return `checkType: ${type}\nname: Check %\ntags: [shop]\n${group}\n${channel}\n${request}`;
  });
  return all;
}

type Service = { child: ChildProcess; env: { [name: string]: string } };

async function startService(dataDir: string, databaseUrl: string | null): Promise<Service> {
  const database =
    databaseUrl === null ? {} : { DATABASE_URL: databaseUrl, SERVICE_ENCRYPTION_KEY: 'key of a benchmark' };
  const child = spawn(process.execPath, [main, 'service'], {
    env: { ...process.env, SERVICE_DATA_DIR: dataDir, SERVICE_PORT: '0', LOG_LEVEL: 'WARN', ...database },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let line = '';
  for await (const chunk of child.stdout) if ((line += String(chunk)).includes('\n')) break;
  const ready = parsedJson(line);
  if (!isFields(ready)) throw new Error(`the service is not ready: ${line}`);
  const keys = parsedJson(readFileSync(String(ready['keysFile']), 'utf8'));
  const apiKey = isFields(keys) ? String(keys['apiKey']) : '';
  return { child, env: { SERVICE_URL: String(ready['serviceUrl']), SERVICE_API_KEY: apiKey } };
}

/** Runs a command to its end. Throws if it ends with another exit code. Returns seconds. */
async function timed(args: readonly string[], env: { [name: string]: string }): Promise<number> {
  const began = performance.now();
  const child = spawn(process.execPath, [main, ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let printed = '';
  child.stderr.on('data', (chunk) => (printed = (printed + String(chunk)).slice(-2000)));
  const [code]: unknown[] = await once(child, 'close');
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${String(code)}: ${printed}`);
  return Number(((performance.now() - began) / 1000).toFixed(2));
}

type Figures = { apply: number; planWithoutChanges: number; export: number };

async function measure(name: string, folder: string, databaseUrl: string | null): Promise<Figures> {
  const work = await mkdtemp(join(tmpdir(), 'location-agent-bench-'));
  const { child, env } = await startService(join(work, 'data'), databaseUrl);
  try {
    const apply = await timed(['apply', folder], env);
    const planWithoutChanges = await timed(['plan', folder], env);
    const exported = await timed(['export', join(work, 'exported')], env);
    const count = (await readdir(join(work, 'exported/checks'))).filter((file) =>
      file.endsWith('.yaml'),
    ).length;
    if (count !== numbers.checks) throw new Error(`${count} checks were exported`);
    const figures = { apply, planWithoutChanges, export: exported };
    for (const [step, seconds] of Object.entries(figures))
      console.log(`${name.padEnd(10)} ${step.padEnd(20)} ${seconds} s`);
    return figures;
  } finally {
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    await ended;
    await rm(work, { recursive: true, force: true });
  }
}

async function measureAll(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'location-agent-bench-'));
  for (const [name, text] of files()) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
  const figures: { [database: string]: Figures } = { embedded: await measure('embedded', folder, null) };
  const binaries = await postgresBinaries();
  if (binaries !== null) {
    const postgres = await startPostgres(binaries);
    figures['postgres'] = await measure('postgres', folder, postgres.url('postgres'));
    await postgres.stop();
  }
  await rm(folder, { recursive: true });
  const ours = Math.max(...Object.values(figures).flatMap((one) => Object.values(one)));
  const machine = `${availableParallelism()} x ${cpus()[0]?.model.trim() ?? 'unknown'}, Node ${process.versions.node}`;
  const ratio = Number((ours / limitSeconds).toFixed(2));
  console.log(
    JSON.stringify({
      name: 'projects',
      unit: 's',
      ours,
      peer: null,
      limit: limitSeconds,
      ratio,
      figures,
      machine,
    }),
  );
  process.exitCode = ratio <= 1 ? 0 : 1;
}

await measureAll();
