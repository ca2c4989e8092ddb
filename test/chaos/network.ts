import { execFileSync } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import dnsPacket from 'dns-packet';

/**
 * A network of its own for agents: a namespace behind a gateway (this machine), two subnets of targets beyond the gateway, and a
 * resolver on it.
 */
export type AgentNetwork = {
  /** Words before a program that runs in it. */
  before: readonly string[];
  /** Of this machine, on the link to the agents. */
  gateway: string;
  /** Of this machine, on another link, which no fault touches. */
  apart: string;
  /** Addresses of targets, each in a subnet of its own beyond the gateway. */
  targets: readonly [string, string];
  /** Names below it resolve to the first of `targets`. */
  domain: string;
  /** Runs `ip` in the agents' namespace. */
  inside: (...words: string[]) => void;
  setLink: (isUp: boolean) => void;
  /** The agents' default route leads to a gateway that answers nothing, or to the real one. */
  setSwallowing: (isSwallowing: boolean) => void;
  /** The second subnet of targets is gone, with the gateway alive. */
  setSubnetDead: (isDead: boolean) => void;
  setResolverDead: (isDead: boolean) => void;
  close: () => Promise<void>;
};

/** Names and addresses of one run, so that several runs can take place at once on one machine. */
const name = `agents-chaos-${process.pid}`;
const [outer, inner] = [`ch-out-${process.pid}`, `ch-in-${process.pid}`];
const [outerApart, innerApart] = [`ch-ot-${process.pid}`, `ch-it-${process.pid}`];
const domain = 'names.chaos.test';

/** The first two numbers of addresses that nobody on this machine has. */
function freeNetwork(): string {
  const taken = execFileSync('ip', ['-o', '-4', 'addr']).toString();
  const free = Array.from({ length: 100 }, (_, index) => `10.${120 + ((process.pid + index) % 100)}`).find(
    (start) => !taken.includes(` ${start}.`),
  );
  if (free === undefined) throw new Error('there is no free network for agents');
  return free;
}

const run = (command: string, ...words: string[]) => void execFileSync(command, words, { stdio: 'pipe' });
const quietly = (command: string, ...words: string[]) => {
  try {
    run(command, ...words);
  } catch {
    // It was not there.
  }
};

/** Why there can be no such network here; null = there can. */
export function noNetworkReason(): string | null {
  if (process.getuid?.() !== 0) return 'a network namespace needs root';
  try {
    run('ip', 'netns', 'add', `${name}-probe`);
    run('ip', 'netns', 'del', `${name}-probe`);
    return null;
  } catch {
    return 'network namespaces cannot be made here';
  }
}

export async function makeAgentNetwork(): Promise<AgentNetwork> {
  const network = freeNetwork();
  const gateway = `${network}.77.1`;
  const inside = `${network}.77.2`;
  const apart = `${network}.80.1`;
  const silent = `${network}.77.9`;
  const targets = [`${network}.78.1`, `${network}.79.1`] as const;
  const deadNetwork = `${network}.79.0/24`;
  run('ip', 'netns', 'add', name);
  run('ip', 'link', 'add', outer, 'type', 'veth', 'peer', 'name', inner);
  run('ip', 'link', 'set', inner, 'netns', name);
  run('ip', 'addr', 'add', `${gateway}/24`, 'dev', outer);
  run('ip', 'link', 'set', outer, 'up');
  for (const address of targets) run('ip', 'addr', 'add', `${address}/32`, 'dev', outer);
  run('ip', 'link', 'add', outerApart, 'type', 'veth', 'peer', 'name', innerApart);
  run('ip', 'link', 'set', innerApart, 'netns', name);
  run('ip', 'addr', 'add', `${apart}/24`, 'dev', outerApart);
  run('ip', 'link', 'set', outerApart, 'up');
  const ip = (...words: string[]) => run('ip', '-n', name, ...words);
  const route = () => ip('route', 'replace', 'default', 'via', gateway);
  ip('link', 'set', 'lo', 'up');
  ip('addr', 'add', `${inside}/24`, 'dev', inner);
  ip('link', 'set', inner, 'up');
  ip('addr', 'add', `${network}.80.2/24`, 'dev', innerApart);
  ip('link', 'set', innerApart, 'up');
  route();
  mkdirSync(`/etc/netns/${name}`, { recursive: true });
  writeFileSync(`/etc/netns/${name}/resolv.conf`, `nameserver ${gateway}\noptions timeout:1 attempts:2\n`);

  let isResolverDead = false;
  const resolver = createSocket('udp4');
  resolver.on('message', (message, from) => {
    if (isResolverDead) return;
    const query = dnsPacket.decode(message);
    const [question] = query.questions ?? [];
    const isOurs = question?.name.endsWith(domain) === true;
    const answer = dnsPacket.encode({
      type: 'response',
      id: query.id ?? 0,
      flags: dnsPacket.RECURSION_AVAILABLE | (isOurs ? 0 : 3),
      questions: query.questions ?? [],
      answers:
        isOurs && question?.type === 'A'
          ? [{ type: 'A', name: question.name, ttl: 1, data: targets[0] }]
          : [],
    });
    resolver.send(answer, from.port, from.address);
  });
  await new Promise<void>((resolve, reject) => {
    resolver.once('error', reject);
    resolver.bind(53, gateway, resolve);
  });

  return {
    before: ['ip', 'netns', 'exec', name],
    gateway,
    apart,
    targets,
    domain,
    inside: ip,
    setLink: (isUp) => {
      ip('link', 'set', inner, isUp ? 'up' : 'down');
      if (isUp) route();
    },
    setSwallowing: (isSwallowing) => {
      if (!isSwallowing) return route();
      ip('neigh', 'replace', silent, 'lladdr', '02:00:00:00:00:09', 'dev', inner, 'nud', 'permanent');
      ip('route', 'replace', 'default', 'via', silent);
    },
    setSubnetDead: (isDead) => {
      if (isDead) {
        run('ip', 'addr', 'del', `${targets[1]}/32`, 'dev', outer);
        run('ip', 'route', 'add', 'blackhole', deadNetwork);
      } else {
        run('ip', 'route', 'del', 'blackhole', deadNetwork);
        run('ip', 'addr', 'add', `${targets[1]}/32`, 'dev', outer);
      }
    },
    setResolverDead: (isDead) => void (isResolverDead = isDead),
    close: async () => {
      resolver.close();
      quietly('ip', 'route', 'del', 'blackhole', deadNetwork);
      remove();
    },
  };
}

function remove(): void {
  quietly('ip', 'netns', 'del', name);
  quietly('ip', 'link', 'del', outer);
  quietly('ip', 'link', 'del', outerApart);
  rmSync(`/etc/netns/${name}`, { recursive: true, force: true });
}
