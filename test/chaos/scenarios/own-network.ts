import type { Notification } from '../facts.ts';
import { makeAgentNetwork, noNetworkReason, type AgentNetwork } from '../network.ts';
import { sleep } from '../programs.ts';
import type { Scenario } from '../scenario.ts';
import type { World } from '../world.ts';

/** The agent's own network fails, in ways that look like failing targets. */

const faultSeconds = 60;

type Fault = {
  name: string;
  about: string;
  /** The service is on another link, which works. */
  isServiceApart?: boolean;
  set: (network: AgentNetwork, isOn: boolean) => void;
};

/** No target is to blame, and no alert about a check may be sent. */
function ownFault({ name, about, isServiceApart = false, set }: Fault): Scenario {
  let network: AgentNetwork;
  return {
    name,
    about,
    missing: noNetworkReason,
    prepare: async () => {
      network = await makeAgentNetwork();
      const frontHost = isServiceApart ? network.apart : network.gateway;
      return { options: { ...optionsOf(network), frontHost }, undo: () => network.close() };
    },
    run: async () => {
      await sleep(30_000);
      const began = Date.now();
      set(network, true);
      await sleep(faultSeconds * 1_000);
      set(network, false);
      const ended = Date.now();
      await sleep(45_000);
      const isAround = (due: number) => due > began - 35_000 && due < ended + 25_000;
      return {
        missed: isAround,
        errored: { when: isAround, codes: ['OWN_NETWORK', 'LEASE_EXPIRED', 'NETWORK_UNAVAILABLE'] },
      };
    },
    after: async (world) => {
      const [spoiled] = await world.database.query<{ count: string }>(
        `select count(*) from check_results where reason->>'code' = 'OWN_NETWORK' and result_type = 'FINAL'`,
      );
      return locationAlertsOf(world.receiver.notifications, Number(spoiled?.count));
    },
  };
}

/** One alert about the location if its network spoiled runs, and at most one about its recovery after it. */
function locationAlertsOf(notifications: readonly Notification[], spoiled: number): string[] {
  const types = notifications
    .filter(({ type, accepted }) => accepted && type.startsWith('ALERT_LOCATION_NETWORK'))
    .map(({ type }) => type);
  const [begun, ended] = ['ALERT_LOCATION_NETWORK', 'ALERT_LOCATION_NETWORK_RECOVERY'];
  const right = spoiled === 0 ? [''] : [begun, `${begun} ${ended}`];
  return right.includes(types.join(' '))
    ? []
    : [
        `${spoiled} runs had no network of their own, and the alerts about the location are [${types.join(' ')}]`,
      ];
}

const optionsOf = (network: AgentNetwork) => ({
  agents: 1,
  host: '0.0.0.0',
  frontHost: network.gateway,
  addresses: [...network.targets],
  domain: network.domain,
  agentOptions: { before: network.before },
});

/** The opposite: a subnet of targets is gone, and the gateway lives. Those targets are to blame. */
const deadSubnet: Scenario = (() => {
  let network: AgentNetwork;
  return {
    name: 'dead-subnet',
    about: 'one of two subnets of targets is gone for 60 s; the gateway and the other subnet live',
    missing: noNetworkReason,
    prepare: async () => {
      network = await makeAgentNetwork();
      return { options: optionsOf(network), undo: () => network.close() };
    },
    run: async (world: World) => {
      await sleep(20_000);
      const gone = world.checks.filter(({ address }) => address === network.targets[1]);
      for (const check of gone) world.setBad(check, true);
      network.setSubnetDead(true);
      await sleep(faultSeconds * 1_000);
      network.setSubnetDead(false);
      for (const check of gone) world.setBad(check, false);
      await sleep(30_000);
      return {};
    },
  };
})();

/** One target of many is gone. */
export const ownNetworkScenarios: readonly Scenario[] = [
  ownFault({
    name: 'own-link-down',
    about: "the agent's own link is down for 60 s",
    set: (network, isOn) => network.setLink(!isOn),
  }),
  ownFault({
    name: 'own-link-apart',
    about: "the agent's own link to its targets is down for 60 s; the service is on another link",
    isServiceApart: true,
    set: (network, isOn) => network.setLink(!isOn),
  }),
  ownFault({
    name: 'own-route-gone',
    about: "the agent's default route is gone for 60 s",
    set: (network, isOn) =>
      isOn
        ? network.inside('route', 'del', 'default')
        : network.inside('route', 'replace', 'default', 'via', network.gateway),
  }),
  ownFault({
    name: 'own-route-swallows',
    about: "the agent's default route leads nowhere for 60 s; the service stays reachable",
    set: (network, isOn) => network.setSwallowing(isOn),
  }),
  ownFault({
    name: 'own-resolver-dead',
    about: "the agent's resolver is silent for 60 s",
    set: (network, isOn) => network.setResolverDead(isOn),
  }),
  deadSubnet,
];
