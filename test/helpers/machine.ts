import { networkInterfaces } from 'node:os';

/**
 * What a machine may lack and no set-up can give: a test that needs it is skipped, and one line says why.
 * (What the set-up gives is asserted by scripts/test.mjs under CI, so that its absence is not skipped over.)
 */
function can(available: boolean, lack: string): boolean {
  if (!available) process.stderr.write(`skipped here: ${lack}\n`);
  return available;
}

const loopback = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);

/** ::1 answers. Containers on a default bridge have none. */
export const hasIpv6Loopback = can(
  loopback.some(({ address }) => address === '::1'),
  'tests over ::1, which this machine does not have',
);
