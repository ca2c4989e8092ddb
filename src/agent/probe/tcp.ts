import type { Socket } from 'node:net';
import { connectTcp } from '../../executors/tcp/connect.ts';
import { lookUp, messageOf } from './address.ts';
import { secureConnection, setTls, tlsFacts } from './certificates.ts';
import { converse } from './dialogue.ts';
import { hostPort } from './host-port.ts';
import type { Prober } from './run.ts';
import type { TcpSettings } from './settings/others.ts';

/** Connects, with TLS if wanted, and then sends and expects what the steps say. */
export const probeTcp: Prober<TcpSettings> = async (settings, run) => {
  const { gauges, log, signal } = run;
  gauges.set('probe_failed_due_to_regex', 0);
  gauges.set('probe_failed_due_to_bytes', 0);
  const server = hostPort(run.target, null);
  if (server === null) {
    log('The target is not host:port');
    return false;
  }
  const address = await lookUp(server.host, settings.ip, run);
  if (address === null) return false;
  let socket: Socket | null = null;
  try {
    socket = await connectTcp(
      { addresses: [address], port: server.port },
      { signal, attempts: [], ...(settings.source === null ? {} : { localAddress: settings.source }) },
    );
    socket.on('error', () => undefined);
    log('Connected', { address: address.address, port: server.port });
    const secure = async (plain: Socket): Promise<Socket> => {
      const host = run.hostname ?? server.host;
      const done = await secureConnection(plain, settings.tlsConfig, { host, signal });
      const facts = tlsFacts(done);
      if (facts !== null) setTls(gauges, facts, { chain: true, cipher: false });
      return done;
    };
    const stream = settings.tls ? await secure(socket) : socket;
    return await converse(stream, settings.steps, { run, secure });
  } catch (error: unknown) {
    log('The probe failed', { err: messageOf(error) });
    return false;
  } finally {
    socket?.destroy();
  }
};
