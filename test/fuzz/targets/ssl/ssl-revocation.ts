import { readCertificate, type Certificate } from '../../../../src/executors/ssl/certificate.ts';
import { readCrl } from '../../../../src/executors/ssl/crl.ts';
import { encode, encodeOid, tags } from '../../../../src/executors/ssl/der.ts';
import { ocspRequest, readOcsp } from '../../../../src/executors/ssl/ocsp.ts';
import { usualCertificates } from '../../engine/usual-certificates.ts';

/** Answers about revocation, stapled or fetched: each is read or has a problem, and no damaged one counts. */

export const name = 'ssl-revocation';
export const maxBytes = 64 * 1024;

const now = 1_772_700_000_000;
let pair: { leaf: Certificate; issuer: Certificate } | null = null;

/** The first byte chooses: an OCSP response (even) or a list (odd). */
export async function run(data: Buffer): Promise<void> {
  if (pair === null) {
    const { leaf, root } = await usualCertificates();
    pair = { leaf: readCertificate(leaf, now), issuer: readCertificate(root, now) };
  }
  const bytes = data.subarray(1);
  const isList = (data[0] ?? 0) % 2 === 1;
  const answer = isList ? readCrl(bytes, { ...pair, now }) : readOcsp(bytes, { ...pair, now });
  if (answer.problem === null && !isList) throw new Error('an answer that nobody signed counts');
  if (
    answer.problem !== null &&
    /cannot read|is not|undefined|invalid time|call stack/i.test(answer.problem)
  ) {
    // Problems are sentences about the answer; these are messages of the language.
    if (!/is not that of the issuer/.test(answer.problem)) throw new TypeError(answer.problem);
  }
  if (JSON.stringify(answer).length > 2000) throw new Error('a long answer');
  ocspRequest(pair.leaf, pair.issuer);
}

const sequence = (...parts: Buffer[]): Buffer => encode(tags.sequence, ...parts);

/** A basic response without a valid signature. `status`: the CertStatus. */
async function response(status: Buffer): Promise<Buffer> {
  const { leaf } = await usualCertificates();
  const { serial } = readCertificate(leaf, now);
  const time = (text: string) => encode(tags.generalizedTime, Buffer.from(text));
  const algorithm = (oid: string) => sequence(encodeOid(oid), encode(tags.null));
  const hash = encode(tags.octetString, Buffer.alloc(20));
  const certId = sequence(algorithm('1.3.14.3.2.26'), hash, hash, encode(tags.integer, serial));
  const single = sequence(
    certId,
    status,
    time('20260305000000Z'),
    encode(0xa0, time('20260401000000Z')),
    encode(0xa1, sequence(sequence(encodeOid('1.3.6.1.4.1.11129.2.4.5'), hash))),
  );
  const data = sequence(encode(0xa2, hash), time('20260305000000Z'), sequence(single));
  const bits = encode(tags.bitString, Buffer.alloc(72));
  const basic = sequence(data, algorithm('1.2.840.10045.4.3.2'), bits, encode(0xa0, sequence(leaf)));
  const wrapped = sequence(encodeOid('1.3.6.1.5.5.7.48.1.1'), encode(tags.octetString, basic));
  return sequence(encode(tags.enumerated, Buffer.from([0])), encode(0xa0, wrapped));
}

export const seeds = async (): Promise<Buffer[]> => {
  const { list } = await usualCertificates();
  const revoked = encode(0xa1, encode(tags.generalizedTime, Buffer.from('20260101000000Z')));
  const pem = `-----BEGIN X509 CRL-----\n${list.toString('base64')}\n-----END X509 CRL-----\n`;
  return [
    Buffer.concat([Buffer.from([0]), await response(encode(0x80))]),
    Buffer.concat([Buffer.from([0]), await response(revoked)]),
    Buffer.from([0, 0x30, 3, 0x0a, 1, 6]),
    Buffer.concat([Buffer.from([1]), list]),
    Buffer.from(`\x01${pem}`),
  ];
};

export const dictionary = [
  '-----BEGIN X509 CRL-----',
  '-----END',
  'Z',
  '20500101000000Z',
  ...['3080', '3084', '0a0100', 'a000', 'a100', '8000', '02024711', '3000', '17 0d', '0400'].map((text) =>
    Buffer.from(text.replaceAll(' ', ''), 'hex'),
  ),
];
