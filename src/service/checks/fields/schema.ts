import Type, { type Static, type TProperties } from 'typebox';
import type { CheckType, ProbeType } from '../../../protocol/check-types.ts';
import {
  ApiRequest,
  DnsRequest,
  GrpcRequest,
  IcmpRequest,
  type requestSchemas,
  SslRequest,
  TracerouteRequest,
  TcpRequest,
  UrlRequest,
} from '../../../protocol/requests.ts';
import { Nullable } from '../../../protocol/schema.ts';
import { open, strict, strictPartial } from '../../http/fields/strict-schema.ts';
import { columnOf } from '../types/table.ts';
import { fileFields, ignoredFields, ResponseTimeLimit, responseFields, sharedFields } from './fields.ts';
import { dependencies, scriptFields } from './scripts.ts';
import { agenticFields, heartbeatFields, heartbeatStored } from './service-checks.ts';
import { suiteFields } from './suites.ts';

/** The bodies of each check type: for a create, for a change, and in answers. */

const limits = (options: { degraded: number; max: number; maximum: number }) => ({
  degradedResponseTime: ResponseTimeLimit({
    default: options.degraded,
    maximum: options.maximum,
    effect: 'is degraded',
  }),
  maxResponseTime: ResponseTimeLimit({ default: options.max, maximum: options.maximum, effect: 'fails' }),
});

const PacketLoss = (value: number, effect: string) =>
  Type.Number({
    minimum: 0,
    maximum: 100,
    default: value,
    description: `Percent of lost packets from which on a run ${effect}.`,
  });

const sslCheckDomain = Nullable(Type.String({ maxLength: 253 }), { default: null });

/** TCP clients may send `url` for hostname and `body` for data. They are stored and returned under the first names. */
const TcpRequestBody = Type.Object({
  ...TcpRequest.properties,
  hostname: Type.Optional(TcpRequest.properties.hostname),
  url: Type.Optional(
    Type.String({ minLength: 1, maxLength: 2048, description: 'Another name of hostname.' }),
  ),
  body: Type.Optional(Nullable(Type.String({ maxLength: 65_536 }), { description: 'Another name of data.' })),
});

/** Stored and returned requests always have a text and a number; an empty name server is the system's own. */
const DnsRequestStored = Type.Object({
  ...DnsRequest.properties,
  nameServer: Type.String(),
  port: Type.Integer(),
});

/** The fields of each type: its own fields, its request as sent and its request as stored. */
const types = {
  URL: {
    own: { ...limits({ degraded: 3000, max: 5000, maximum: 30_000 }), sslCheckDomain },
    request: UrlRequest,
    stored: UrlRequest,
  },
  API: {
    own: { ...limits({ degraded: 5000, max: 20_000, maximum: 30_000 }), sslCheckDomain, dependencies },
    request: ApiRequest,
    stored: ApiRequest,
  },
  TCP: {
    own: { ...limits({ degraded: 3000, max: 5000, maximum: 5000 }), sslCheckDomain },
    request: TcpRequestBody,
    stored: TcpRequest,
  },
  DNS: {
    own: {
      ...limits({ degraded: 500, max: 1000, maximum: 5000 }),
      sslCheckDomain: Type.String({ maxLength: 253, default: '' }),
      heartbeat: Type.Optional(
        Type.Object({}, { additionalProperties: true, description: 'Stored and returned; has no effect.' }),
      ),
      script: Type.Optional(
        Type.String({ maxLength: 1_048_576, description: 'Stored and returned; has no effect.' }),
      ),
    },
    request: DnsRequest,
    stored: DnsRequestStored,
  },
  ICMP: {
    own: {
      ...limits({ degraded: 10_000, max: 20_000, maximum: 30_000 }),
      degradedPacketLossThreshold: PacketLoss(10, 'is degraded'),
      maxPacketLossThreshold: PacketLoss(20, 'fails'),
      sslCheckDomain,
    },
    request: IcmpRequest,
    stored: IcmpRequest,
  },
  SSL: {
    own: { ...limits({ degraded: 3000, max: 10_000, maximum: 30_000 }), sslCheckDomain },
    request: SslRequest,
    stored: SslRequest,
  },
  GRPC: {
    own: { ...limits({ degraded: 10_000, max: 20_000, maximum: 180_000 }), sslCheckDomain },
    request: GrpcRequest,
    stored: GrpcRequest,
  },
  TRACEROUTE: {
    own: { ...limits({ degraded: 3000, max: 5000, maximum: 30_000 }), sslCheckDomain },
    request: TracerouteRequest,
    stored: TracerouteRequest,
  },
} as const satisfies { [T in ProbeType]: unknown };

/** Name of each type's check in the OpenAPI document. */
export const checkTitles = columnOf(({ title }) => title);

/** Lists omit large fields. */
export const isPartial = Type.Optional(
  Type.Boolean({
    description:
      'Only in lists: something is too large for one and left out; read it by its id for the rest.',
  }),
);

const listedFields = {
  localSetupScript: Type.Optional(sharedFields.localSetupScript),
  localTearDownScript: Type.Optional(sharedFields.localTearDownScript),
  environmentVariables: Type.Optional(sharedFields.environmentVariables),
};

/** `own`: the type's fields as sent; `stored`: those that are returned in another form. */
function bodies<T extends CheckType, Own extends TProperties, Stored extends TProperties>(
  type: T,
  own: Own,
  stored: Stored,
) {
  const named = Type.Optional(Type.Literal(type, { description: 'The path names it already.' }));
  return {
    create: strict(Type.Object({ checkType: named, ...fileFields, ...sharedFields, ...own })),
    change: strictPartial(Type.Object({ ...sharedFields, ...own, ...ignoredFields })),
    response: open(
      Type.Object(
        {
          id: responseFields.id,
          checkType: Type.Literal(type),
          ...sharedFields,
          ...own,
          ...listedFields,
          ...stored,
          isPartial,
          alertChannels: responseFields.alertChannels,
          created_at: responseFields.created_at,
          updated_at: responseFields.updated_at,
          warnings: responseFields.warnings,
        },
        { $id: checkTitles[type], title: checkTitles[type] },
      ),
    ),
  };
}

const scriptStored = {
  script: Type.Optional(scriptFields.script),
  dependencies: Type.Optional(dependencies),
};

/** Schemas of each type's bodies. */
export const checkSchemas = {
  URL: bodies(
    'URL',
    { ...types.URL.own, request: types.URL.request },
    { request: Type.Optional(types.URL.stored) },
  ),
  API: bodies(
    'API',
    { ...types.API.own, request: types.API.request },
    { request: Type.Optional(types.API.stored), dependencies: Type.Optional(dependencies) },
  ),
  TCP: bodies(
    'TCP',
    { ...types.TCP.own, request: types.TCP.request },
    { request: Type.Optional(types.TCP.stored) },
  ),
  DNS: bodies(
    'DNS',
    { ...types.DNS.own, request: types.DNS.request },
    { request: Type.Optional(types.DNS.stored) },
  ),
  ICMP: bodies(
    'ICMP',
    { ...types.ICMP.own, request: types.ICMP.request },
    { request: Type.Optional(types.ICMP.stored) },
  ),
  SSL: bodies(
    'SSL',
    { ...types.SSL.own, request: types.SSL.request },
    { request: Type.Optional(types.SSL.stored) },
  ),
  GRPC: bodies(
    'GRPC',
    { ...types.GRPC.own, request: types.GRPC.request },
    { request: Type.Optional(types.GRPC.stored) },
  ),
  TRACEROUTE: bodies(
    'TRACEROUTE',
    { ...types.TRACEROUTE.own, request: types.TRACEROUTE.request },
    { request: Type.Optional(types.TRACEROUTE.stored) },
  ),
  BROWSER: bodies('BROWSER', scriptFields, scriptStored),
  MULTI_STEP: bodies('MULTI_STEP', scriptFields, scriptStored),
  PLAYWRIGHT: bodies('PLAYWRIGHT', suiteFields, {}),
  HEARTBEAT: bodies('HEARTBEAT', heartbeatFields, heartbeatStored),
  AGENTIC: bodies('AGENTIC', agenticFields, {}),
} satisfies { [T in CheckType]: unknown };

// As for jobs (protocol/job.ts): with keys of the tables themselves, a missing row causes one error, at its table.
type Schemas = typeof checkSchemas;
type Requests = typeof requestSchemas;
export type CreateBody<T extends CheckType> = Static<Schemas[T & keyof Schemas]['create']>;
export type ChangeBody<T extends CheckType> = Static<Schemas[T & keyof Schemas]['change']>;

/** The request of a stored check. */
export type StoredRequest<T extends ProbeType> = Static<Requests[T & keyof Requests]>;

/** Any check that is read by its id. */
export const AnyCheck = Type.Union(
  Object.values(checkTitles).map((title) => Type.Ref(title)),
  { $id: 'Check', title: 'Check' },
);
