import type { ClientHttp2Session } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import { emptyAnswer, isGrpc, makeCall, openSession } from '../../executors/grpc/call.ts';
import { frameOf } from '../../executors/grpc/frames.ts';
import { fieldsOf, Writer } from '../../executors/grpc/wire.ts';
import { openConnection, type ConnectionFacts } from '../../executors/http/connection.ts';
import { startPhases } from '../../executors/http/phases.ts';
import { userAgent } from '../../executors/http/outcome.ts';
import { healthStatusNames } from '../../protocol/grpc.ts';
import { lookUp, messageOf, probeNetwork } from './address.ts';
import { setTls, tlsFacts } from './certificates.ts';
import { hostPort } from './host-port.ts';
import type { Prober, ProbeRun } from './run.ts';
import type { GrpcSettings } from './settings/others.ts';

const codes = { unavailable: 14, deadlineExceeded: 4, unknown: 2 } as const;

/** Asks the health service (Check). */
export const probeGrpc: Prober<GrpcSettings> = async (settings, run) => {
  const { gauges, log } = run;
  gauges.set('probe_grpc_ssl', 0);
  gauges.set('probe_grpc_status_code', 0);
  gauges.set('probe_ssl_earliest_cert_expiry', 0);
  gauges.phases('probe_grpc_duration_seconds', 'resolve');
  const server = hostPort(
    run.target.replace(/^https?:\/\//, '').replace(/\/.*$/, ''),
    settings.tls ? 443 : 80,
  );
  if (server === null) {
    log('The target is not host[:port]');
    return false;
  }
  const resolving = performance.now();
  const address = await lookUp(server.host, settings.ip, run);
  gauges.set('probe_grpc_duration_seconds', (performance.now() - resolving) / 1000, { phase: 'resolve' });
  if (address === null) return false;
  const checking = performance.now();
  const { status, health } = await check(settings, run, server);
  gauges.set('probe_grpc_duration_seconds', (performance.now() - checking) / 1000, { phase: 'check' });
  for (const [value, name] of healthStatusNames.entries()) {
    gauges.set('probe_grpc_healthcheck_response', value === health ? 1 : 0, { serving_status: name });
  }
  gauges.set('probe_grpc_status_code', status);
  log('The health service was asked', { status, health: health === null ? null : healthStatusNames[health] });
  return status === 0 && health === 1;
};

/** The status of the call, and the answer; null = there was none. */
async function check(
  settings: GrpcSettings,
  run: ProbeRun,
  { host, port }: { host: string; port: number },
): Promise<{ status: number; health: number | null }> {
  const { signal, log, now } = run;
  const { tlsConfig, tls } = settings;
  const facts: ConnectionFacts = {
    address: null,
    attempts: [],
    ipFallback: false,
    certificate: null,
    clientCertificate: null,
  };
  let session: ClientHttp2Session | null = null;
  try {
    const socket = await openConnection(
      {
        host,
        port,
        secure: tls,
        serverName: tlsConfig.serverName === '' ? host : tlsConfig.serverName,
        family: settings.ip.preferred,
        skipSsl: tlsConfig.insecure,
        http2: true,
        proxy: null,
        clientCertificates: [],
        tls: { context: tlsConfig.context, onSecure: (secure) => setFacts(secure, run) },
      },
      { network: probeNetwork(settings.ip, run), signal, now, facts, record: startPhases() },
    );
    const authority = `${host.includes(':') ? `[${host}]` : host}:${port}`;
    session = openSession(socket, `${tls ? 'https' : 'http'}://${authority}`);
    const question = new Writer();
    if (settings.service !== '') question.text(1, settings.service);
    const answer = emptyAnswer();
    await makeCall(
      session,
      {
        path: '/grpc.health.v1.Health/Check',
        authority,
        secure: tls,
        metadata: [...settings.metadata],
        messages: [await frameOf(question.done(), 'none')],
        compression: 'none',
        timeoutMs: null,
        userAgent,
      },
      { answer, signal, limits: { maxMessageBytes: 4_194_304, maxMessages: 1, isStream: false } },
    );
    if (!isGrpc(answer)) return { status: answer.status ?? codes.unknown, health: null };
    const [first] = answer.messages;
    const field =
      first === undefined ? undefined : [...fieldsOf(first)].findLast(({ number }) => number === 1);
    const health = first === undefined ? null : Number(field?.varint ?? 0n);
    return { status: answer.status ?? codes.unknown, health };
  } catch (error: unknown) {
    log('The call failed', { err: messageOf(error) });
    return { status: signal.aborted ? codes.deadlineExceeded : codes.unavailable, health: null };
  } finally {
    session?.destroy();
  }
}

function setFacts(secure: TLSSocket, { gauges }: ProbeRun): void {
  const seen = tlsFacts(secure);
  if (seen === null) return;
  gauges.set('probe_grpc_ssl', 1);
  setTls(gauges, seen, { chain: false, cipher: false });
}
