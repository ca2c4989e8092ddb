import { shortened } from '../../shortened.ts';
import { childrenOf, eachIn, tags } from './der.ts';

/** The extensions of a certificate that Node does not read. Each function takes the extension's value; throws DerError. */

export const extensionOids = {
  scts: '1.3.6.1.4.1.11129.2.4.2',
  tlsFeature: '1.3.6.1.5.5.7.1.24',
  crlPoints: '2.5.29.31',
} as const;

/** As many addresses of one kind as are read. */
export const maxUrls = 5;
export const maxName = 1024;

/** SCTs of the extension: an OCTET STRING with a list, each with its length in two bytes (RFC 6962, section 3.3). */
export function countScts(extension: Buffer | undefined): number {
  if (extension === undefined) return 0;
  const [octets] = [...eachIn(extension)];
  return octets?.tag === tags.octetString ? countSctList(octets.content) : 0;
}

/** How many timestamps a SignedCertificateTimestampList has. */
function countSctList(list: Buffer): number {
  let count = 0;
  for (let at = 2; at + 2 <= list.length; count++) {
    const size = list.readUInt16BE(at);
    if (size === 0 || at + 2 + size > list.length) break;
    at += 2 + size;
  }
  return count;
}

/** RFC 7633: the list of TLS features holds 5, status_request. */
export function isMustStaple(extension: Buffer | undefined): boolean {
  if (extension === undefined) return false;
  const [list] = [...eachIn(extension)];
  return childrenOf(list).some(
    ({ tag, content }) => tag === tags.integer && content.length === 1 && content[0] === 5,
  );
}

/** The http addresses of revocation lists: DistributionPoint → [0] → [0] fullName → [6] URI (RFC 5280, 4.2.1.13). */
export function crlUrlsOf(extension: Buffer | undefined): string[] {
  if (extension === undefined) return [];
  const urls: string[] = [];
  const [points] = [...eachIn(extension)];
  for (const point of childrenOf(points)) {
    const name = childrenOf(point).find(({ tag }) => tag === 0xa0);
    for (const full of name === undefined ? [] : eachIn(name.content)) {
      if (full.tag !== 0xa0) continue;
      for (const { tag, content } of eachIn(full.content)) {
        const url = content.toString('latin1');
        if (tag === 0x86 && /^https?:/i.test(url) && urls.length < maxUrls)
          urls.push(shortened(url, maxName));
      }
    }
  }
  return urls;
}
