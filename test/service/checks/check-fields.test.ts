import { describe, expect, test } from 'vitest';
import { probeTypes, type ProbeType } from '../../../src/protocol/check-types.ts';
import { databases } from '../../helpers/service/database.ts';
import type { Fields } from '../../helpers/service/service.ts';
import { fullFields, minimalBody, storedMinimal } from './check-bodies.ts';
import { checksBench, type Check } from './checks-bench.ts';

const day = '2026-03-04';

/** The fields of checks: their defaults, and that they are stored and returned as they were sent. */

describe.each(databases)('fields of checks ($name)', (database) => {
  describe.skipIf(database.unavailable)('with a database', () => {
    const bench = checksBench(database);
    const { create, change } = bench;

    test.each(probeTypes)(
      '%s: the smallest body gets every default, and reads back the same',
      async (type) => {
        const { service } = bench;
        const created = await create(type);
        expect(created).toEqual({ id: created.id, ...storedMinimal(type), created_at: day });
        expect(created.id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
        const read = await service.call('GET', `/v1/checks/${created.id}`);
        expect([read.status, read.body]).toEqual([200, created]);
      },
    );

    test.each(probeTypes)('%s: every field of the specification is stored and returned', async (type) => {
      const { service } = bench;
      const created = await create(type, fullFields);
      expect(created).toEqual({ ...storedMinimal(type), ...fullFields, id: created.id, created_at: day });
      expect((await service.call('GET', `/v1/checks/${created.id}`)).body).toEqual(created);
    });

    test.each(probeTypes)(
      '%s: a check that is read can be sent back, and only updated_at changes',
      async (type) => {
        const created = await create(type, { ...fullFields, name: 'Round trip' });
        const { status, body } = await change(created, created);
        expect([status, body]).toEqual([200, { ...created, updated_at: new Date(bench.time).toISOString() }]);
      },
    );

    test('null lists are stored as empty ones', async () => {
      const created = await create('URL', {
        privateLocations: ['office'],
        locations: null,
        environmentVariables: null,
      });
      expect(created).toMatchObject({
        locations: [],
        privateLocations: ['office'],
        environmentVariables: [],
      });
    });

    test('only a check of a group may have no location', async () => {
      const { service } = bench;
      const body = { name: 'a', request: { query: 'shop.example' }, heartbeat: {}, script: '' };
      const alone = await service.call('POST', '/v1/checks/dns', { body });
      expect(alone).toMatchObject({
        status: 400,
        body: { attributes: { locations: [expect.stringContaining('at least one')] } },
      });
      const group = await service.call<{ id: number }>('POST', '/v2/check-groups', { body: { name: 'g' } });
      const made = await service.call<Check>('POST', '/v1/checks/dns', {
        body: { ...body, groupId: group.body.id },
      });
      expect(made.status).toBe(201);
      expect(made.body).toMatchObject({ locations: [], privateLocations: [], activated: true });
      // Nothing runs until the group has a location.
      const target = { checkId: [made.body.id] };
      const trigger = await service.call('POST', '/v2/check-sessions/trigger', { body: { target } });
      expect(trigger.status).toBe(404);
      expect((await change(made.body, { name: 'b' })).body).toMatchObject({ name: 'b', locations: [] });
      expect((await change(made.body, { groupId: null })).status).toBe(400);
      expect((await change(made.body, { groupId: null, privateLocations: ['office'] })).status).toBe(200);
    });

    test('null limits mean no limit', async () => {
      const created = await create('DNS', { degradedResponseTime: null, maxResponseTime: null });
      expect(created).toMatchObject({ degradedResponseTime: null, maxResponseTime: null });
    });

    test('requests of each type keep their own fields', async () => {
      const assertion = (source: string, comparison: string, target: string, more: Fields = {}) => ({
        source,
        property: '',
        comparison,
        target,
        regex: null,
        ...more,
      });
      const requests: { [T in ProbeType]: Fields } = {
        URL: {
          method: 'GET',
          url: 'http://[::1]:8080/x?y=1',
          followRedirects: false,
          skipSSL: true,
          ipFamily: 'IPv6',
          assertions: [assertion('STATUS_CODE', 'LESS_THAN', '300')],
        },
        API: {
          method: 'PATCH',
          url: '{{BASE}}/things',
          followRedirects: false,
          skipSSL: true,
          ipFamily: 'IPv6',
          body: '{"a":1}',
          bodyType: 'JSON',
          headers: [{ key: 'x-a', value: '1', locked: false }],
          queryParameters: [{ key: 'q', value: '', locked: false }],
          basicAuth: { username: 'ann', password: 'pass' },
          assertions: [
            assertion('JSON_BODY', 'EQUALS', '3', { property: '$.a.length' }),
            assertion('HEADERS', 'CONTAINS', 'x', { property: 'server', regex: '^(.)' }),
            assertion('TEXT_BODY', 'NOT_EMPTY', '', { property: 'a(.*)b' }),
          ],
        },
        TCP: {
          hostname: '127.0.0.1',
          port: 65_535,
          data: 'PING\r\n',
          ipFamily: 'IPv6',
          assertions: [assertion('RESPONSE_DATA', 'CONTAINS', 'PONG')],
        },
        DNS: {
          query: '_sip._tcp.example',
          recordType: 'SRV',
          nameServer: '192.0.2.53',
          port: 5353,
          protocol: 'TCP',
          skipSSL: true,
          assertions: [assertion('RESPONSE_CODE', 'EQUALS', 'NXDOMAIN')],
        },
        ICMP: {
          hostname: '::1',
          ipFamily: 'IPv6',
          pingCount: 50,
          assertions: [assertion('LATENCY', 'LESS_THAN', '20', { property: 'avg' })],
        },
        SSL: {
          sslConfig: {
            hostname: 'mail.example',
            port: 587,
            serverName: 'mx.example',
            ipFamily: 'IPv6',
            startTls: 'SMTP',
            skipChainValidation: true,
            handshakeTimeoutMs: 5000,
            alertDaysBeforeExpiry: 30,
            failDaysBeforeExpiry: 7,
            revocation: 'crl',
            scan: true,
            clientCertificateMode: 'explicit',
            securityBaseline: {
              enabled: false,
              minTLSVersion: { value: 'TLS1.3', severity: 'degrade' },
              minKeySizeBits: { value: 4096, severity: 'ignore' },
              weakSignatureAlgorithm: { severity: 'degrade' },
              weakCipherSuite: { severity: 'ignore' },
              knownBadCA: { severity: 'degrade' },
              recommendedTLSVersion: { value: 'TLS1.2', severity: 'fail' },
              recommendedKeySizeBits: { value: 4096, severity: 'degrade' },
              ocspMustStapleRespected: { severity: 'fail' },
              sctPresent: { severity: 'degrade' },
            },
          },
          sslClientCertificateId: '01890000-0000-7000-8000-000000000001',
          assertions: [assertion('CERTIFICATE', 'CONTAINS', 'mx.example', { property: 'sans' })],
        },
        GRPC: {
          url: '{{ORDERS}}',
          port: '{{PORT}}',
          ipFamily: 'IPv6',
          skipSSL: true,
          timeout: 5,
          grpcConfig: {
            mode: 'BEHAVIOR',
            tls: true,
            serverName: 'orders.example',
            clientCertificateMode: 'explicit',
            metadata: [{ key: 'x-team', value: 'shop' }],
            method: 'shop.Orders/List',
            serviceDefinition: 'PROTO_FILE',
            protoContent: 'syntax = "proto3";',
            descriptorSet: '',
            message: '{"id": "{{ID}}"}',
            service: '',
            watch: false,
            compression: 'gzip',
            maxMessageBytes: 2048,
            maxMessages: 7,
          },
          grpcClientCertificateId: '01890000-0000-7000-8000-000000000001',
          assertions: [assertion('GRPC_RESPONSE', 'EQUALS', '1', { property: '$[0].id' })],
        },
        TRACEROUTE: {
          url: '2001:db8::1',
          protocol: 'UDP',
          port: 53,
          ipFamily: 'IPv6',
          maxHops: 64,
          maxUnknownHops: 30,
          queries: 10,
          ptrLookup: false,
          timeout: 30,
          assertions: [
            assertion('HOP', 'NOT_CONTAINS', 'AS64500', { property: 'asn' }),
            assertion('RESPONSE_TIME', 'LESS_THAN', '80', { property: 'max' }),
            assertion('PACKET_LOSS', 'LESS_THAN', '50'),
          ],
        },
      };
      for (const type of probeTypes) {
        expect((await create(type, { request: requests[type] }))['request']).toEqual(requests[type]);
      }
    });

    test('TCP: url and body are other names of hostname and data', async () => {
      const created = await create('TCP', { request: { url: 'db.example', port: 5432, body: 'hello' } });
      expect(created['request']).toMatchObject({ hostname: 'db.example', data: 'hello' });
      expect(Object.keys(created['request'] as object).sort()).toEqual([
        'assertions',
        'data',
        'hostname',
        'ipFamily',
        'port',
      ]);
    });

    test.each([
      [{ protocol: 'UDP' }, { nameServer: '', port: 53 }],
      [
        { protocol: 'TCP', nameServer: null, port: null },
        { nameServer: '', port: 53 },
      ],
      [
        { protocol: 'DOT', nameServer: 'dns.example' },
        { nameServer: 'dns.example', port: 853 },
      ],
      [
        { protocol: 'DOH', nameServer: 'dns.example' },
        { nameServer: 'dns.example', port: 443 },
      ],
      [
        { protocol: 'DOH', nameServer: 'https://dns.example:8443/dns-query' },
        { nameServer: 'https://dns.example:8443/dns-query', port: 8443 },
      ],
    ])('DNS: the default port is stored: %j', async (sent, stored) => {
      const created = await create('DNS', { request: { query: 'a.example', ...sent } });
      expect(created['request']).toMatchObject(stored);
    });

    test('DNS: heartbeat and script are kept', async () => {
      const fields = { heartbeat: { period: 1, periodUnit: 'hours' }, script: 'console.log(1)' };
      expect(await create('DNS', fields)).toMatchObject(fields);
    });

    test.each([
      [{}, { type: 'FIXED', maxRetries: 2, maxDurationSeconds: 600, baseBackoffSeconds: 60 }],
      [
        { type: 'LINEAR', maxRetries: 1 },
        { type: 'LINEAR', maxRetries: 1, maxDurationSeconds: 600 },
      ],
    ])('a retryStrategy gets its defaults: %j', async (sent, stored) => {
      expect(await create('URL', { retryStrategy: sent })).toMatchObject({ retryStrategy: stored });
    });

    test('SINGLE_RETRY has neither a number nor a duration', async () => {
      const created = await create('API', {
        retryStrategy: { type: 'SINGLE_RETRY', onlyOn: ['NETWORK_ERROR'] },
      });
      expect(created['retryStrategy']).toEqual({
        type: 'SINGLE_RETRY',
        baseBackoffSeconds: 60,
        sameRegion: true,
        onlyOn: ['NETWORK_ERROR'],
      });
    });

    test('autoAssignAlerts is a boolean', async () => {
      const { service } = bench;
      const path = '/v1/checks/url?autoAssignAlerts=';
      expect((await service.call('POST', `${path}false`, { body: minimalBody('URL') })).status).toBe(201);
      const refused = await service.call('POST', `${path}maybe`, { body: minimalBody('URL') });
      expect([refused.status, refused.body['attributes']]).toEqual([
        400,
        { autoAssignAlerts: ['must be true or false'] },
      ]);
    });
  });
});
