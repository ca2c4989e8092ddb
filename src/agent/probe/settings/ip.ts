import { isIP } from 'node:net';
import type { ProbeFields } from './fields.ts';

/** Which address of a name is probed. */
export type IpSettings = { readonly preferred: 4 | 6; readonly fallback: boolean };

export function ipSettings(fields: ProbeFields): IpSettings {
  return {
    preferred: fields.oneOf('preferred_ip_protocol', ['ip6', 'ip4', ''], 'ip6') === 'ip4' ? 4 : 6,
    fallback: fields.flag('ip_protocol_fallback', true),
  };
}

/** `source_ip_address`; null = the system chooses. */
export function sourceAddress(fields: ProbeFields): string | null {
  const address = fields.text('source_ip_address');
  if (address !== '' && isIP(address) === 0) fields.fail('source_ip_address', 'is not an address');
  return address === '' ? null : address;
}
