import { createPublicKey, generateKeyPairSync, randomBytes } from 'node:crypto';

/**
 * The first message of a handshake, and what the answer to it says (RFC 8446, section 4.1; RFC 5246, section 7.4.1). With
 * it one can ask for versions and suites that OpenSSL no longer speaks, at the cost of one connection and no cryptography.
 */

/** Version numbers on the wire. */
export const wireVersions = {
  'SSL3.0': 0x0300,
  'TLS1.0': 0x0301,
  'TLS1.1': 0x0302,
  'TLS1.2': 0x0303,
  'TLS1.3': 0x0304,
} as const;
export type VersionName = keyof typeof wireVersions;

/** Suites that any server of TLS 1.2 and older has at least one of. */
export const usualSuites: readonly number[] = [
  0xc02b, 0xc02f, 0xc02c, 0xc030, 0xcca9, 0xcca8, 0x009e, 0x009f, 0xc009, 0xc013, 0xc00a, 0xc014, 0x009c,
  0x009d, 0x002f, 0x0035, 0x003c, 0x003d, 0x0033, 0x0039, 0xc012, 0xc008, 0x000a, 0x0016, 0x0005, 0x0004,
  0xc011, 0xc007,
];

/** Suites of TLS 1.3. */
const suites13 = [0x1301, 0x1302, 0x1303];

/** Weak suites by number: RC4, DES, 3DES, NULL, EXPORT and anonymous ones (the registry of IANA). */
export const weakSuites: ReadonlyMap<number, string> = new Map([
  [0x0001, 'TLS_RSA_WITH_NULL_MD5'],
  [0x0002, 'TLS_RSA_WITH_NULL_SHA'],
  [0x003b, 'TLS_RSA_WITH_NULL_SHA256'],
  [0xc006, 'TLS_ECDHE_ECDSA_WITH_NULL_SHA'],
  [0xc010, 'TLS_ECDHE_RSA_WITH_NULL_SHA'],
  [0x0003, 'TLS_RSA_EXPORT_WITH_RC4_40_MD5'],
  [0x0006, 'TLS_RSA_EXPORT_WITH_RC2_CBC_40_MD5'],
  [0x0008, 'TLS_RSA_EXPORT_WITH_DES40_CBC_SHA'],
  [0x0014, 'TLS_DHE_RSA_EXPORT_WITH_DES40_CBC_SHA'],
  [0x0004, 'TLS_RSA_WITH_RC4_128_MD5'],
  [0x0005, 'TLS_RSA_WITH_RC4_128_SHA'],
  [0xc007, 'TLS_ECDHE_ECDSA_WITH_RC4_128_SHA'],
  [0xc011, 'TLS_ECDHE_RSA_WITH_RC4_128_SHA'],
  [0x0009, 'TLS_RSA_WITH_DES_CBC_SHA'],
  [0x0015, 'TLS_DHE_RSA_WITH_DES_CBC_SHA'],
  [0x000a, 'TLS_RSA_WITH_3DES_EDE_CBC_SHA'],
  [0x0016, 'TLS_DHE_RSA_WITH_3DES_EDE_CBC_SHA'],
  [0xc008, 'TLS_ECDHE_ECDSA_WITH_3DES_EDE_CBC_SHA'],
  [0xc012, 'TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA'],
  [0x0018, 'TLS_DH_anon_WITH_RC4_128_MD5'],
  [0x001b, 'TLS_DH_anon_WITH_3DES_EDE_CBC_SHA'],
  [0x0034, 'TLS_DH_anon_WITH_AES_128_CBC_SHA'],
  [0x003a, 'TLS_DH_anon_WITH_AES_256_CBC_SHA'],
  [0xc015, 'TLS_ECDH_anon_WITH_NULL_SHA'],
  [0xc016, 'TLS_ECDH_anon_WITH_RC4_128_SHA'],
  [0xc018, 'TLS_ECDH_anon_WITH_AES_128_CBC_SHA'],
]);

const u8 = (value: number) => Buffer.from([value]);
const u16 = (value: number) => Buffer.from([value >> 8, value & 0xff]);
const withLength8 = (content: Buffer) => Buffer.concat([u8(content.length), content]);
const withLength16 = (content: Buffer) => Buffer.concat([u16(content.length), content]);
const extension = (type: number, content: Buffer) => Buffer.concat([u16(type), withLength16(content)]);

const groups = [0x001d, 0x0017, 0x0018, 0x0019];
const signatureSchemes = [
  0x0403, 0x0503, 0x0603, 0x0804, 0x0805, 0x0806, 0x0807, 0x0401, 0x0501, 0x0601, 0x0203, 0x0201, 0x0202,
];

/** A complete record with a ClientHello that offers one version and these suites. `serverName` '' = no SNI. */
export function clientHello(options: {
  version: VersionName;
  suites: readonly number[];
  serverName: string;
}): Buffer {
  const { version, serverName } = options;
  const isNew = version === 'TLS1.3';
  const suites = isNew ? suites13 : options.suites;
  const extensions: Buffer[] = [];
  if (serverName !== '') {
    const name = Buffer.concat([u8(0), withLength16(Buffer.from(serverName, 'latin1'))]);
    extensions.push(extension(0, withLength16(name)));
  }
  extensions.push(
    extension(10, withLength16(Buffer.concat(groups.map(u16)))),
    extension(11, withLength8(u8(0))),
    extension(13, withLength16(Buffer.concat(signatureSchemes.map(u16)))),
  );
  if (isNew) {
    const share = Buffer.concat([u16(0x001d), withLength16(publicShare())]);
    extensions.push(
      extension(43, withLength8(u16(wireVersions['TLS1.3']))),
      extension(51, withLength16(share)),
    );
  }
  const body = Buffer.concat([
    u16(isNew ? wireVersions['TLS1.2'] : wireVersions[version]),
    randomBytes(32),
    withLength8(isNew ? randomBytes(32) : Buffer.alloc(0)),
    withLength16(Buffer.concat(suites.map(u16))),
    withLength8(u8(0)),
    // SSL 3.0 has no extensions.
    version === 'SSL3.0' ? Buffer.alloc(0) : withLength16(Buffer.concat(extensions)),
  ]);
  const message = Buffer.concat([u8(1), u8(body.length >> 16), u16(body.length & 0xffff), body]);
  const recordVersion = version === 'SSL3.0' ? wireVersions['SSL3.0'] : wireVersions['TLS1.0'];
  return Buffer.concat([u8(22), u16(recordVersion), withLength16(message)]);
}

/** A fresh X25519 share; its private half is never needed. */
function publicShare(): Buffer {
  const { publicKey } = generateKeyPairSync('x25519', {
    publicKeyEncoding: { type: 'spki', format: 'der' },
    privateKeyEncoding: { type: 'pkcs8', format: 'der' },
  });
  const jwk = createPublicKey({ key: publicKey, format: 'der', type: 'spki' }).export({ format: 'jwk' });
  return Buffer.from(String(jwk.x), 'base64url');
}

/** What a server answers: it accepts a version and a suite, it refuses, or more bytes are needed (null). */
export type HelloAnswer = { accepts: { version: number; suite: number } } | { refuses: string };

/** Reads the first records of an answer. */
export function readAnswer(bytes: Buffer): HelloAnswer | null {
  if (bytes.length < 5) return null;
  const type = bytes[0];
  const length = bytes.readUInt16BE(3);
  if (type === 21) {
    if (bytes.length < 7) return null;
    return { refuses: `alert ${bytes[6]}` };
  }
  if (type !== 22) return { refuses: 'an answer that is not TLS' };
  if (length < 4 || length > 16_640) return { refuses: 'a record of an impossible length' };
  // A ServerHello may come in several records, but no server splits its first 80 bytes.
  if (bytes.length < 5 + Math.min(length, 80)) return null;
  const message = bytes.subarray(5, 5 + length);
  if (message[0] !== 2 || message.length < 39) return { refuses: 'an answer that is no ServerHello' };
  const session = message[38] ?? 0;
  const at = 39 + session;
  if (session > 32 || message.length < at + 3) {
    return bytes.length < 5 + length ? null : { refuses: 'a ServerHello that is cut off' };
  }
  const suite = message.readUInt16BE(at);
  const isNew = suites13.includes(suite);
  return { accepts: { version: isNew ? wireVersions['TLS1.3'] : message.readUInt16BE(4), suite } };
}
