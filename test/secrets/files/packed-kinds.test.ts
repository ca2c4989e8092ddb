import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync } from 'node:zlib';
import { afterAll, expect, test } from 'vitest';
import { scrubArtifact } from '../../../src/secrets/files/scrub-artifact.ts';

const folder = mkdtempSync(join(tmpdir(), 'packed-kinds-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const secret = 'walnut-tree-in-bloom';
const packed = brotliCompressSync(Buffer.from(secret.repeat(50)));
const head = (hex: string): Buffer => Buffer.concat([Buffer.from(hex, 'hex'), Buffer.alloc(40, 7)]);

test.each([
  ['body.br', 'application/octet-stream', packed, 'Brotli'],
  ['BODY.BR', 'text/plain', packed, 'Brotli'],
  ['body', 'application/x-brotli', packed, 'Brotli'],
  ['body', 'application/zstd', head('00'), 'zstd'],
  ['body', 'application/x-xz', head('00'), 'xz'],
  ['body', 'application/x-7z-compressed', head('00'), '7z'],
  ['body.txt', 'text/plain', head('28b52ffd'), 'zstd'],
  ['body.txt', 'text/plain', head('fd377a585a00'), 'xz'],
  ['body.txt', 'text/plain', head('377abcaf271c'), '7z'],
  ['body.txt', 'text/plain', head('526172211a07'), 'rar'],
  ['body.txt', 'text/plain', head('04224d18'), 'lz4'],
  ['body.lzma', 'text/plain', head('5d0000'), 'lzma'],
  ['body.tar.bz2', 'text/plain', head('00'), 'bzip2'],
])('%s of type %s is not sent', async (name, contentType, content, format) => {
  const source = join(folder, 'source');
  writeFileSync(source, content);
  const secrets = [{ name: 'S', value: secret }];
  await expect(
    scrubArtifact(source, join(folder, 'target'), { name, type: 'file', contentType, secrets }),
  ).rejects.toMatchObject({
    code: 'UNSCRUBBABLE',
    message: `the artifact cannot be scrubbed: a file in the unsupported format ${format}`,
  });
});
