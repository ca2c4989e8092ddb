import { expect, test } from 'vitest';
import { dataCenterLocations, type ProbeType } from '../../../src/protocol/check-types.ts';
import { recordTypes } from '../../../src/protocol/requests.ts';
import type { Fields } from '../../helpers/service/service.ts';
import { request, text, validationBench } from './validation-bench.ts';

/** Which fields of a check are refused, and with which messages. */

const { attributesOf } = validationBench();

const locationCodes = dataCenterLocations.join(', ');

const refusals: [type: ProbeType, fields: Fields, attributes: { [path: string]: string[] }][] = [
  ['URL', { name: undefined }, { name: ['is required'] }],
  ['URL', { name: '' }, { name: ['must have 1 to 1024 characters'] }],
  ['URL', { name: text(1025) }, { name: ['must have 1 to 1024 characters'] }],
  ['URL', { name: 7 }, { name: ['must be a string'] }],
  ['URL', { name: null }, { name: ['must be a string'] }],
  ['URL', { request: undefined }, { request: ['is required'] }],
  ['URL', { request: 'https://shop.example' }, { request: ['must be an object'] }],
  ['URL', { activated: 'true' }, { activated: ['must be true or false'] }],
  ['URL', { muted: 1 }, { muted: ['must be true or false'] }],
  ['URL', { doubleCheck: null }, { doubleCheck: ['must be true or false'] }],
  ['URL', { shouldFail: 'no' }, { shouldFail: ['must be true or false'] }],
  ['URL', { runParallel: 0 }, { runParallel: ['must be true or false'] }],
  ['URL', { useGlobalAlertSettings: 'x' }, { useGlobalAlertSettings: ['must be true or false'] }],
  ['URL', { locations: ['eu-west-9'] }, { 'locations.0': [`must be one of ${locationCodes}`] }],
  ['URL', { locations: 'eu-west-1' }, { locations: ['must be an array or null'] }],
  ['URL', { locations: ['eu-west-1', 'eu-west-1'] }, { locations: ['must not name the same value twice'] }],
  [
    'URL',
    { locations: [] },
    {
      locations: ['Set at least one of locations and privateLocations'],
      privateLocations: ['Set at least one of locations and privateLocations'],
    },
  ],
  [
    'DNS',
    { locations: undefined, privateLocations: null },
    {
      locations: ['Set at least one of locations and privateLocations'],
      privateLocations: ['Set at least one of locations and privateLocations'],
    },
  ],
  [
    'URL',
    { privateLocations: ['office', 'attic'] },
    { 'privateLocations.1': ['names no private location of this account (attic)'] },
  ],
  [
    'URL',
    { triggerIncident: { serviceId: 'shop', name: 'Down' } },
    {
      'triggerIncident.serviceId': [
        'names no service of this account (shop): create it with POST /v1/status-pages/services',
      ],
    },
  ],
  // A data-centre code is no private location, even when it has a row.
  [
    'URL',
    { privateLocations: ['eu-west-1'] },
    { 'privateLocations.0': ['names no private location of this account (eu-west-1)'] },
  ],
  ['URL', { tags: ['ok', 5] }, { 'tags.1': ['must be a string'] }],
  ['URL', { tags: ['ok', ''] }, { 'tags.1': ['must have 1 to 256 characters'] }],
  ['URL', { tags: null }, { tags: ['must be an array'] }],
  ['URL', { groupId: 'a' }, { groupId: ['must be a whole number or null'] }],
  ['URL', { groupOrder: -1 }, { groupOrder: ['must be at least 0'] }],
  ['URL', { groupOrder: '1' }, { groupOrder: ['must be a number or null'] }],
  [
    'URL',
    { runtimeId: '2020.01' },
    {
      runtimeId: ['must be one of 2026.04, 2025.04, 2024.09, 2024.02, 2023.09, 2023.02, 2022.10, null'],
    },
  ],
  ['URL', { description: text(501) }, { description: ['must have at most 500 characters'] }],
  [
    'URL',
    { frequency: 3 },
    { frequency: ['must be one of 0, 1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440'] },
  ],
  [
    'URL',
    { frequency: '10' },
    {
      frequency: [
        'must be a whole number',
        'must be one of 0, 1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440',
      ],
    },
  ],
  ['URL', { frequencyOffset: 0 }, { frequencyOffset: ['must be at least 1'] }],
  ['URL', { frequencyOffset: 1.5 }, { frequencyOffset: ['must be a whole number or null'] }],
  [
    'URL',
    { frequency: 0 },
    { frequencyOffset: ['must be 10, 20 or 30 (seconds between runs) when frequency is 0'] },
  ],
  [
    'API',
    { frequency: 0, frequencyOffset: 15 },
    { frequencyOffset: ['must be 10, 20 or 30 (seconds between runs) when frequency is 0'] },
  ],
  [
    'URL',
    { frequency: 5, frequencyOffset: 51 },
    { frequencyOffset: ['must be a whole number from 1 to 50 when frequency is 5'] },
  ],
  [
    'URL',
    { frequency: 60, frequencyOffset: 601 },
    { frequencyOffset: ['must be a whole number from 1 to 600 when frequency is 60'] },
  ],
  [
    'URL',
    { frequency: 180, frequencyOffset: 4 },
    { frequencyOffset: ['must be a whole number from 1 to 3 when frequency is 180'] },
  ],
  ['URL', { environmentVariables: [{ value: 'x' }] }, { 'environmentVariables.0.key': ['is required'] }],
  [
    'URL',
    { environmentVariables: Array.from({ length: 101 }, (_, index) => ({ key: `K${index}` })) },
    { environmentVariables: ['must have at most 100 items'] },
  ],
  [
    'URL',
    { environmentVariables: [{ key: 'A' }, { key: 'A' }] },
    { 'environmentVariables.1.key': ['is given twice (A)'] },
  ],
  [
    'URL',
    { environmentVariables: [{ key: 'A', hidden: true }] },
    { 'environmentVariables.0.hidden': ['is not a known field'] },
  ],
  [
    'URL',
    { alertSettings: { escalationType: 'SOMETIMES' } },
    { 'alertSettings.escalationType': ['must be one of RUN_BASED, TIME_BASED'] },
  ],
  [
    'URL',
    { alertSettings: { runBasedEscalation: { failedRunThreshold: 6 } } },
    { 'alertSettings.runBasedEscalation.failedRunThreshold': ['must be one of 1, 2, 3, 4, 5'] },
  ],
  [
    'URL',
    { alertSettings: { timeBasedEscalation: { minutesFailingThreshold: 6 } } },
    { 'alertSettings.timeBasedEscalation.minutesFailingThreshold': ['must be one of 5, 10, 15, 30'] },
  ],
  [
    'URL',
    { alertSettings: { reminders: { amount: 6, interval: 7 } } },
    {
      'alertSettings.reminders.amount': ['must be one of 0, 1, 2, 3, 4, 5, 100000'],
      'alertSettings.reminders.interval': ['must be one of 1, 2, 3, 4, 5, 10, 15, 30'],
    },
  ],
  [
    'URL',
    { alertSettings: { parallelRunFailureThreshold: { percentage: 15 } } },
    {
      'alertSettings.parallelRunFailureThreshold.percentage': [
        'must be one of 10, 20, 30, 40, 50, 60, 70, 80, 90, 100',
      ],
    },
  ],
  [
    'URL',
    { alertChannelSubscriptions: [{ activated: true }] },
    { 'alertChannelSubscriptions.0.alertChannelId': ['is required'] },
  ],
  [
    'URL',
    { retryStrategy: { type: 'NEVER' } },
    { 'retryStrategy.type': ['must be one of FIXED, LINEAR, EXPONENTIAL, SINGLE_RETRY'] },
  ],
  ['URL', { retryStrategy: { maxRetries: 11 } }, { 'retryStrategy.maxRetries': ['must be from 1 to 10'] }],
  ['URL', { retryStrategy: { maxRetries: 0 } }, { 'retryStrategy.maxRetries': ['must be from 1 to 10'] }],
  [
    'URL',
    { retryStrategy: { maxDurationSeconds: 601 } },
    { 'retryStrategy.maxDurationSeconds': ['must be from 0 to 600'] },
  ],
  [
    'URL',
    { retryStrategy: { baseBackoffSeconds: -1 } },
    { 'retryStrategy.baseBackoffSeconds': ['must be from 0 to 3600'] },
  ],
  [
    'URL',
    { retryStrategy: { onlyOn: ['HTTP_ERROR'] } },
    { 'retryStrategy.onlyOn.0': ['must be one of NETWORK_ERROR'] },
  ],
  [
    'TCP',
    { retryStrategy: { onlyOn: ['NETWORK_ERROR'] } },
    { 'retryStrategy.onlyOn': ['is for API and URL checks only'] },
  ],
  [
    'API',
    { retryStrategy: { type: 'SINGLE_RETRY', maxRetries: 2, maxDurationSeconds: 5 } },
    {
      'retryStrategy.maxRetries': ['is not accepted with SINGLE_RETRY'],
      'retryStrategy.maxDurationSeconds': ['is not accepted with SINGLE_RETRY'],
    },
  ],
  [
    'URL',
    { triggerIncident: { description: 'x' } },
    { 'triggerIncident.serviceId': ['is required'], 'triggerIncident.name': ['is required'] },
  ],
  ['URL', { id: 'x' }, { id: ['is not a known field'] }],
  ['URL', { constructor: 1 }, { constructor: ['is not a known field'] }],
  ['URL', { 'a.b': 1 }, { 'a.b': ['is not a known field'] }],
  ['URL', { heartbeat: {} }, { heartbeat: ['is not a known field'] }],
  [
    'URL',
    { name: 'nul \0' },
    { name: ['must not contain the character U+0000 or half of a surrogate pair'] },
  ],
  [
    'URL',
    { tags: ['half \ud83d'] },
    { 'tags.0': ['must not contain the character U+0000 or half of a surrogate pair'] },
  ],
  // URL
  ['URL', request('URL', { url: undefined }), { 'request.url': ['is required'] }],
  ['URL', request('URL', { url: '' }), { 'request.url': ['must have 1 to 2048 characters'] }],
  [
    'URL',
    request('URL', { url: `http://${text(2042)}` }),
    { 'request.url': ['must have 1 to 2048 characters'] },
  ],
  [
    'URL',
    request('URL', { url: 'shop.example' }),
    { 'request.url': ['must begin with http:// or https://'] },
  ],
  ['URL', request('URL', { url: 'http://[' }), { 'request.url': ['is not a URL'] }],
  ['URL', request('URL', { method: 'POST' }), { 'request.method': ['must be one of GET'] }],
  ['URL', request('URL', { headers: [] }), { 'request.headers': ['is not a known field'] }],
  ['URL', request('URL', { ipFamily: 'IPv5' }), { 'request.ipFamily': ['must be one of IPv4, IPv6'] }],
  ['URL', { degradedResponseTime: 30_001 }, { degradedResponseTime: ['must be from 0 to 30000'] }],
  [
    'URL',
    { degradedResponseTime: 2, maxResponseTime: 1 },
    { degradedResponseTime: ['must not be above maxResponseTime (2 is above 1)'] },
  ],
  // API
  [
    'API',
    request('API', { method: 'TRACE' }),
    { 'request.method': ['must be one of GET, POST, PUT, HEAD, DELETE, PATCH, OPTIONS'] },
  ],
  [
    'API',
    request('API', { bodyType: 'XML' }),
    { 'request.bodyType': ['must be one of JSON, FORM, RAW, GRAPHQL, NONE'] },
  ],
  [
    'API',
    request('API', { headers: [{ key: '', value: 1 }] }),
    {
      'request.headers.0.key': ['must have 1 to 1024 characters'],
      'request.headers.0.value': ['must be a string'],
    },
  ],
  [
    'API',
    request('API', { basicAuth: { user: 'x' } }),
    { 'request.basicAuth.user': ['is not a known field'] },
  ],
  ['API', { maxResponseTime: -1 }, { maxResponseTime: ['must be from 0 to 30000'] }],
  // TCP
  ['TCP', { request: { port: 80 } }, { 'request.hostname': ['is required'] }],
  ['TCP', { request: { hostname: 'a' } }, { 'request.port': ['is required'] }],
  ['TCP', request('TCP', { port: 0 }), { 'request.port': ['must be from 1 to 65535'] }],
  ['TCP', request('TCP', { port: 65_536 }), { 'request.port': ['must be from 1 to 65535'] }],
  ['TCP', request('TCP', { port: '80' }), { 'request.port': ['must be a whole number'] }],
  [
    'TCP',
    request('TCP', { hostname: 'tcp://db.example' }),
    { 'request.hostname': ['must be a host name or an IP address, not a URL'] },
  ],
  [
    'TCP',
    request('TCP', { url: 'db.example' }),
    { 'request.url': ['is an alias of hostname: set only one of the two'] },
  ],
  [
    'TCP',
    request('TCP', { data: 'a', body: 'b' }),
    { 'request.body': ['is an alias of data: set only one of the two'] },
  ],
  ['TCP', { maxResponseTime: 5001 }, { maxResponseTime: ['must be from 0 to 5000'] }],
  // DNS
  ['DNS', { request: {} }, { 'request.query': ['is required'] }],
  ['DNS', request('DNS', { query: '' }), { 'request.query': ['must have 1 to 253 characters'] }],
  ['DNS', request('DNS', { query: 'a b' }), { 'request.query': ['must not contain spaces'] }],
  [
    'DNS',
    request('DNS', { recordType: 'B' }),
    { 'request.recordType': [`must be one of ${recordTypes.join(', ')}`] },
  ],
  [
    'DNS',
    request('DNS', { protocol: 'QUIC' }),
    { 'request.protocol': ['must be one of UDP, TCP, DOT, DOH'] },
  ],
  ['DNS', request('DNS', { port: 70_000 }), { 'request.port': ['must be from 1 to 65535'] }],
  [
    'DNS',
    request('DNS', { nameServer: 'https://dns.example/dns-query' }),
    { 'request.nameServer': ['must be a host name or an IP address; a URL only with protocol DOH'] },
  ],
  ['DNS', { heartbeat: 'x' }, { heartbeat: ['must be an object'] }],
  ['DNS', { script: 1 }, { script: ['must be a string'] }],
  ['DNS', { sslCheckDomain: null }, { sslCheckDomain: ['must be a string'] }],
  ['DNS', { degradedResponseTime: 5001 }, { degradedResponseTime: ['must be from 0 to 5000'] }],
  ['DNS', { maxResponseTime: -0.1 }, { maxResponseTime: ['must be from 0 to 5000'] }],
  // ICMP
  ['ICMP', request('ICMP', { pingCount: 0 }), { 'request.pingCount': ['must be from 1 to 50'] }],
  ['ICMP', request('ICMP', { pingCount: 51 }), { 'request.pingCount': ['must be from 1 to 50'] }],
  ['ICMP', { degradedPacketLossThreshold: 101 }, { degradedPacketLossThreshold: ['must be from 0 to 100'] }],
  [
    'ICMP',
    { degradedPacketLossThreshold: 21 },
    { degradedPacketLossThreshold: ['must not be above maxPacketLossThreshold (21 is above 20)'] },
  ],
];

test.each(refusals)('%s %j', async (type, fields, attributes) => {
  expect(await attributesOf(type, fields)).toEqual(attributes);
});
