import { createAuthority, selfSigned } from './certificates.ts';
import { startDnsTarget, type DnsTarget, type DnsTargetOptions } from './dns-target.ts';
import { startHttpTarget, type HttpTarget, type HttpTargetOptions } from './http-target.ts';
import { startGrpcTarget, type GrpcTarget } from './grpc-target.ts';
import { startTcpTarget, type TcpTarget } from './tcp-target.ts';
import { dayMs } from '../durations.ts';

export type TargetsOptions = {
  /** Address that all servers listen on; certificates are valid for it and for localhost. */
  host?: string;
  /** Ports by server, for those that must not change; by default any free port. */
  ports?: Partial<TargetPorts>;
  routes?: HttpTargetOptions['routes'];
  zone?: DnsTargetOptions['zone'];
  /** The time from which the certificates' validity is counted. */
  now?: Date;
};

export type TargetPorts = {
  http: number;
  https: number;
  expired: number;
  wrongHost: number;
  selfSigned: number;
  echo: number;
  banner: number;
  silent: number;
  closing: number;
  dns: number;
  grpc: number;
};

/** All sample targets of one process. */
export type Targets = {
  http: HttpTarget;
  /** Certificates by their state; `valid` has 90 days left, `expired` expired 10 days ago. */
  https: { valid: HttpTarget; expired: HttpTarget; wrongHost: HttpTarget; selfSigned: HttpTarget };
  /** PEM of the authority that signed all of them except `selfSigned`. */
  caCertificate: string;
  tcp: { echo: TcpTarget; banner: TcpTarget; silent: TcpTarget; closing: TcpTarget };
  dns: DnsTarget;
  grpc: GrpcTarget;
  ports: TargetPorts;
  close: () => Promise<void>;
};

/** Starts every sample target on loopback. Rejects, with nothing left open, if a requested port is taken. */
export async function startTargets(options: TargetsOptions = {}): Promise<Targets> {
  const host = options.host ?? '127.0.0.1';
  const now = (options.now ?? new Date()).getTime();
  const authority = await createAuthority({ commonName: 'Sample targets', now: new Date(now) });
  const names = [...new Set([host, '127.0.0.1', '::1', 'localhost'])];
  const days = (from: number, to: number) => ({
    commonName: 'localhost',
    names,
    notBefore: new Date(now + from * dayMs),
    notAfter: new Date(now + to * dayMs),
  });

  const open: { close: () => Promise<void> }[] = [];
  const keep = async <T extends { close: () => Promise<void> }>(starting: Promise<T>): Promise<T> => {
    const target = await starting;
    open.push(target);
    return target;
  };
  const port = (name: keyof TargetPorts) => ({ host, port: options.ports?.[name] ?? 0 });
  const routes = options.routes === undefined ? {} : { routes: options.routes };
  const zone = options.zone === undefined ? {} : { zone: options.zone };
  const close = async (): Promise<void> => {
    await Promise.all(open.map((target) => target.close()));
  };

  try {
    const http = await keep(startHttpTarget({ ...port('http'), ...routes }));
    const https = {
      valid: await keep(
        startHttpTarget({ ...port('https'), ...routes, certificate: await authority.issue(days(-1, 90)) }),
      ),
      expired: await keep(
        startHttpTarget({
          ...port('expired'),
          ...routes,
          certificate: await authority.issue(days(-100, -10)),
        }),
      ),
      wrongHost: await keep(
        startHttpTarget({
          ...port('wrongHost'),
          ...routes,
          certificate: await authority.issue({
            ...days(-1, 90),
            commonName: 'other.test',
            names: ['other.test'],
          }),
        }),
      ),
      selfSigned: await keep(
        startHttpTarget({ ...port('selfSigned'), ...routes, certificate: await selfSigned(days(-1, 90)) }),
      ),
    };
    const tcp = {
      echo: await keep(startTcpTarget('echo', port('echo'))),
      banner: await keep(startTcpTarget('banner', port('banner'))),
      silent: await keep(startTcpTarget('silent', port('silent'))),
      closing: await keep(startTcpTarget('closing', port('closing'))),
    };
    const dns = await keep(startDnsTarget({ ...port('dns'), ...zone }));
    const grpc = await keep(startGrpcTarget(port('grpc')));
    return {
      http,
      https,
      caCertificate: authority.certificate.cert,
      tcp,
      dns,
      grpc,
      ports: {
        http: http.port,
        https: https.valid.port,
        expired: https.expired.port,
        wrongHost: https.wrongHost.port,
        selfSigned: https.selfSigned.port,
        echo: tcp.echo.port,
        banner: tcp.banner.port,
        silent: tcp.silent.port,
        closing: tcp.closing.port,
        dns: dns.port,
        grpc: grpc.port,
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
