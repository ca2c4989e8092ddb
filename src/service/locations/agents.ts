import Type, { type Static } from 'typebox';
import { protocolLimits } from '../../protocol/agent-calls.ts';
import { Nullable } from '../../protocol/schema.ts';
import type { Db } from '../db/database.ts';
import { agentsOfLocations, type LocationAgentsRow } from './statements.ts';

/** Counts a location's agents. An agent is connected if it was heard of within two long polls. */
export const connectedMs = (2 * protocolLimits.claimWaitSeconds + 10) * 1000;

export const agentFields = {
  agentCount: Type.Integer({ description: 'Agents connected now.' }),
  lastSeen: Nullable(Type.String({ format: 'date-time' })),
  minAgentVersion: Nullable(Type.String({ description: 'Lowest version connected.' })),
  runningAgents: Type.Array(Type.Object({ version: Type.String(), count: Type.Integer() })),
};
const AgentFields = Type.Object(agentFields);
export type AgentFields = Static<typeof AgentFields>;

/** Orders versions by their numbers: 8.10.0 is higher than 8.9.1. */
function compareVersions(a: string, b: string): number {
  return a.localeCompare(b, 'en', { numeric: true });
}

function summarise(rows: readonly LocationAgentsRow[]): AgentFields {
  const running = rows
    .filter(({ connected }) => connected > 0)
    .map(({ version, connected }) => ({ version, count: connected }))
    .sort((a, b) => compareVersions(a.version, b.version));
  const lastSeen = Math.max(...rows.map((row) => row.lastSeen.getTime()));
  return {
    agentCount: running.reduce((sum, { count }) => sum + count, 0),
    lastSeen: rows.length === 0 ? null : new Date(lastSeen).toISOString(),
    minAgentVersion: running[0]?.version ?? null,
    runningAgents: running,
  };
}

/** The agents of each of these locations, in one statement. */
export async function agentsByLocation(
  db: Db,
  { locationIds, now }: { locationIds: readonly string[]; now: number },
): Promise<(locationId: string) => AgentFields> {
  const rows = await agentsOfLocations(db, { locationIds, connectedSince: new Date(now - connectedMs) });
  return (locationId) => summarise(rows.filter((row) => row.locationId === locationId));
}
