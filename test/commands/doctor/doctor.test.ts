import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Command } from '../../../src/commands/command.ts';
import { doctor } from '../../../src/commands/doctor/doctor.ts';
import {
  findingsTable,
  note,
  ok,
  problem,
  runProbes,
  type Finding,
} from '../../../src/commands/doctor/finding.ts';
import { runtimeRemedy } from '../../../src/commands/doctor/install.ts';
import { enginesRemedy } from '../../../src/script/suite/install/install-command.ts';
import { nodeVersion } from '../../../src/commands/doctor/machine.ts';
import { createAuthority } from '../../../src/targets/certificates.ts';
import { startHttpTarget, type HttpTarget } from '../../../src/targets/http-target.ts';
import { runtimesHere } from '../../helpers/scripts/runtimes.ts';
import { guardNames } from '../../../src/agent/metrics/guard-rules.ts';

let folder: string;
let service: HttpTarget;
let portal: HttpTarget;
let skewMs = 0;
const key = `pl_${'a'.repeat(32)}`;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'doctor-'));
  // Answers a renewal as the service does: with the key, or in the service's own words.
  service = await startHttpTarget({
    routes: {
      agent: ({ request, response }) => {
        const accepted = request.headers.authorization === `Bearer ${key}`;
        response.writeHead(accepted ? 200 : 401, {
          'content-type': 'application/json',
          date: new Date(Date.now() + skewMs).toUTCString(),
        });
        response.end(
          accepted
            ? JSON.stringify({ renewed: [], lost: [], cancel: [], leaseExpiresAt: new Date().toISOString() })
            : JSON.stringify({ message: 'no such key', attributes: {} }),
        );
      },
    },
  });
  portal = await startHttpTarget({
    routes: {
      agent: ({ response }) => {
        response.writeHead(401, { 'content-type': 'text/html' });
        response.end('<h1>Please log in</h1>');
      },
    },
  });
});
afterAll(async () => {
  await Promise.all([service.close(), portal.close()]);
  rmSync(folder, { recursive: true, force: true });
});

async function findings(
  env: Record<string, string>,
): Promise<{ code: number; byName: Record<string, Finding> }> {
  let out = '';
  const code = await doctor(['--json'], {
    env: { AGENT_DATA_DIR: folder, SERVICE_URL: service.url, ...env },
    stdout: (text) => (out += text),
    stderr: () => undefined,
  });
  const report = JSON.parse(out) as { healthy: boolean; findings: Finding[] };
  expect(report.healthy).toBe(code === 0);
  return { code, byName: Object.fromEntries(report.findings.map((finding) => [finding.name, finding])) };
}

test('with a service and its key, every part is checked', async () => {
  skewMs = 0;
  const { byName } = await findings({ API_KEY: key });
  expect(Object.keys(byName)).toEqual([
    'service',
    'key',
    'clock',
    'extra certificates',
    'name servers',
    'IPv4 route',
    'IPv6 route',
    'ICMP over IPv4',
    'ICMP over IPv6',
    'trusted authorities',
    'old TLS versions',
    'gRPC',
    'own network',
    'traceroute',
    'packet capture',
    'node',
    'cores',
    'memory',
    'file descriptors',
    'data directory',
    ...guardNames.map((name) => `guard ${name}`),
    'runtime 2026.04',
    'runtime 2025.04',
    'runtime 2024.09',
    'suite engines',
    ...runtimesHere.map(({ name }) => `browser ${name}`),
    'script isolation',
    'script reach',
  ]);
  expect(byName['service']).toMatchObject({ status: 'ok', message: `${service.url} directly` });
  expect(byName['key']).toMatchObject({ status: 'ok', message: 'accepted' });
  expect(byName['clock']).toMatchObject({ status: 'ok', message: 'agrees with the service' });
  expect(byName['traceroute']).toMatchObject({ status: 'ok', message: 'without privileges, by TCP and UDP' });
  expect(byName['packet capture']).toMatchObject(
    byName['packet capture']?.status === 'ok'
      ? { message: 'packet sockets (NET_RAW)', remedy: null }
      : { status: 'note', message: expect.stringContaining('NET_RAW') as string },
  );
  expect(byName['node']).toMatchObject({ status: 'ok', message: process.versions.node });
  expect(byName['data directory']?.message).toContain(folder);
  expect(byName['guard descriptors']).toMatchObject({
    status: 'ok',
    message: expect.stringMatching(/^\d+ of \d+ in use; raised at: more than 92%$/) as string,
  });
  expect(byName['guard clock']).toMatchObject({ status: 'note', message: 'see the line "clock"' });
  expect(byName['own network']?.message).toMatch(/the service 127\.0\.0\.1 accepts connections/);
});

test('a refused key, a wrong clock, a missing file of certificates', async () => {
  skewMs = 3_600_000;
  const { code, byName } = await findings({
    API_KEY: `pl_${'b'.repeat(32)}`,
    NODE_EXTRA_CA_CERTS: join(folder, 'none.pem'),
  });
  expect(code).toBe(1);
  expect(byName['service']?.status).toBe('ok');
  expect(byName['key']).toMatchObject({ status: 'problem', message: 'rejected by the service' });
  expect(byName['clock']?.status).toBe('problem');
  expect(byName['clock']?.message).toMatch(/^(3599|3600)\.\d s behind the service$/);
  expect(byName['extra certificates']?.status).toBe('problem');
});

test('a file of certificates is counted', async () => {
  const file = join(folder, 'ca.pem');
  const authorities = await Promise.all(['x', 'y'].map((commonName) => createAuthority({ commonName })));
  writeFileSync(file, authorities.map(({ certificate }) => certificate.cert).join(''));
  const { byName } = await findings({ NODE_EXTRA_CA_CERTS: file });
  expect(byName['extra certificates']).toMatchObject({ status: 'ok', message: `2 in ${file}` });
  expect(byName['key']).toMatchObject({ status: 'note', message: 'API_KEY is not set' });
});

test('a service that is not there, or is something else', async () => {
  const gone = await startHttpTarget();
  await gone.close();
  const away = await findings({ SERVICE_URL: gone.url, API_KEY: key });
  expect(away.code).toBe(1);
  expect(away.byName['service']?.message).toContain('ECONNREFUSED');
  expect(away.byName['key']?.status).toBe('note');
  const wrong = await findings({ SERVICE_URL: portal.url, API_KEY: key });
  expect(wrong.byName['service']?.message).toBe(
    `${portal.url} directly: something other than the service answered with status 401`,
  );
});

test('the proxy is named without its password', async () => {
  const { byName } = await findings({
    HTTP_PROXY: `http://user:secret@127.0.0.1:${portal.port}`,
    API_KEY: key,
  });
  expect(byName['service']?.message).toContain(`through the proxy 127.0.0.1:${portal.port}`);
  expect(JSON.stringify(byName)).not.toContain('secret');
});

test('a data directory that can not be written is a finding', async () => {
  const file = join(folder, 'a-file');
  writeFileSync(file, '');
  const { byName } = await findings({ AGENT_DATA_DIR: join(file, 'below') });
  expect(byName['data directory']).toMatchObject({ status: 'problem' });
});

test.skipIf(runtimesHere.length === 0)('an unwritable folder for temporary files is reported', async () => {
  const before = process.env['TMPDIR'];
  process.env['TMPDIR'] = join(folder, 'nowhere');
  try {
    const { byName } = await findings({});
    const browser = byName[`browser ${runtimesHere[0]?.name}`];
    // Where there is no Chromium that is what it says.
    if (browser?.status !== 'problem')
      expect(browser).toMatchObject({
        status: 'note',
        remedy: expect.stringContaining('--tmpfs /tmp') as string,
      });
  } finally {
    if (before === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = before;
  }
});

test('probes have a time limit, and one that throws does not hide the others', async () => {
  const forever = () => new Promise<never>(() => undefined);
  const found = await runProbes(
    [
      { name: 'slow', run: forever },
      { name: 'broken', run: () => Promise.reject(new Error('oops')) },
      { name: 'good', run: () => Promise.resolve(ok('fine')) },
    ],
    50,
  );
  expect(found.map(({ name, status, message }) => [name, status, message])).toEqual([
    ['slow', 'problem', 'no answer within 0.05 s'],
    ['broken', 'problem', 'the probe failed: oops'],
    ['good', 'ok', 'fine'],
  ]);
});

test('the table is aligned and has the count in its last line', () => {
  expect(
    findingsTable([
      { name: 'a', ...ok('fine') },
      { name: 'long', ...problem('bad', 'mend it') },
      { name: 'b', ...note('hm') },
    ]),
  ).toBe(
    'ok       a     fine\nPROBLEM  long  bad\n               → mend it\nnote     b     hm\n\n1 problem found\n',
  );
});

test('without SERVICE_URL, a missing service is a note, and the key of another program is ignored', async () => {
  const { byName } = await findings({ SERVICE_URL: '', API_KEY: 'sk-of-another-program' });
  expect(byName['service']).toMatchObject({
    status: 'note',
    message: expect.stringMatching(/^not checked, because SERVICE_URL is not set/) as string,
    remedy: 'set SERVICE_URL to check it',
  });
  expect(byName['key']).toMatchObject({ status: 'note', message: 'API_KEY is not set' });
});

test('with SERVICE_URL, a key that is not a location key is a configuration error', async () => {
  await expect(findings({ API_KEY: 'sk-of-another-program' })).rejects.toMatchObject({
    exitCode: 78,
    remedy: expect.stringContaining('SERVICE_API_KEY') as string,
  });
});

test('Node before 20.19 is too old', () => {
  expect(nodeVersion('20.19.0').status).toBe('ok');
  expect(nodeVersion('24.1.0').status).toBe('ok');
  expect(nodeVersion('20.18.3').status).toBe('problem');
  expect(nodeVersion('18.20.0').status).toBe('problem');
});

test('wrong arguments and malformed variables exit with their code', async () => {
  const io = { env: {}, stdout: () => undefined, stderr: () => undefined };
  const call = (command: Command, args: string[], env = {}) => command(args, { ...io, env });
  await expect(call(doctor, ['--nope'])).rejects.toMatchObject({ exitCode: 64 });
  await expect(call(doctor, ['more'])).rejects.toMatchObject({ exitCode: 64 });
  await expect(call(doctor, [], { SERVICE_URL: 'nonsense' })).rejects.toMatchObject({ exitCode: 78 });
});

test('missing parts are reported with the remedy: a script, or another image', () => {
  expect([runtimeRemedy('2025.04'), enginesRemedy()]).toEqual([
    'node scripts/runtime.mjs install 2025.04',
    'node scripts/engines.mjs install',
  ]);
  // In a global install, the current folder is another one: the remedy works from everywhere.
  const installed = join(folder, 'installed');
  mkdirSync(join(installed, 'scripts'), { recursive: true });
  for (const script of ['runtime.mjs', 'engines.mjs']) writeFileSync(join(installed, 'scripts', script), '');
  expect([runtimeRemedy('2025.04', installed), enginesRemedy(installed)]).toEqual([
    `${process.execPath} ${installed}/scripts/runtime.mjs install 2025.04`,
    `${process.execPath} ${installed}/scripts/engines.mjs install`,
  ]);
  const inImage = [runtimeRemedy('2025.04', folder), enginesRemedy(folder)].join('\n');
  expect(inImage).not.toContain('scripts/');
  expect(inImage).toContain('tag <version>-migrate-202409-202604');
  expect(inImage).toContain('RUNTIMES="2025.04 2026.04"');
});
