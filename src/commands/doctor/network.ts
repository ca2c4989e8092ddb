import { createSocket } from 'node:dgram';
import { Resolver } from 'node:dns/promises';
import { once } from 'node:events';
import { isIPv6 } from 'node:net';
import { AgentError, toError } from '../../errors.ts';
import type { IpFamily, Network } from '../../executors/interface/network.ts';
import { note, ok, problem, type Finding, type Probe } from './finding.ts';
import { codeOf } from '../../system-errors.ts';

type Verdict = Omit<Finding, 'name'>;

/** Probes of this machine's network: name servers, routes, ICMP. */
export function networkProbes(network: Network): Probe[] {
  return [
    { name: 'name servers', run: (signal) => nameServers(network, signal) },
    { name: 'IPv4 route', run: () => route(4) },
    { name: 'IPv6 route', run: () => route(6) },
    { name: 'ICMP over IPv4', run: (signal) => icmp(network, 4, signal) },
    { name: 'ICMP over IPv6', run: (signal) => icmp(network, 6, signal) },
  ];
}

async function nameServers(network: Network, signal: AbortSignal): Promise<Verdict> {
  const servers = await network.nameServers();
  if (servers.length === 0) return problem('none is configured', 'name one in /etc/resolv.conf');
  const states = await Promise.all(
    servers.map(async ({ address, port }) => {
      const name = port === 53 ? address : `${address} port ${port}`;
      return { name, state: await askNameServer(address, port, signal) };
    }),
  );
  const message = states.map(({ name, state }) => `${name} ${state}`).join(', ');
  if (states.every(({ state }) => state === 'answers')) return ok(message);
  const remedy = 'fix /etc/resolv.conf or the route to the server (UDP and TCP port 53)';
  return states.some(({ state }) => state === 'answers') ? note(message, remedy) : problem(message, remedy);
}

/** Queries the root's name servers, because every server answers that query, if only with a refusal. */
async function askNameServer(address: string, port: number, signal: AbortSignal): Promise<string> {
  const resolver = new Resolver({ timeout: 2000, tries: 1 });
  signal.addEventListener('abort', () => resolver.cancel());
  try {
    resolver.setServers([`${isIPv6(address) ? `[${address}]` : address}:${port}`]);
    await resolver.resolveNs('.');
    return 'answers';
  } catch (error: unknown) {
    const code = codeOf(error);
    if (code === 'ENOTFOUND' || code === 'ENODATA') return 'answers';
    if (code === 'ESERVFAIL') return 'answers SERVFAIL';
    if (code === 'EREFUSED') return 'refuses to answer';
    return code === 'ETIMEOUT' ? 'does not answer' : `cannot be queried (${code})`;
  }
}

// Documentation addresses (RFC 5737, RFC 3849): connecting a datagram socket looks up the route and sends nothing.
const elsewhere: { readonly [F in IpFamily]: string } = { 4: '192.0.2.1', 6: '2001:db8::1' };

async function route(family: IpFamily): Promise<Verdict> {
  const socket = createSocket(family === 4 ? 'udp4' : 'udp6');
  try {
    socket.connect(53, elsewhere[family]);
    await once(socket, 'connect');
    return ok(`from ${socket.address().address}`);
  } catch (error: unknown) {
    const code = codeOf(error);
    return family === 4
      ? note(`none (${code})`, 'only targets on this machine and over IPv6 can be checked')
      : note(`none (${code})`, 'checks that request IPv6 fall back to IPv4 if the target has both');
  } finally {
    socket.close();
  }
}

async function icmp(network: Network, family: IpFamily, signal: AbortSignal): Promise<Verdict> {
  const address = family === 4 ? '127.0.0.1' : '::1';
  try {
    const socket = await network.icmp(family);
    const way = socket.way === 'ping' ? 'unprivileged ping socket' : 'raw socket';
    const reply = await socket.echo(address, { payloadBytes: 32, timeoutMs: 2000, signal });
    if (reply === null) {
      return problem(
        `${way}, but ${address} does not answer`,
        'check whether a firewall drops echo requests',
      );
    }
    if (reply.error !== null) {
      return problem(
        `${way}, but ${address} answers ${reply.error.code}`,
        'check whether a firewall rejects echo requests',
      );
    }
    return ok(way);
  } catch (error: unknown) {
    // An AgentError names the attempts and how to grant the permission.
    const remedy = error instanceof AgentError ? error.message : `it failed: ${toError(error).message}`;
    return family === 4 ? problem('not available', remedy) : note('not available', remedy);
  }
}
