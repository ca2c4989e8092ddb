import { networkRules } from '../../../src/addresses/network-rules.ts';
import { kindOfAddress, meaningsOf } from '../../../src/addresses/address-kind.ts';
import { parseNetworkEntry } from '../../../src/addresses/network-entry.ts';
import { isExempt } from '../../../src/agent/link/proxy-choice.ts';
import { proxyUrl } from '../../../src/config/read.ts';
import { queryName } from '../../../src/executors/dns/query-name.ts';
import { HttpFailure } from '../../../src/executors/http/failures.ts';
import { parseProxy } from '../../../src/executors/http/proxy.ts';
import { certificateHostMatch } from '../../../src/protocol/certificate-host.ts';
import { isIP } from 'node:net';

/** Texts about hosts: proxies, NO_PROXY, networks, addresses, patterns and names of DNS queries. */

export const name = 'hosts';

const target = new URL('https://api.shop.test:8443/x');
const byAddress = new URL('https://[2001:db8::1]/');

/** Throws if a text is neither read nor refused by the error that the reader documents. */
export function run(data: Buffer): void {
  const text = data.toString();
  isExempt(target, text);
  isExempt(byAddress, text);
  certificateHostMatch(text, { host: 'api.shop.test', port: 8443 });
  queryName(text, 'PTR');
  queryName(text, 'A');
  try {
    parseProxy(text);
  } catch (error) {
    if (!(error instanceof HttpFailure)) throw error;
  }
  refusing(() => proxyUrl({ HTTPS_PROXY: text }, 'HTTPS_PROXY'));
  refusing(() => {
    const { address, bits, firstPort, lastPort } = parseNetworkEntry(text);
    if (
      isIP(address) !== 6 ||
      !(bits >= 0 && bits <= 128) ||
      !(firstPort <= lastPort && lastPort <= 65_535)
    ) {
      throw new TypeError(`${address}/${bits} ${firstPort}-${lastPort}`);
    }
    networkRules({ allowed: [text], denied: [text], ownPorts: [80], resolvers: [], configured: [] });
  });
  if (isIP(text) === 0) return;
  kindOfAddress(text);
  meaningsOf(text);
}

/** Bugs of ours are TypeErrors and the like; a refusal is a plain error with a message. */
function refusing(read: () => unknown): void {
  try {
    read();
  } catch (error) {
    if (!(error instanceof Error) || error instanceof TypeError || error instanceof RangeError) throw error;
  }
}

export const seeds = (): string[] => [
  'http://user:pass%40@proxy.test:3128',
  'socks5h://proxy.test',
  '.shop.test, *.other.test 10.0.0.0/8,[2001:db8::]/32 https://api.shop.test:8443',
  '10.0.0.0/8',
  '2001:db8::/32',
  '64:ff9b::7f00:1',
  '::ffff:169.254.169.254',
  'fe80::1%eth0',
  '*.sh?p.test:8443',
  '1.0.0.10.in-addr.arpa',
  'xn--bcher-kva.test.',
  '*'.repeat(40),
];

export const dictionary = [
  '://',
  '@',
  ':',
  '/',
  '[',
  ']',
  '%',
  '*',
  '?',
  '.',
  ',',
  '::',
  'ffff',
  '0x7f',
  '127.1',
  '\\032',
];
