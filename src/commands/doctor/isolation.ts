import { confinement, type Confinement } from '../../script/process/confinement.ts';
import { note, ok, problem, type Probe } from './finding.ts';
import { nonDumpable } from './guard-process.ts';

/** The layers between customers' scripts and this host; docs/isolation.md has the complete table. */
export function isolationProbes(): Probe[] {
  return [
    { name: 'script isolation', run: async () => layersFinding(await confinement()) },
    {
      name: 'script reach',
      run: async () => reachFinding(await confinement(), process.geteuid?.() === 0, nonDumpable === true),
    },
  ];
}

/** Which layers work, and the remedy for each that does not. */
export function layersFinding(host: Confinement) {
  if (host.launcher === null) {
    return problem('none: scripts run unconfined', host.missing.join('; '));
  }
  const names = Object.entries(host.holds)
    .filter(([, holds]) => holds)
    .map(([layer]) => labelOf(layer, host));
  const message = names.join(', ');
  if (host.ptraceScope !== null) return problem(message, host.missing.join('; '));
  return host.missing.length === 0 ? ok(message) : note(message, host.missing.join('; '));
}

function labelOf(layer: string, host: Confinement): string {
  if (layer === 'landlock') return `landlock ${host.landlockVersion}`;
  return layer === 'network' && host.networkMeans === 'own sockets' ? 'network (own sockets)' : layer;
}

/** What a hostile script could still do here, besides using the networks that its location allows. */
export function reachFinding(
  { holds, landlockVersion, ptraceScope }: Confinement,
  asRoot: boolean,
  guarded: boolean,
) {
  const files = holds.landlock;
  const { network } = holds;
  const signals = holds.namespaces || (holds.landlock && landlockVersion >= 6);
  const open = [
    ...(files ? [] : ["browser and multi-step scripts can read this user's files, including the key file"]),
    ...(files || !asRoot ? [] : ["they can change the kernel's settings, because the agent runs as root"]),
    ...(guarded || files || holds.namespaces ? [] : ["scripts can read the agent's memory and environment"]),
    ...(signals || holds.seccomp ? [] : ['scripts can kill or debug the agent']),
    ...(signals || !holds.seccomp ? [] : ['scripts can send signals to other processes of this user']),
    ...(holds.mounts ? [] : ["browser scripts and suites can change modes and times of this user's files"]),
    ...(holds.mounts || network || (files && landlockVersion >= 9)
      ? []
      : ['they can connect to sockets in the file system that this user may use']),
    ...(holds.seccomp ? [] : ['they can leave set-uid programs of this user']),
    ...(holds.namespaces ? [] : ['scripts can see which processes run, and their arguments']),
  ];
  if (!network && ptraceScope === null)
    open.push(
      'scripts reach every address that this host reaches, including loopback and metadata addresses',
    );
  if (open.length === 0) return ok('its own files, and the allowed networks of its location');
  return note(open.join('; '), 'see docs/isolation.md for the kind of host that prevents each of these');
}
