import { readFileSync } from 'node:fs';
import { createSecureContext, type SecureContext, type SecureVersion } from 'node:tls';
import { defaultSecureContext } from '../../../executors/http/tls.ts';
import type { ProbeFields } from './fields.ts';

/** `tls_config` of a module. */
export type TlsSettings = {
  /** Empty = the host. */
  readonly serverName: string;
  readonly insecure: boolean;
  /** Reads the files again when a minute has passed, because certificates are renewed. */
  readonly context: () => SecureContext;
};

const versions: { readonly [name: string]: SecureVersion } = {
  TLS10: 'TLSv1',
  TLS11: 'TLSv1.1',
  TLS12: 'TLSv1.2',
  TLS13: 'TLSv1.3',
};
const keepMs = 60_000;

/** Settings without any `tls_config`. */
export const plainTls: TlsSettings = { serverName: '', insecure: false, context: defaultSecureContext };

/** Reads it. Refuses files that cannot be read, and certificates that cannot be used. */
export function tlsSettings(parent: ProbeFields, field = 'tls_config'): TlsSettings {
  if (!parent.has(field)) {
    parent.take(field);
    return plainTls;
  }
  const fields = parent.object(field);
  const material = (name: string): (() => string | null) => {
    const inline = fields.text(name);
    const file = fields.text(`${name}_file`);
    if (inline !== '' && file !== '') fields.fail(name, `and ${name}_file exclude each other`);
    if (inline !== '') return () => inline;
    return file === '' ? () => null : () => readFileSync(file, 'utf8');
  };
  const ca = material('ca');
  const cert = material('cert');
  const key = material('key');
  const version = (name: string) => {
    const text = fields.text(name);
    return text === ''
      ? null
      : (versions[text] ?? fields.fail(name, 'must be one of TLS10, TLS11, TLS12, TLS13'));
  };
  const minVersion = version('min_version');
  const maxVersion = version('max_version');
  const serverName = fields.text('server_name');
  const insecure = fields.flag('insecure_skip_verify', false);
  fields.end();
  const isOld = [minVersion, maxVersion].some((name) => name === 'TLSv1' || name === 'TLSv1.1');
  const make = (): SecureContext => {
    const [caText, certText, keyText] = [ca(), cert(), key()];
    return createSecureContext({
      ...(caText === null ? {} : { ca: caText }),
      ...(certText === null ? {} : { cert: certText }),
      ...(keyText === null ? {} : { key: keyText }),
      ...(minVersion === null ? {} : { minVersion }),
      ...(maxVersion === null ? {} : { maxVersion }),
      ...(isOld ? { ciphers: 'DEFAULT@SECLEVEL=0', minVersion: minVersion ?? 'TLSv1' } : {}),
    });
  };
  let made: { context: SecureContext; at: number };
  try {
    made = { context: make(), at: performance.now() };
  } catch (error: unknown) {
    return parent.fail(field, `cannot be used: ${error instanceof Error ? error.message : 'unreadable'}`);
  }
  return {
    serverName,
    insecure,
    context: () => {
      if (performance.now() - made.at > keepMs) made = { context: make(), at: performance.now() };
      return made.context;
    },
  };
}
