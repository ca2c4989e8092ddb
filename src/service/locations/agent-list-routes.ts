import Type from 'typebox';
import { dayMs, minuteMs } from '../../durations.ts';
import { lanes, type Lane } from '../../protocol/check-types.ts';
import { Nullable, StringEnum } from '../../protocol/schema.ts';
import type { ApiDeps, PublicApi } from '../http/api.ts';
import { notFound } from '../http/errors.ts';
import { errorResponses } from '../http/fields/api-errors.ts';
import { IdParams, isUuid } from '../http/fields/path-params.ts';
import { open } from '../http/fields/strict-schema.ts';
import { rounded } from '../../rounding.ts';
import { connectedMs } from './agents.ts';
import { countMissed, countTaken, listAgents, listQueues, type AgentRow } from './load-statements.ts';
import { recommend } from './recommend.ts';
import { findPrivateLocation } from './statements.ts';

const maxAgents = 500;
const takenMs = 5 * minuteMs;

const moment = Type.String({ format: 'date-time' });
const Count = Type.Integer({ minimum: 0 });
const byLane = Type.Partial(Type.Object({ uptime: Count, browser: Count, suite: Count }));

export const LocationAgents = open(
  Type.Object(
    {
      agents: Type.Array(
        Type.Object({
          id: Type.String({ format: 'uuid' }),
          hostname: Type.String(),
          platform: Type.String(),
          cores: Type.Integer(),
          memoryBytes: Type.Number(),
          version: Type.String(),
          connected: Type.Boolean(),
          lastSeen: moment,
          since: Type.String({ format: 'date-time', description: 'First contact since its start.' }),
          slots: Type.Object(byLane.properties, { description: 'Of each lane.' }),
          checkTypes: Type.Array(Type.String()),
          runtimes: Type.Array(Type.String()),
          running: Type.Integer({ minimum: 0, description: 'Jobs that it has now.' }),
          condition: Nullable(
            Type.Object({
              reportedAt: moment,
              guards: Type.Array(
                Type.Object({
                  name: Type.String({ description: 'A section of docs/guards.md.' }),
                  message: Type.String({ description: 'The reason and the remedy.' }),
                  stopsJobs: Type.Boolean({ description: 'The agent takes no jobs meanwhile.' }),
                }),
                { description: 'Those that are raised.' },
              ),
              outbox: Type.Object(
                { results: Count, bytes: Type.Number(), oldestSeconds: Type.Number() },
                { description: 'Results that the service has not acknowledged.' },
              ),
            }),
            { description: 'What the agent reports about itself; null: its version reports nothing.' },
          ),
        }),
        { description: `The latest heard of first; at most ${maxAgents}.` },
      ),
      queues: Type.Array(
        Type.Object({
          lane: StringEnum(lanes),
          slots: Type.Integer({ minimum: 0, description: 'Of all connected agents.' }),
          running: Count,
          queued: Count,
          oldestSeconds: Type.Number({ description: 'How long the oldest job has waited; 0: none waits.' }),
        }),
      ),
      missedRuns: Type.Integer({ minimum: 0, description: 'Of the last 24 hours.' }),
      recommendation: Nullable(
        Type.Object({
          moreSlots: Count,
          moreAgents: Count,
          message: Type.String({
            description: 'For example "2 more agents or 8 more slots: the oldest job waits 95 s".',
          }),
        }),
        { description: 'What the location needs, from the queue and the last 5 minutes; null: nothing.' },
      ),
    },
    { $id: 'LocationAgents', title: 'LocationAgents' },
  ),
);

/** Registers the agents of a private location and their load. */
export function registerLocationAgents(api: PublicApi, { db, now }: Pick<ApiDeps, 'db' | 'now'>): void {
  api.get(
    '/v1/private-locations/:id/agents',
    {
      schema: {
        operationId: 'listPrivateLocationAgents',
        tags: ['Locations'],
        summary: 'Agents of a private location, its queues, and what it needs',
        params: IdParams,
        response: { 200: Type.Ref('LocationAgents'), ...errorResponses(404) },
      },
    },
    async ({ accountId, params: { id } }) => {
      const location = isUuid(id) ? await findPrivateLocation(db, { accountId, id }) : undefined;
      if (location === undefined) throw notFound('private location', id);
      const time = now();
      const rows = await listAgents(db, { locationId: id, limit: maxAgents });
      const isConnected = ({ lastSeen }: AgentRow) => lastSeen.getTime() >= time - connectedMs;
      const connected = rows.filter(isConnected);
      const known = await listQueues(db, { locationId: id, now: new Date(time) });
      const taken = await countTaken(db, { locationId: id, since: new Date(time - takenMs) });
      const queues = lanes.map((lane) => {
        const row = known.find((candidate) => candidate.lane === lane);
        return {
          lane,
          slots: connected.reduce((sum, agent) => sum + (agent.lanes[lane] ?? 0), 0),
          running: row?.running ?? 0,
          queued: row?.queued ?? 0,
          oldestSeconds: rounded(row?.oldestSeconds ?? 0, 3),
        };
      });
      const load = (queue: 'uptime' | 'main', own: readonly Lane[]) => {
        const parts = queues.filter(({ lane }) => own.includes(lane));
        const sum = (of: 'slots' | 'queued') => parts.reduce((total, part) => total + part[of], 0);
        const oldestSeconds = Math.max(...parts.map((part) => part.oldestSeconds));
        return {
          queue,
          queued: sum('queued'),
          oldestSeconds,
          slots: sum('slots'),
          taken: taken.get(queue) ?? 0,
        };
      };
      return {
        agents: rows.map((row) => presented(row, isConnected(row))),
        queues,
        missedRuns: await countMissed(db, {
          accountId,
          slugName: location.slugName,
          since: new Date(time - dayMs),
        }),
        recommendation: recommend([load('uptime', ['uptime']), load('main', ['browser', 'suite'])], {
          agents: connected.length,
          takenSeconds: takenMs / 1000,
        }),
      };
    },
  );
}

function presented(agent: AgentRow, connected: boolean) {
  const { host, lanes: slots, createdAt, lastSeen, condition, conditionAt, ...row } = agent;
  const text = (value: unknown) => (typeof value === 'string' ? value : '');
  const number = (value: unknown) => (typeof value === 'number' ? value : 0);
  return {
    ...row,
    connected,
    hostname: text(host['hostname']),
    platform: [host['platform'], host['arch']].map(text).join(' ').trim(),
    cores: number(host['cores']),
    memoryBytes: number(host['memoryBytes']),
    slots,
    since: createdAt.toISOString(),
    lastSeen: lastSeen.toISOString(),
    condition:
      condition === null || conditionAt === null
        ? null
        : { ...condition, reportedAt: conditionAt.toISOString() },
  };
}
