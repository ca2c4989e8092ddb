import { isIPv6 } from 'node:net';
import { randomInt } from 'node:crypto';
import { DnsMalformed, encodeQuery, readName, type DnsMessage, type DnsQuery } from '../dns/message.ts';
import { exchangeStream } from '../dns/stream.ts';
import { ipv4Text, ipv6Text } from '../dns/text.ts';
import { rcodeName } from '../dns/types.ts';
import { exchangeUdp, type DnsServer } from '../dns/udp.ts';
import { ResolveError, type IpFamily, type ResolvedAddress } from '../interface/network.ts';
import type { ResolvConf } from './resolv-conf.ts';
import { connectTcp } from '../tcp/connect.ts';
import { connectionReason } from '../tcp/errors.ts';

/** Time before a query goes to the next server if resolv.conf sets no `timeout`; earlier queries stay open. */
const defaultStepMs = 1000;
/** How long to wait for the last query if resolv.conf sets no `timeout` (resolv.conf(5)). */
const defaultLastWaitMs = 5000;
/** For this time, a server that did not answer a query while another did is queried last. */
const avoidSlowMs = 30_000;
const maxAliases = 16;
const maxAddresses = 64;

const typeOf: { readonly [F in IpFamily]: number } = { 4: 1, 6: 28 };
const cnameType = 5;

/**
 * A resolver that queries the name servers of resolv.conf itself, as the C library would (resolv.conf(5), RFC 1034
 * 5.3).
 */
export type StubResolver = {
  /**
   * Addresses of an ASCII name in one family; a trailing dot disables the search list. Rejects with ResolveError:
   * ENOTFOUND (no such name, or no address of that family), EAI_AGAIN (servers answered with failures) or TIMEOUT (no
   * answer); or with `signal.reason`.
   */
  lookup: (name: string, family: IpFamily, signal: AbortSignal) => Promise<ResolvedAddress[]>;
};

type Answer =
  { kind: 'addresses'; addresses: ResolvedAddress[] } | { kind: 'none' } | { kind: 'failure'; why: string };

/** The names to query, in order (resolv.conf(5), ndots). */
export function candidateNames(name: string, conf: Pick<ResolvConf, 'search' | 'ndots'>): string[] {
  if (name.endsWith('.')) return [name];
  const dots = name.split('.').length - 1;
  const searched = conf.search
    .map((domain) => `${name}.${domain}`)
    .filter((fullName) => fullName.length <= 253);
  return dots >= conf.ndots ? [name, ...searched] : [...searched, name];
}

function addressOf(
  message: DnsMessage,
  start: number,
  end: number,
  family: IpFamily,
): ResolvedAddress | null {
  const data = message.bytes.subarray(start, end);
  if (data.length !== (family === 4 ? 4 : 16)) return null;
  return { address: family === 4 ? ipv4Text(data) : ipv6Text(data), family };
}

/** Addresses in an answer, following its chain of aliases. */
export function addressesOf(message: DnsMessage, name: string, family: IpFamily): ResolvedAddress[] {
  let owner = (name.endsWith('.') ? name : `${name}.`).toLowerCase();
  for (let aliases = 0; aliases <= maxAliases; aliases += 1) {
    const own = message.answers.filter((record) => record.class === 1 && record.name.toLowerCase() === owner);
    const addresses = own
      .filter(({ type }) => type === typeOf[family])
      .map(({ start, end }) => addressOf(message, start, end, family))
      .filter((address) => address !== null)
      .slice(0, maxAddresses);
    if (addresses.length > 0) return addresses;
    const alias = own.find(({ type }) => type === cnameType);
    if (alias === undefined) return [];
    owner = readName(message.bytes, alias.start, alias.end).name.toLowerCase();
  }
  return [];
}

/** One query to one server: by UDP, and by TCP if the answer was too long for UDP. */
async function exchange(
  server: DnsServer,
  query: DnsQuery,
  { useTcp, signal }: { useTcp: boolean; signal: AbortSignal },
): Promise<DnsMessage> {
  if (!useTcp) {
    const progress = { tries: 0, ignored: 0, lastMismatch: null };
    const answer = await exchangeUdp(server, query, { signal, resendAtMs: [], progress });
    if (!answer.flags.tc) return answer;
  }
  const family: IpFamily = isIPv6(server.address) ? 6 : 4;
  const addresses = [{ address: server.address, family }];
  const socket = await connectTcp({ addresses, port: server.port }, { signal, attempts: [] });
  socket.on('error', () => {}); // nobody else listens after the exchange
  try {
    return (await exchangeStream(socket, query, signal)).answer;
  } finally {
    socket.destroy();
  }
}

/**
 * A short text for why a server could not be queried. Throws any error that neither the server nor the network
 * caused.
 */
function causeOf(error: unknown): string {
  return error instanceof DnsMalformed ? error.message : connectionReason(error).code;
}

type Question = { name: string; type: number; family: IpFamily };

type AskOptions = {
  conf: ResolvConf;
  signal: AbortSignal;
  /** Called with the server that answered, and those whose older queries were still open. */
  onAnswer: (server: DnsServer, waiting: readonly DnsServer[]) => void;
};

/** The answer of one server. Rejects only for a fault of this host or of the agent. */
async function askServer(
  server: DnsServer,
  { name, type, family }: Question,
  options: { useTcp: boolean; signal: AbortSignal },
): Promise<Answer> {
  try {
    const query = encodeQuery({ id: randomInt(0x10000), name, type, edns: false });
    const message = await exchange(server, query, options);
    if (message.rcode === 3) return { kind: 'none' };
    if (message.rcode !== 0)
      return { kind: 'failure', why: `${server.address} answered ${rcodeName(message.rcode)}` };
    const addresses = addressesOf(message, name, family);
    return addresses.length === 0 ? { kind: 'none' } : { kind: 'addresses', addresses };
  } catch (error) {
    return { kind: 'failure', why: `${server.address}: ${causeOf(error)}` };
  }
}

/** Queries the servers in turn. Each query stays open while the next is sent; the first usable answer wins. */
function askServers(
  servers: readonly DnsServer[],
  question: Question,
  { conf, signal, onAnswer }: AskOptions,
): Promise<Answer> {
  const stepMs = conf.timeoutMs ?? defaultStepMs;
  const queries = servers.length * conf.attempts;
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason);
      return;
    }
    const others = new AbortController();
    const open = new Set<DnsServer>();
    let sent = 0;
    let failure: string | null = null;
    let timer: NodeJS.Timeout | null = null;
    const finish = (settle: () => void) => {
      if (timer !== null) clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      others.abort();
      settle();
    };
    const onAbort = () => finish(() => reject(signal.reason));
    const giveUp = () =>
      finish(() => {
        if (failure !== null) {
          resolve({ kind: 'failure', why: failure });
          return;
        }
        const asked = servers.map(({ address }) => address).join(', ');
        reject(
          new ResolveError('TIMEOUT', `${question.name} could not be resolved: no answer from ${asked}`),
        );
      });
    const advance = () => {
      if (timer !== null) clearTimeout(timer);
      timer = null;
      const server = servers[sent % servers.length];
      if (sent >= queries || server === undefined) {
        if (open.size === 0) giveUp();
        else timer = setTimeout(giveUp, conf.timeoutMs ?? defaultLastWaitMs);
        return;
      }
      sent += 1;
      ask(server);
      timer = setTimeout(advance, stepMs);
    };
    const ask = (server: DnsServer) => {
      const waiting = [...open];
      open.add(server);
      askServer(server, question, { useTcp: conf.useTcp, signal: others.signal })
        .then((answer) => {
          if (others.signal.aborted) return;
          open.delete(server);
          if (answer.kind === 'failure') {
            failure ??= answer.why;
            advance();
            return;
          }
          onAnswer(server, waiting);
          finish(() => resolve(answer));
        })
        // A fault of this host or of the agent.
        .catch((error: unknown) => finish(() => reject(error)));
    };
    signal.addEventListener('abort', onAbort, { once: true });
    advance();
  });
}

/** Creates the resolver. `conf` is read at each lookup, so that changes to resolv.conf take effect. */
export function createStubResolver(conf: () => ResolvConf): StubResolver {
  const slowUntil = new Map<string, number>();
  let turn = 0;

  function orderedServers(current: ResolvConf): DnsServer[] {
    const { servers } = current;
    const first = current.rotate ? turn++ % servers.length : 0;
    const rotated = [...servers.slice(first), ...servers.slice(0, first)];
    if (slowUntil.size === 0) return rotated;
    const now = performance.now();
    const isSlow = ({ address, port }: DnsServer) => (slowUntil.get(`${address} ${port}`) ?? 0) > now;
    return [...rotated.filter((server) => !isSlow(server)), ...rotated.filter(isSlow)];
  }

  /** Servers that still have an open query when a later one is answered were slow. */
  function noteSpeed(server: DnsServer, waiting: readonly DnsServer[]): void {
    const until = performance.now() + avoidSlowMs;
    slowUntil.delete(`${server.address} ${server.port}`);
    for (const slow of waiting) {
      if (slow !== server) slowUntil.set(`${slow.address} ${slow.port}`, until);
    }
  }

  async function lookup(name: string, family: IpFamily, signal: AbortSignal): Promise<ResolvedAddress[]> {
    const current = conf();
    let failure: string | null = null;
    for (const candidate of candidateNames(name, current)) {
      const question = { name: candidate, type: typeOf[family], family };
      const answer = await askServers(orderedServers(current), question, {
        conf: current,
        signal,
        onAnswer: noteSpeed,
      });
      if (answer.kind === 'addresses') return answer.addresses;
      if (answer.kind === 'failure') failure ??= answer.why;
    }
    if (failure !== null) throw new ResolveError('EAI_AGAIN', `${name} could not be resolved: ${failure}`);
    throw new ResolveError('ENOTFOUND', `${name} has no ${family === 4 ? 'IPv4' : 'IPv6'} address`);
  }

  return { lookup };
}
