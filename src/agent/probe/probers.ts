import type { ProberName, ProberSettings } from './settings/module-file.ts';
import { probeDns } from './dns.ts';
import { probeGrpc } from './grpc.ts';
import { probeHttp } from './http.ts';
import { probeIcmp } from './icmp.ts';
import type { Prober } from './run.ts';
import { probeTcp } from './tcp.ts';

/** One function for each value of `prober`. */
export const probers: { readonly [P in ProberName]: Prober<ProberSettings[P]> } = {
  http: probeHttp,
  tcp: probeTcp,
  dns: probeDns,
  icmp: probeIcmp,
  grpc: probeGrpc,
};
