import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { promises as fs } from 'node:fs';

/** Files of encrypted lines: AES-256-GCM, as nonce (12 bytes), tag (16) and ciphertext. */

const nonceBytes = 12;
const headBytes = 28;
/** What is encrypted and written at once, so that a long file neither blocks nor fills the memory. */
const partLength = 256 * 1024;

/** Replaces a file. Rejects if it cannot be written; then the former one is still there. */
export async function writeSealedLines(path: string, key: Buffer, lines: Iterable<string>): Promise<void> {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv('aes-256-gcm', key, nonce);
  const file = await fs.open(`${path}.new`, 'w', 0o600);
  try {
    await file.writeFile(Buffer.alloc(headBytes));
    let part = '';
    for (const line of lines) {
      part += `${line}\n`;
      if (part.length < partLength) continue;
      await file.writeFile(cipher.update(part, 'utf8'));
      part = '';
    }
    await file.writeFile(Buffer.concat([cipher.update(part, 'utf8'), cipher.final()]));
    // In place of the zeros: this needs no more space.
    await file.write(Buffer.concat([nonce, cipher.getAuthTag()]), 0, headBytes, 0);
  } finally {
    await file.close();
  }
  await fs.rename(`${path}.new`, path);
}

/** The lines of a file; null if there is none, if it was written with another key, or if it is damaged. */
export async function readSealedLines(path: string, key: Buffer): Promise<Generator<string> | null> {
  const bytes = await fs.readFile(path).catch(() => null);
  if (bytes === null || bytes.length < headBytes) return null;
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, nonceBytes));
    decipher.setAuthTag(bytes.subarray(nonceBytes, headBytes));
    const text = Buffer.concat([decipher.update(bytes.subarray(headBytes)), decipher.final()]);
    return linesOf(text);
  } catch {
    return null;
  }
}

function* linesOf(bytes: Buffer): Generator<string> {
  for (let from = 0; from < bytes.length;) {
    const end = bytes.indexOf(10, from);
    const to = end === -1 ? bytes.length : end;
    if (to > from) yield bytes.toString('utf8', from, to);
    from = to + 1;
  }
}
