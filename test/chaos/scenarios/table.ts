import type { Scenario } from '../scenario.ts';
import { backlog } from './backlog.ts';
import { calm } from './calm.ts';
import { agentKills, agentTwins, manyAgents, rollingAgents } from './agents.ts';
import { databaseScenarios } from './database.ts';
import { hostileScenarios } from './hostile.ts';
import { hostScenarios } from './host.ts';
import { ownNetworkScenarios } from './own-network.ts';
import { serviceScenarios } from './service.ts';
import { severalScenarios } from './several.ts';
import { soak } from './soak.ts';
import { thousandAtOnce } from './thousand.ts';
import { togetherScenarios } from './together.ts';
import { upgradeScenarios } from './upgrade.ts';
import { agentSteps, databaseSteps, serviceSteps } from './steps.ts';

/** All scenarios, in the order in which `npm run chaos` runs them. */
export const scenarios: readonly Scenario[] = [
  calm,
  agentKills,
  agentTwins,
  manyAgents,
  rollingAgents,
  ...hostScenarios,
  ...ownNetworkScenarios,
  ...serviceScenarios,
  ...upgradeScenarios,
  thousandAtOnce,
  ...databaseScenarios,
  ...severalScenarios,
  ...togetherScenarios,
  ...hostileScenarios,
  backlog,
  agentSteps,
  serviceSteps,
  databaseSteps,
  soak,
];
