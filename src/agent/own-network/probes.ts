import { randomInt } from 'node:crypto';
import { encodeQuery } from '../../executors/dns/message.ts';
import { rcodeName } from '../../executors/dns/types.ts';
import { exchangeUdp } from '../../executors/dns/udp.ts';
import { ResolveError, type Network } from '../../executors/interface/network.ts';
import { connectTcp } from '../../executors/tcp/connect.ts';
import { toError } from '../../errors.ts';
import { codeOf } from '../../system-errors.ts';
import type { EndpointProbe, EndpointRole, ResolverProbe } from './facts.ts';
import type { Answered } from './memory.ts';
import { familyOf } from './routes.ts';

/** Asks hosts whether they answer. Every answer counts, also a refusal: it came over the network. */

type Asked = Answered | { kind: 'tcp' | 'icmp'; address: string; port: number | null };

/** The ports of a gateway that are tried; most answer on them, or refuse. */
const gatewayPorts = [53, 80];

/** Asks one endpoint. `signal` limits the wait; never rejects. */
export async function probeEndpoint(
  { kind, address, port }: Asked,
  named: { role: EndpointRole; name: string },
  { network, signal }: { network: Network; signal: AbortSignal },
): Promise<EndpointProbe> {
  const found =
    kind === 'icmp'
      ? await echo(address, network, signal)
      : kind === 'dns'
        ? await query({ address, port: port ?? 53 }, signal).then(({ state, found }) => ({
            answers: state !== 'silent',
            found,
          }))
        : await connection(address, port ?? 0, signal);
  return { ...named, address, port, ...found };
}

/** Asks a gateway in all ways at once: a ping, and connections to usual ports. */
export async function probeGateway(
  address: string,
  io: { network: Network; signal: AbortSignal },
): Promise<EndpointProbe> {
  const named = { role: 'gateway', name: `the gateway ${address}` } as const;
  const first = new AbortController();
  const stop = () => first.abort(io.signal.reason);
  if (io.signal.aborted) stop();
  io.signal.addEventListener('abort', stop, { once: true });
  const asks: Asked[] = [
    { kind: 'icmp', address, port: null },
    ...gatewayPorts.map((port) => ({ kind: 'tcp', address, port }) as const),
  ];
  const probes = await Promise.all(
    asks.map(async (asked) => {
      const probe = await probeEndpoint(asked, named, { ...io, signal: first.signal });
      if (probe.answers) stop();
      return probe;
    }),
  );
  io.signal.removeEventListener('abort', stop);
  const silent: EndpointProbe = { ...named, address, port: null, answers: false, found: 'does not answer' };
  return probes.find(({ answers }) => answers) ?? silent;
}

type Found = { answers: boolean; found: string };
const silent: Found = { answers: false, found: 'does not answer' };

async function connection(address: string, port: number, signal: AbortSignal): Promise<Found> {
  const family = familyOf(address);
  if (family === null) return { answers: false, found: 'is not an address' };
  try {
    const socket = await connectTcp({ addresses: [{ address, family }], port }, { signal, attempts: [] });
    socket.on('error', () => {}).destroy();
    return { answers: true, found: 'accepts connections' };
  } catch (error) {
    if (signal.aborted) return silent;
    const code = codeOf(error);
    return code === 'ECONNREFUSED' || code === 'ECONNRESET'
      ? { answers: true, found: 'answers, and refuses the connection' }
      : { answers: false, found: code ?? toError(error).message };
  }
}

async function echo(address: string, network: Network, signal: AbortSignal): Promise<Found> {
  try {
    const socket = await network.icmp(familyOf(address) ?? 4);
    const reply = await socket.echo(address, { payloadBytes: 32, timeoutMs: 10_000, signal });
    if (reply === null) return silent;
    return reply.error === null
      ? { answers: true, found: 'answers a ping' }
      : { answers: false, found: reply.error.code };
  } catch (error) {
    return signal.aborted ? silent : { answers: false, found: codeOf(error) ?? toError(error).message };
  }
}

type ServerState = ResolverProbe['servers'][number]['state'];

/** Asks for the root's name servers, because every server answers that, if only with a refusal. */
async function query(
  server: { address: string; port: number },
  signal: AbortSignal,
): Promise<{ state: ServerState; found: string }> {
  try {
    const root = encodeQuery({ id: randomInt(0x10000), name: '.', type: 2, edns: false });
    const progress = { tries: 0, ignored: 0, lastMismatch: null };
    const { rcode } = await exchangeUdp(server, root, { signal, resendAtMs: [500], progress });
    const state = rcode === 0 || rcode === 3 ? 'answers' : rcode === 2 ? 'fails' : 'refuses';
    return { state, found: `answers ${rcodeName(rcode)}` };
  } catch (error) {
    const found = signal.aborted ? 'does not answer' : (codeOf(error) ?? toError(error).message);
    return { state: 'silent', found };
  }
}

/**
 * Asks all name servers of this host, and resolves names: `known` have resolved before; `named` are in the agent's
 * configuration, and count unless they are mistyped or resolve without a name server.
 */
export async function probeResolver(
  { known, named }: { known: readonly string[]; named: readonly string[] },
  { network, signal }: { network: Network; signal: AbortSignal },
): Promise<ResolverProbe> {
  const servers = await network.nameServers().catch(() => []);
  const [asked, resolved, configured] = await Promise.all([
    Promise.all(
      servers.map(async (server) => ({ address: server.address, ...(await query(server, signal)) })),
    ),
    Promise.all(known.map((name) => resolveName(name, network, signal))),
    Promise.all(named.map((name) => resolveName(name, network, signal))),
  ]);
  const telling = configured.filter(({ found }) => found !== 'ENOTFOUND' && found !== withoutServer);
  return { servers: asked, names: [...resolved, ...telling] };
}

const withoutServer = 'resolves without a name server';

/** Resolves a name now; `signal` limits the wait. Never rejects. */
export async function resolveName(
  name: string,
  network: Network,
  signal: AbortSignal,
): Promise<ResolverProbe['names'][number]> {
  try {
    const { source } = await network.resolve(name, { family: 4, signal });
    return { name, resolves: true, found: source === 'hosts' ? withoutServer : 'resolves' };
  } catch (error) {
    const code = error instanceof ResolveError ? error.code : signal.aborted ? 'no answer' : codeOf(error);
    // A name may have IPv6 addresses only.
    if (code === 'ENOTFOUND') return resolveOverIpv6(name, network, signal);
    return { name, resolves: false, found: code ?? 'no answer' };
  }
}

async function resolveOverIpv6(name: string, network: Network, signal: AbortSignal) {
  try {
    await network.resolve(name, { family: 6, signal });
    return { name, resolves: true, found: 'resolves' };
  } catch {
    return { name, resolves: false, found: 'ENOTFOUND' };
  }
}
