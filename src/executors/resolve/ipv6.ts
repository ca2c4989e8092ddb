import { createSocket } from 'node:dgram';
import { networkInterfaces } from 'node:os';

export type Ipv6Routes = {
  /** True if the host has an IPv6 route to the address. */
  reaches: (address: string) => Promise<boolean>;
  /** True if the host has IPv6 connectivity beyond itself: a route to the internet, or a unique local address. */
  available: () => Promise<boolean>;
};

/** Any global address works, because nothing is sent to it (2001:db8::/32 is for documentation, RFC 3849). */
const anyGlobalAddress = '2001:db8::1';
/** Routes rarely change, and a probe costs more than the rest of a lookup in the hosts file. */
const keepMs = 5000;
const maxKept = 1000;

const noRouteCodes = new Set(['ENETUNREACH', 'EADDRNOTAVAIL', 'EAFNOSUPPORT']);

/** Asks the kernel for a route by connecting a UDP socket, which sends nothing. */
function probe(address: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createSocket('udp6');
    let open = true;
    const finish = (error?: NodeJS.ErrnoException) => {
      if (!open) return;
      open = false;
      socket.close();
      resolve(!noRouteCodes.has(error?.code ?? ''));
    };
    socket.on('error', finish);
    socket.connect(9, address, (...[error]: [Error?]) => finish(error));
  });
}

function hasUniqueLocalAddress(): boolean {
  return Object.values(networkInterfaces()).some((addresses) =>
    addresses?.some(
      ({ family, internal, address }) => family === 'IPv6' && !internal && /^f[cd]/i.test(address),
    ),
  );
}

/** The IPv6 destinations that this host can reach according to its routing table; each answer is cached for 5 s. */
export function createIpv6Routes(now: () => number): Ipv6Routes {
  const kept = new Map<string, { until: number; answer: Promise<boolean> }>();
  function keep(key: string, ask: () => Promise<boolean>): Promise<boolean> {
    const known = kept.get(key);
    if (known !== undefined && known.until > now()) return known.answer;
    if (kept.size >= maxKept) kept.clear();
    const answer = ask();
    kept.set(key, { until: now() + keepMs, answer });
    return answer;
  }
  return {
    reaches: (address) => keep(address, () => probe(address)),
    available: () => keep('', async () => (await probe(anyGlobalAddress)) || hasUniqueLocalAddress()),
  };
}
