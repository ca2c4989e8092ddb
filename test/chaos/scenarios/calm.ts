import { sleep } from '../programs.ts';
import type { Scenario } from '../scenario.ts';

/** No fault at all: what the oracle finds here is its own mistake or the product's. */
export const calm: Scenario = {
  name: 'calm',
  about: 'no fault, two agents, one replica',
  world: { agents: 2, api: 2, icmp: 2, ssl: 2, grpc: 3, traceroute: 2, heartbeat: 2 },
  run: async () => {
    await sleep(60_000);
    return {};
  },
};
