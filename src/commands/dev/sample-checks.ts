import { probeTypes, type CheckType, type ProbeType } from '../../protocol/check-types.ts';
import { shopProto } from '../../targets/grpc-target.ts';
import type { TargetPorts } from '../../targets/targets.ts';

/** A check to create: its type and the public API's body. */
export type SampleCheck = { type: CheckType; name: string; body: Fields };

type Fields = { [field: string]: unknown };

/** The tag by which `dev` recognizes its checks at later starts. */
export const sampleTag = 'sample';

/**
 * The sample checks of `dev`: each type at least once, some made to degrade and some to fail, each every 10 s. `ports`
 * are those of the sample targets, which change with each start.
 */
export function sampleChecks(ports: TargetPorts, locationSlug: string): SampleCheck[] {
  const http = `http://127.0.0.1:${ports.http}`;
  const https = (port: number) => `https://127.0.0.1:${port}`;
  const check = (type: ProbeType, name: string, fields: Fields): SampleCheck => ({
    type,
    name,
    body: {
      name,
      tags: [sampleTag],
      privateLocations: [locationSlug],
      frequency: 0,
      frequencyOffset: 10,
      doubleCheck: false,
      ...fields,
    },
  });
  const assertion = (source: string, comparison: string, target: string, property = '') => ({
    source,
    property,
    comparison,
    target,
  });

  const ssl = (fields: Fields): Fields => ({
    request: { sslConfig: { hostname: '127.0.0.1', ...fields } },
  });

  const grpc = (fields: Fields): Fields => ({
    url: '127.0.0.1',
    port: ports.grpc,
    grpcConfig: { tls: false, ...fields },
  });

  const trace = (assertions: Fields[]): Fields => ({ url: '127.0.0.1', port: ports.echo, assertions });

  const samples: { readonly [T in ProbeType]: readonly [name: string, fields: Fields][] } = {
    URL: [
      ['Sample: page answers', { request: { url: `${http}/ok` } }],
      [
        'Sample: page is slow',
        {
          degradedResponseTime: 400,
          maxResponseTime: 5000,
          request: { url: `${http}/slow?ms=600` },
        },
      ],
      ['Sample: certificate is valid', { request: { url: `${https(ports.https)}/ok` } }],
      ['Sample: certificate has expired', { request: { url: `${https(ports.expired)}/ok` } }],
    ],
    API: [
      [
        'Sample: products are in stock',
        {
          request: {
            url: `${http}/json`,
            assertions: [
              assertion('STATUS_CODE', 'EQUALS', '200'),
              assertion('JSON_BODY', 'GREATER_THAN', '0', '$.items[*].price'),
              assertion('HEADERS', 'CONTAINS', 'json', 'content-type'),
            ],
          },
        },
      ],
      [
        'Sample: lamp costs too much',
        {
          request: {
            url: `${http}/json`,
            assertions: [assertion('JSON_BODY', 'LESS_THAN', '10', "$.items[?(@.name=='lamp')].price")],
          },
        },
      ],
      [
        'Sample: flaky endpoint, one retry',
        {
          doubleCheck: true,
          request: { url: `${http}/flaky` },
        },
      ],
    ],
    TCP: [
      [
        'Sample: port answers',
        {
          request: {
            hostname: '127.0.0.1',
            port: ports.echo,
            data: 'hello',
            assertions: [assertion('RESPONSE_DATA', 'CONTAINS', 'hello')],
          },
        },
      ],
      [
        'Sample: port hangs up',
        {
          request: { hostname: '127.0.0.1', port: ports.closing, data: 'hello' },
        },
      ],
    ],
    DNS: [
      [
        'Sample: name resolves',
        {
          request: {
            query: 'sample.test',
            recordType: 'A',
            nameServer: '127.0.0.1',
            port: ports.dns,
            assertions: [assertion('JSON_ANSWER', 'EQUALS', '127.0.0.1', '$.Answer[*].data')],
          },
        },
      ],
      [
        'Sample: name resolves slowly',
        {
          request: { query: 'slow.sample.test', recordType: 'A', nameServer: '127.0.0.1', port: ports.dns },
        },
      ],
    ],
    ICMP: [['Sample: host answers', { request: { hostname: '127.0.0.1', pingCount: 3 } }]],
    SSL: [
      ['Sample: certificates are valid', ssl({ port: ports.https })],
      ['Sample: certificate expires soon', ssl({ port: ports.https, alertDaysBeforeExpiry: 120 })],
      ['Sample: certificate of another name', ssl({ port: ports.wrongHost })],
    ],
    GRPC: [
      [
        'Sample: product has a price',
        {
          request: {
            ...grpc({
              method: 'sample.Shop/GetProduct',
              serviceDefinition: 'PROTO_FILE',
              protoContent: shopProto,
              message: '{"name": "lamp"}',
            }),
            assertions: [
              assertion('GRPC_STATUS_CODE', 'EQUALS', '0'),
              assertion('GRPC_RESPONSE', 'EQUALS', '12', '$.price'),
            ],
          },
        },
      ],
      [
        'Sample: shop serves slowly',
        {
          degradedResponseTime: 400,
          maxResponseTime: 5000,
          request: grpc({ mode: 'HEALTH', service: 'slow' }),
        },
      ],
      ['Sample: shop is closed', { request: grpc({ mode: 'HEALTH', service: 'closed' }) }],
    ],
    TRACEROUTE: [
      ['Sample: route to a server', { request: trace([assertion('HOP_COUNT', 'LESS_THAN', '5')]) }],
      ['Sample: route is slow', { degradedResponseTime: 0, request: trace([]) }],
      [
        'Sample: route leads through another network',
        { request: trace([assertion('HOP', 'CONTAINS', '192.0.2.1', 'address')]) },
      ],
    ],
  };
  return probeTypes.flatMap((type) => samples[type].map(([name, fields]) => check(type, name, fields)));
}
