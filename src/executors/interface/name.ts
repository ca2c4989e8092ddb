import { domainToASCII } from 'node:url';

const asciiName = /^(?:[a-z0-9_-]{1,63}\.)*[a-z0-9_-]{1,63}\.?$/i;

/** A host such as `[::1]` without its brackets; anything else unchanged. */
export function unbracketed(hostname: string): string {
  return hostname.startsWith('[') && hostname.endsWith(']') ? hostname.slice(1, -1) : hostname;
}

/**
 * A host name in the form for queries: lower case, international names in their ASCII form (RFC 5891), the trailing
 * dot kept. Null if it is not a valid name, for example because it contains a port, a space or an empty label.
 */
export function toAsciiName(hostname: string): string | null {
  // eslint-disable-next-line no-control-regex -- the range is ASCII
  const ascii = /^[\x00-\x7f]*$/.test(hostname) ? hostname.toLowerCase() : domainToASCII(hostname);
  return asciiName.test(ascii) && ascii.replace(/\.$/, '').length <= 253 ? ascii : null;
}
