import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runProbes, type Finding } from '../../../src/commands/doctor/finding.ts';
import { tlsProbes } from '../../../src/commands/doctor/tls.ts';
import { issue } from '../../helpers/network/authority.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'doctor-tls-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function findingsOf(file: string | null): Promise<{ [name: string]: Finding }> {
  const findings = await runProbes(tlsProbes(file), 10_000);
  return Object.fromEntries(findings.map((finding) => [finding.name, finding]));
}

function fileOf(name: string, content: string): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

test('old versions are tried with real handshakes', async () => {
  const { 'old TLS versions': found } = await findingsOf(null);
  expect(found).toMatchObject({
    status: 'ok',
    message: expect.stringMatching(/TLS1\.0 to TLS1\.3/) as string,
  });
});

test('authorities are counted, and expired ones named', async () => {
  const now = Date.now();
  const good = await issue({ name: 'Good', authority: true }, now);
  const late = await issue({ name: 'Late', authority: true, from: -30, to: -1 }, now);
  const of = async (file: string | null) => (await findingsOf(file))['trusted authorities'];
  expect(await of(null)).toMatchObject({ status: 'ok' });
  expect(await of(fileOf('good.pem', good.pem))).toMatchObject({
    status: 'ok',
    message: expect.stringMatching(/, 1 of NODE_EXTRA_CA_CERTS$/) as string,
  });
  expect(await of(fileOf('both.pem', good.pem + late.pem))).toMatchObject({
    status: 'note',
    message: expect.stringMatching(/, 2 of NODE_EXTRA_CA_CERTS, of which 1 expired$/) as string,
  });
  expect(await of(fileOf('none.pem', 'text'))).toMatchObject({ status: 'problem' });
  expect(await of(join(folder, 'missing.pem'))).toMatchObject({ status: 'problem' });
  const damaged = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
  expect(await of(fileOf('damaged.pem', damaged))).toMatchObject({ status: 'problem' });
});
