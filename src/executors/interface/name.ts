import { domainToASCII } from 'node:url';

const asciiName = /^(?:[a-z0-9_-]{1,63}\.)*[a-z0-9_-]{1,63}\.?$/i;

/** A host given as `[::1]` without its brackets; anything else as it is. */
export function unbracketed(hostname: string): string {
  return hostname.startsWith('[') && hostname.endsWith(']') ? hostname.slice(1, -1) : hostname;
}

/**
 * A host name as it goes into a query: lower case, international names in their ASCII form (RFC 5891), the trailing dot
 * kept. Null when it can't be one, for example because it carries a port, a blank or an empty label.
 */
export function toAsciiName(hostname: string): string | null {
  // eslint-disable-next-line no-control-regex -- the range is what ASCII is
  const ascii = /^[\x00-\x7f]*$/.test(hostname) ? hostname.toLowerCase() : domainToASCII(hostname);
  return asciiName.test(ascii) && ascii.replace(/\.$/, '').length <= 253 ? ascii : null;
}
