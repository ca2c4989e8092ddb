import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTargets, type Targets } from '../../../src/targets/targets.ts';

/** `run` of SSL checks in a process of its own, which reads NODE_EXTRA_CA_CERTS at its start. */

let folder: string;
let targets: Targets;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'run-ssl-'));
  targets = await startTargets();
  writeFileSync(join(folder, 'authority.pem'), targets.caCertificate);
});
afterAll(async () => {
  await targets.close();
  rmSync(folder, { recursive: true, force: true });
});

async function runSsl(port: number, env: { [name: string]: string }, config = {}) {
  const file = join(folder, 'check.json');
  const request = { sslConfig: { hostname: '127.0.0.1', port, ...config } };
  writeFileSync(file, JSON.stringify({ checkType: 'SSL', name: 'own', doubleCheck: false, request }));
  const main = join(import.meta.dirname, '../../../dist/main.js');
  const child = spawn(process.execPath, [main, 'run', file], { env: { PATH: process.env['PATH'], ...env } });
  let out = '';
  child.stdout.on('data', (text: Buffer) => (out += text.toString()));
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  return { code, out };
}

/** A process starts slowly on a busy machine. */
const timeout = { timeout: 120_000 };

test('an authority of NODE_EXTRA_CA_CERTS is trusted, and only then', timeout, async () => {
  const trusted = await runSsl(targets.ports.https, {
    NODE_EXTRA_CA_CERTS: join(folder, 'authority.pem'),
  });
  expect(trusted.out).toContain('PASSED  SSL  own');
  expect(trusted.out).toMatch(/^grade +A-$/m);
  expect(trusted.out).toMatch(/^name +matches$/m);
  expect(trusted.out).toMatch(/^chain +trusted$/m);
  expect(trusted.out).toMatch(
    /^ +1 {2}localhost, issued by Sample targets, ECDSA 256, until \S+ \(89 days\)$/m,
  );
  expect(trusted.code).toBe(0);

  const stranger = await runSsl(targets.ports.https, {});
  expect(stranger.out).toContain('FAILED  SSL  own');
  expect(stranger.out).toMatch(/^grade +none: the name or the chain does not hold$/m);
  expect(stranger.out).toMatch(/^chain +not trusted: the (issuer|server)/m);
  expect(stranger.code).toBe(1);
});

test('the reasons of a grade, and what the scan found, are printed', timeout, async () => {
  const baseline = {
    recommendedKeySizeBits: { value: 3072, severity: 'degrade' },
    sctPresent: { severity: 'fail' },
  };
  const config = { skipChainValidation: true, scan: true, securityBaseline: baseline };
  const { out } = await runSsl(targets.ports.https, {}, config);
  expect(out).toMatch(/^grade +F: no certificate timestamp \(SCT\) was seen$/m);
  expect(out).toMatch(/^accepts +TLS1\.2, TLS1\.3$/m);
  expect(out).toMatch(/^weak suites +none$/m);
});
