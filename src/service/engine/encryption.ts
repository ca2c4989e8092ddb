import { createCipheriv, createDecipheriv, createHash, randomBytes, scryptSync } from 'node:crypto';
import { Secret } from '../../secrets/secret.ts';

/**
 * Secrets at rest: AES-256-GCM with a key derived from SERVICE_ENCRYPTION_KEY. A sealed text is `sealed:1:<key
 * id>:<base64url of iv, tag, ciphertext>`; the key id distinguishes a wrong key from a damaged text.
 */
export type Encryption = {
  /** First eight hex digits of a hash of the key. They identify the key without revealing it. */
  readonly keyId: string;
  seal(text: string): string;
  /** Throws EncryptionError if the text was sealed with another key or is damaged. */
  open(sealed: string): string;
};

export class EncryptionError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'EncryptionError';
  }
}

const ivBytes = 12;
const tagBytes = 16;
const format = /^sealed:1:([0-9a-f]{8}):([A-Za-z0-9_-]+)$/;

/**
 * Derives the key, once per start. This takes about 40 ms on purpose, because SERVICE_ENCRYPTION_KEY may be a
 * passphrase.
 */
export function createEncryption(encryptionKey: Secret | string): Encryption {
  const passphrase = encryptionKey instanceof Secret ? encryptionKey.reveal() : encryptionKey;
  const key = scryptSync(passphrase, 'private-location-agent/secrets-at-rest/1', 32, {
    N: 16_384,
    r: 8,
    p: 1,
  });
  const keyId = createHash('sha256').update('key id').update(key).digest('hex').slice(0, 8);
  const seal = (text: string): string => {
    const iv = randomBytes(ivBytes);
    const cipher = createCipheriv('aes-256-gcm', key, iv);
    const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    return `sealed:1:${keyId}:${Buffer.concat([iv, cipher.getAuthTag(), body]).toString('base64url')}`;
  };
  const open = (sealed: string): string => {
    const [, sealedWith, content] = format.exec(sealed) ?? [];
    if (sealedWith === undefined || content === undefined) throw new EncryptionError('not a sealed text');
    if (sealedWith !== keyId) {
      throw new EncryptionError(`sealed with the key ${sealedWith}, but SERVICE_ENCRYPTION_KEY is ${keyId}`);
    }
    const bytes = Buffer.from(content, 'base64url');
    if (bytes.length < ivBytes + tagBytes) throw new EncryptionError('a sealed text is truncated');
    const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, ivBytes), {
      authTagLength: tagBytes,
    });
    decipher.setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes));
    try {
      return decipher.update(bytes.subarray(ivBytes + tagBytes), undefined, 'utf8') + decipher.final('utf8');
    } catch {
      throw new EncryptionError('a sealed text is damaged');
    }
  };
  return { keyId, seal, open };
}

/** A variable is secret if it is marked as secret or if its name suggests it. */
export function isSecretVariable(variable: { key: string; secret: boolean }): boolean {
  return variable.secret || variable.key.startsWith('SERVICE_SECRET_');
}

/** Returns the variables as they are stored: secret values sealed, other values unchanged. */
export function sealVariables<V extends { key: string; value: string; secret: boolean }>(
  variables: readonly V[],
  encryption: Encryption,
): V[] {
  return variables.map((variable) =>
    isSecretVariable(variable) ? { ...variable, value: encryption.seal(variable.value) } : variable,
  );
}

/** The opposite of `sealVariables`. Throws EncryptionError, which names the variable. */
export function openVariables<V extends { key: string; value: string; secret: boolean }>(
  variables: readonly V[],
  encryption: Encryption,
): V[] {
  return variables.map((variable) => {
    if (!isSecretVariable(variable)) return variable;
    try {
      return { ...variable, value: encryption.open(variable.value) };
    } catch (error) {
      if (!(error instanceof EncryptionError)) throw error;
      throw new EncryptionError(`variable ${variable.key}: ${error.message}`);
    }
  });
}
