import { describe, expect, it } from 'vitest';
import {
  createEncryption,
  EncryptionError,
  openVariables,
  sealVariables,
} from '../../../src/service/engine/encryption.ts';

const encryption = createEncryption('correct horse battery staple');

describe('encryption at rest', () => {
  it.each(['', 'a', 'ключ 🔑', 'x'.repeat(100_000)])('opens what it sealed (%#)', (text) => {
    const sealed = encryption.seal(text);
    expect(sealed).toMatch(/^sealed:1:[0-9a-f]{8}:[A-Za-z0-9_-]+$/);
    // Long enough not to come about by chance in a long sealed text.
    if (text.length > 3) expect(sealed).not.toContain(text.slice(0, 12));
    expect(encryption.open(sealed)).toBe(text);
    expect(encryption.seal(text)).not.toBe(sealed);
  });

  it('opens values that the same key sealed in another process', () => {
    expect(createEncryption('correct horse battery staple').open(encryption.seal('value'))).toBe('value');
  });

  it('names a wrong key', () => {
    const other = createEncryption('another passphrase');
    expect(() => other.open(encryption.seal('value'))).toThrow(
      new EncryptionError(
        `sealed with the key ${encryption.keyId}, but SERVICE_ENCRYPTION_KEY is ${other.keyId}`,
      ),
    );
  });

  it('refuses a damaged text', () => {
    const sealed = encryption.seal('value');
    const at = sealed.length - 3;
    const flipped = sealed.slice(0, at) + (sealed.charAt(at) === 'A' ? 'B' : 'A') + sealed.slice(at + 1);
    expect(() => encryption.open(flipped)).toThrow(EncryptionError);
    expect(() => encryption.open(sealed.slice(0, 24))).toThrow(EncryptionError);
    expect(() => encryption.open('value')).toThrow(EncryptionError);
  });

  it('seals the values of variables that are secret by flag or by name', () => {
    const variables = [
      { key: 'PLAIN', value: 'seen', secret: false },
      { key: 'FLAGGED', value: 'one', secret: true },
      { key: 'SERVICE_SECRET_NAMED', value: 'two', secret: false },
    ];
    const sealed = sealVariables(variables, encryption);
    expect(sealed.map(({ value }) => value.startsWith('sealed:1:'))).toEqual([false, true, true]);
    expect(openVariables(sealed, encryption)).toEqual(variables);
  });
});
