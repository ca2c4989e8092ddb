import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import { AsyncLocalStorage } from 'node:async_hooks';
import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import { registerSnippets } from '../accounts/snippets/routes.ts';
import { requireRole } from '../accounts/required-role.ts';
import { registerVariables } from '../accounts/variables/routes.ts';
import { registerAlertChannels } from '../alert-channels/routes.ts';
import { registerAlertChannelSubscriptions } from '../alert-channels/subscription-routes.ts';
import { registerCheckGroups } from '../checks/group-routes.ts';
import { locationUses } from '../checks/location-uses.ts';
import { registerChecks } from '../checks/routes.ts';
import type { Db } from '../db/database.ts';
import { writeHeartbeat } from '../heartbeats/follow-checks.ts';
import type { ApiDeps } from '../http/api.ts';
import { apiShape } from '../http/body-shape.ts';
import { ErrorBody } from '../http/fields/api-errors.ts';
import type { Role } from '../http/fields/roles.ts';
import { bodyBytes, checkInput } from '../http/input-limits.ts';
import { createServer } from '../http/server.ts';
import { registerPrivateLocations } from '../locations/private-routes.ts';
import { registerMaintenanceWindows } from '../maintenance/routes.ts';
import { registerStatusPages } from '../status-pages/routes.ts';
import { registerStatusPageServices } from '../status-pages/service-routes.ts';
import { registerTriggers } from '../triggers/routes.ts';
import { isFields, type Fields } from '../../json-values.ts';

/**
 * The routes of all resources, within one transaction. A deployment writes through them, so that its resources obey
 * the same rules as those that clients write one by one.
 */
export type Replay = {
  /** Sends a request to a route. */
  send(by: Caller, request: Request): Promise<Answer>;
  /** The body of a create, with the defaults of all fields that it leaves out. */
  complete(by: Caller, request: Omit<Request, 'method'>): Promise<Answer>;
  /** The schema of the body of the POST at `path`. */
  schemaAt(path: string): Fields;
};

/** Who writes, and in which transaction. */
export type Caller = { tx: Db; accountId: string; role: Role };

type Request = { method: 'GET' | 'POST' | 'PUT' | 'DELETE'; path: string; body?: unknown };
export type Answer = { status: number; body: Fields };

type Current = Caller & { completes: boolean };

/** Registers the routes; nothing listens. */
export async function createReplay(deps: ApiDeps, log: FastifyBaseLogger): Promise<Replay> {
  const current = new AsyncLocalStorage<Current>();
  const schemas = new Map<string, Fields>();
  const app = await createServer({ logger: log });
  app.addSchema(ErrorBody);
  void app.register(async (instance) => {
    instance.addHook('onRequest', async (request) => {
      const { accountId, role } = callerIn(current);
      Object.assign(request, { accountId, role, replaces: true });
    });
    instance.addHook('preParsing', requireRole);
    instance.addHook('preValidation', checkInput);
    instance.addHook('onRoute', (route) => {
      route.bodyLimit ??= bodyBytes;
      route.config = { ...route.config, shape: apiShape };
      if (route.method !== 'POST' || !isFields(route.schema?.body)) return;
      schemas.set(route.url, route.schema.body);
      route.preHandler = async (request, reply) => {
        if (callerIn(current).completes) await reply.code(200).send(request.body);
      };
    });
    registerAll(instance, { ...deps, db: dbOf(current) });
  });
  await app.ready();

  async function inject(store: Current, { method, path, body }: Request): Promise<Answer> {
    // Awaited inside, because the request begins when its promise is asked for.
    const answer = await current.run(store, async () =>
      app.inject({ method, url: path, ...(body === undefined ? {} : { payload: body as object }) }),
    );
    const { statusCode: status, payload } = answer;
    const json: unknown = payload === '' ? {} : JSON.parse(payload);
    return { status, body: isFields(json) ? json : { entries: json } };
  }

  return {
    send: (by, request) => inject({ ...by, completes: false }, request),
    complete: (by, request) => inject({ ...by, completes: true }, { ...request, method: 'POST' }),
    schemaAt: (path) => schemas.get(path.replace(/\?.*$/, '')) ?? {},
  };
}

function registerAll(app: FastifyInstance, deps: ApiDeps): void {
  const api = app.withTypeProvider<TypeBoxTypeProvider>();
  registerChecks(app, api, deps, { followers: [writeHeartbeat] });
  registerCheckGroups(app, deps);
  registerSnippets(api, deps);
  registerVariables(api, deps);
  registerPrivateLocations(api, deps, { uses: locationUses });
  registerAlertChannels(app, api, deps);
  registerAlertChannelSubscriptions(api, deps);
  registerMaintenanceWindows(api, deps);
  registerStatusPageServices(api, deps);
  registerStatusPages(api, deps);
  registerTriggers(api, deps);
}

function callerIn(current: AsyncLocalStorage<Current>): Current {
  const store = current.getStore();
  if (store === undefined) throw new Error('a request outside of a deployment');
  return store;
}

/** The transaction of the request that is in progress. */
function dbOf(current: AsyncLocalStorage<Current>): Db {
  const tx = () => callerIn(current).tx;
  return {
    get kind() {
      return tx().kind;
    },
    query: (sql, parameters) => tx().query(sql, parameters),
    exec: (sql) => tx().exec(sql),
    tx: (work) => tx().tx(work),
    listen: (channel, work, onGap) => tx().listen(channel, work, onGap),
    notify: (channel, payload) => tx().notify(channel, payload),
    close: () => tx().close(),
  };
}
