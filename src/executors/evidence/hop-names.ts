import { Resolver } from 'node:dns/promises';
import { isIPv6 } from 'node:net';
import type { Network } from '../interface/network.ts';
import type { Hop } from './trace-hops.ts';

/** Time limit for all names together; they are not important enough for more. */
const limitMs = 500;
const maxNameLength = 253;

/** The hops with the names that the system's name servers return in time. Never rejects. */
export async function withNames<H extends Hop>(
  hops: readonly H[],
  network: Pick<Network, 'nameServers'>,
): Promise<H[]> {
  const resolver = new Resolver({ timeout: limitMs, tries: 1 });
  const timer = setTimeout(() => resolver.cancel(), limitMs);
  try {
    const servers = await network.nameServers();
    if (servers.length === 0) return [...hops];
    resolver.setServers(
      servers.slice(0, 3).map(({ address, port }) => `${isIPv6(address) ? `[${address}]` : address}:${port}`),
    );
    return await Promise.all(
      hops.map(async (hop) => {
        if (hop.address === null) return hop;
        const [name] = await resolver.reverse(hop.address).catch((): string[] => []);
        return name === undefined || !isName(name) ? hop : { ...hop, name };
      }),
    );
  } catch {
    return [...hops];
  } finally {
    clearTimeout(timer);
    resolver.cancel();
  }
}

/** The owner of an address may give it any name. */
function isName(name: string): boolean {
  return name.length <= maxNameLength && /^[\w.-]+$/.test(name);
}
