import { X509Certificate } from 'node:crypto';
import { beforeAll, expect, test } from 'vitest';
import { readCertificate, type Certificate } from '../../../src/executors/ssl/certificate.ts';
import { readCrl } from '../../../src/executors/ssl/crl.ts';
import { encode, encodeOid, tags } from '../../../src/executors/ssl/der.ts';
import { issue } from '../../helpers/network/authority.ts';

/**
 * Revocation lists of 20 MB, the longest that an agent reads. A target names the list and may have made it, so none may
 * keep the agent from its other checks.
 */

const now = 1_772_700_000_000;
const sizeBytes = 20_000_000;
let pair: { leaf: Certificate; issuer: Certificate };

beforeAll(async () => {
  const issuer = await issue({ name: 'Root', authority: true, serial: '01' }, now);
  const leaf = await issue({ issuer, serial: '4711' }, now);
  const read = ({ pem }: { pem: string }) => readCertificate(new X509Certificate(pem).raw, now);
  pair = { leaf: read(leaf), issuer: read(issuer) };
});

const sequence = (...parts: Buffer[]): Buffer => encode(tags.sequence, ...parts);
const time = encode(tags.utcTime, Buffer.from('260305000000Z'));
const algorithm = sequence(encodeOid('1.2.840.10045.4.3.2'));
const listOf = (...fields: Buffer[]): Buffer =>
  sequence(sequence(...fields), algorithm, encode(tags.bitString, Buffer.alloc(9)));
const withEntries = (entries: Buffer): Buffer =>
  listOf(algorithm, pair.leaf.issuerName, time, time, sequence(entries));

/** The answer, and the milliseconds of processor time that it took. */
function readWithCost(bytes: Buffer): { answer: ReturnType<typeof readCrl>; ms: number } {
  const before = process.cpuUsage();
  const answer = readCrl(bytes, { ...pair, now });
  const { user, system } = process.cpuUsage(before);
  return { answer, ms: (user + system) / 1000 };
}

const serial = Buffer.from([2, 2, 0x47, 0x11]);

test('five million entries are passed over', () => {
  const entries = Buffer.alloc(sizeBytes, Buffer.from([0x30, 2, 2, 0]));
  const { answer, ms } = readWithCost(withEntries(entries));
  expect(answer.status).toBe('good');
  expect(ms).toBeLessThan(1500);
});

test('the entry is found behind millions of others that hold its bytes elsewhere', () => {
  const decoy = sequence(encode(tags.integer, Buffer.from([1])), time, sequence(serial));
  const entries = Buffer.concat([Buffer.alloc(decoy.length * 500_000, decoy), sequence(serial, time)]);
  const { answer, ms } = readWithCost(withEntries(entries));
  expect(answer).toMatchObject({ status: 'revoked', revokedAt: '2026-03-05T00:00:00.000Z' });
  expect(readWithCost(withEntries(Buffer.alloc(decoy.length * 3, decoy))).answer.status).toBe('good');
  expect(ms).toBeLessThan(3000);
});

test('a list of millions of fields is refused without reading them all', () => {
  const before = process.memoryUsage.rss();
  const { answer, ms } = readWithCost(sequence(sequence(Buffer.alloc(sizeBytes, Buffer.from([5, 0])))));
  expect(answer.problem).toBe('the list is malformed (more than 4096 elements)');
  expect(ms).toBeLessThan(500);
  expect(process.memoryUsage.rss() - before).toBeLessThan(500_000_000);
});
