import { readFileSync } from 'node:fs';
import { AgentError, toError } from '../../errors.ts';
import { loadNative, nativeProblem, rawSocketHelper } from '../../native/native.ts';
import type { IpFamily } from '../interface/network.ts';
import { openNativePingSocket } from './ping-socket-native.ts';
import type { PingSocket, PingSocketOptions } from '../interface/ping-socket.ts';

const remedy =
  'Grant one of them: sysctl -w net.ipv4.ping_group_range="0 2147483647" (for a container: --sysctl, or a pod\'s ' +
  'securityContext.sysctls), or the capability NET_RAW (--cap-add NET_RAW, or capabilities.add: [NET_RAW])';

/**
 * Opens the ICMP socket of a family. It tries, in this order: the unprivileged ping socket, a raw socket of the
 * addon, a raw socket from the helper program with the capability. Without the addon it tries the raw-socket package.
 * Rejects with AgentError ICMP_UNAVAILABLE, which lists what was tried, why each failed and how to grant access.
 */
export async function openPingSocket(family: IpFamily, options: PingSocketOptions = {}): Promise<PingSocket> {
  const failures: string[] = [];
  const native = loadNative();
  if (native !== null) {
    for (const way of ['ping', 'raw'] as const) {
      const opened = openNativePingSocket(native, family, way, options);
      if (typeof opened !== 'string') return opened;
      failures.push(`${way} socket: ${opened}${explained(opened, way)}`);
    }
    const helper = rawSocketHelper();
    if (helper !== null) {
      const opened = openNativePingSocket(native, family, 'raw', { ...options, helper });
      if (typeof opened !== 'string') return opened;
      failures.push(`raw socket by its helper: ${opened}${explained(opened, 'raw')}`);
    }
  } else {
    failures.push(`ping socket: ${nativeProblem() ?? 'unknown'}`);
    try {
      if (options.source || options.whole)
        throw new Error('it has no source addresses and fragments requests');
      const { openPackagePingSocket } = await import('./ping-socket-package.ts');
      return openPackagePingSocket(family);
    } catch (error: unknown) {
      const [message = ''] = toError(error).message.split('\n', 1);
      failures.push(`raw-socket package: ${message}`);
    }
  }
  throw new AgentError(
    'ICMP_UNAVAILABLE',
    `cannot ping over IPv${family}: ${failures.join('; ')}. ${remedy}`,
  );
}

function explained(errnoName: string, way: PingSocket['way']): string {
  if (errnoName === 'EAFNOSUPPORT') return ' (this host does not have the protocol)';
  if (way === 'raw') return errnoName === 'EPERM' ? ' (the capability NET_RAW is missing)' : '';
  if (errnoName !== 'EACCES') return '';
  return ` (group ${process.getgid?.() ?? 'unknown'} is outside of net.ipv4.ping_group_range, which is "${pingGroupRange()}")`;
}

function pingGroupRange(): string {
  try {
    return readFileSync('/proc/sys/net/ipv4/ping_group_range', 'utf8').trim().split(/\s+/).join(' ');
  } catch {
    return 'unreadable';
  }
}
