import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { networkRules, type NetworkPolicy } from '../../addresses/network-rules.ts';

/** How far customer code may reach: a policy, or `unlimited` for code that is the operator's own. */
export type ScriptNetwork = Omit<NetworkPolicy, 'resolvers'> | 'unlimited';

let current: () => ScriptNetwork = () => 'unlimited';

/** Sets the policy for every script that starts from now on in this process. It is asked at each start. */
export function limitScriptNetwork(policy: () => ScriptNetwork): void {
  current = policy;
}

/** The launcher's arguments for `network`, or for the policy of this process. */
export function networkArguments(network: ScriptNetwork = current()): string[] {
  if (network === 'unlimited') return [];
  return networkRules({ ...network, resolvers: nameServers() }).map((rule) => `--network=${rule}`);
}

/** The name servers of /etc/resolv.conf, which programs use; without any, the C library asks this machine. */
function nameServers(): string[] {
  let text = '';
  try {
    text = readFileSync('/etc/resolv.conf', 'utf8');
  } catch {
    // As without name servers.
  }
  const found = [...text.matchAll(/^\s*nameserver\s+([^\s%]+)/gm)].map(([, server = '']) => server);
  const valid = found.filter((server) => isIP(server) !== 0);
  return valid.length === 0 ? ['127.0.0.1', '::1'] : valid.slice(0, 8);
}

/** The line in a run's log about a connection that the launcher refused. `port` 0 = a socket in the file system. */
export function refusalText(target: string, port: number): string {
  if (target === '@')
    return 'A connection to an abstract socket was refused: scripts reach only their own sockets.';
  if (target.startsWith('/') || isIP(target) === 0) {
    return `The connection to the socket ${target} was refused: it is not in a folder of this run.`;
  }
  const shown = target.includes(':') ? `[${target}]` : target;
  const place = port === 0 ? target : `${shown}:${port}`;
  return `The connection to ${place} was refused: it is not in the allowed networks of this location (SCRIPT_ALLOWED_NETWORKS of the agent).`;
}
