import type { JobType } from '../protocol/check-types.ts';
import type { Executor } from './interface/executor.ts';

/**
 * The function that runs each check type. Each row loads its file on first use, so that an idle agent and the uptime
 * image load only what they need.
 */
export const executors: { readonly [T in JobType]: () => Promise<Executor<T>> } = {
  URL: async () => (await import('./url.ts')).executeUrl,
  API: async () => (await import('./api.ts')).executeApi,
  TCP: async () => (await import('./tcp.ts')).executeTcp,
  DNS: async () => (await import('./dns.ts')).executeDns,
  ICMP: async () => (await import('./icmp.ts')).executeIcmp,
  SSL: async () => (await import('./ssl.ts')).executeSsl,
  GRPC: async () => (await import('./grpc.ts')).executeGrpc,
  TRACEROUTE: async () => (await import('./traceroute.ts')).executeTraceroute,
  BROWSER: async () => (await import('./browser.ts')).executeBrowser,
  MULTI_STEP: async () => (await import('./multi-step.ts')).executeMultiStep,
  PLAYWRIGHT: async () => (await import('./playwright.ts')).executePlaywright,
};
