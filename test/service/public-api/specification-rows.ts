/** The tables of the specification: endpoints, fields, values. */

/** What a schema must say. */
export type Rule = {
  type?: string | string[];
  default?: unknown;
  minimum?: number;
  maximum?: number;
  maxLength?: number;
  maxItems?: number;
  minItems?: number;
  required?: boolean;
  format?: string;
  enum?: unknown[];
};

const uuidLists = { limit: { default: 10, minimum: 1, maximum: 100 }, page: { default: 1 } };
const cursorLists = {
  limit: { default: 20, minimum: 1, maximum: 100 },
  nextId: {},
  paginated: { default: true },
};
export const multistepMetrics = [
  'responseTime',
  'availability',
  'retries',
  ...['avg', 'max', 'median', 'min', 'p50', 'p90', 'p95', 'p99', 'stddev', 'sum'].map(
    (aggregation) => `responseTime_${aggregation}`,
  ),
];

/** An endpoint. */
export type Row = {
  operation: string;
  success: number;
  path?: string[];
  query?: { [name: string]: Rule };
  /** Fields of the body and what they must be; of a list, its items'. */
  body?: { [field: string]: Rule };
  required?: string[];
  /** Of the answer; of a list, its items'. */
  answers?: { [field: string]: Rule };
  /** Fields that an answer always has, where the specification says so. */
  always?: string;
};

export const frequencies = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440];
export const dataCenters = [
  'us-east-1',
  'us-east-2',
  'us-west-1',
  'us-west-2',
  'ca-central-1',
  'sa-east-1',
  'eu-west-1',
  'eu-central-1',
  'eu-west-2',
  'eu-west-3',
  'eu-north-1',
  'eu-south-1',
  'me-south-1',
  'ap-southeast-1',
  'ap-northeast-1',
  'ap-east-1',
  'ap-southeast-2',
  'ap-southeast-3',
  'ap-northeast-2',
  'ap-northeast-3',
  'ap-south-1',
  'af-south-1',
];
export const checkTypes = 'AGENTIC API BROWSER HEARTBEAT ICMP MULTI_STEP TCP PLAYWRIGHT URL DNS'.split(' ');
export const runtimeIds = ['2026.04', '2025.04', '2024.09', '2024.02', '2023.09', '2023.02', '2022.10'];

const ofChecks: { [field: string]: Rule } = {
  name: { type: 'string' },
  activated: { type: 'boolean', default: true },
  muted: { type: 'boolean', default: false },
  doubleCheck: { type: 'boolean', default: true },
  shouldFail: { type: 'boolean', default: false },
  locations: { type: ['array', 'null'] },
  tags: { type: 'array' },
  alertSettings: { type: 'object' },
  useGlobalAlertSettings: { type: 'boolean', default: true },
  groupId: { type: 'null' },
  groupOrder: { type: 'null', minimum: 0 },
  runtimeId: { type: 'null' },
  alertChannelSubscriptions: { type: 'array' },
  retryStrategy: { type: 'object' },
  triggerIncident: { type: 'object' },
  runParallel: { type: 'boolean', default: false },
  description: { type: ['string', 'null'], maxLength: 500 },
  frequency: { type: 'integer', default: 10, enum: frequencies },
  frequencyOffset: { type: 'integer', minimum: 1 },
  privateLocations: { type: ['array', 'null'] },
  sslCheckDomain: { type: 'string' },
  scriptPath: { type: ['string', 'null'] },
  environmentVariables: { type: ['array', 'null'], maxItems: 100 },
};
const text: Rule = { type: 'string' };
const flag: Rule = { type: 'boolean' };
const list: Rule = { type: 'array' };
const date: Rule = { type: 'string', format: 'date' };
const dateTime: Rule = { type: 'string', format: 'date-time' };
/** Fields that every check is returned with, except those of its own type. */
const { runtimeId: _runtimeId, ...returned } = ofChecks;
const response = {
  ...Object.fromEntries(
    Object.entries(returned).map(([field, { type }]) => [field, type === undefined ? {} : { type }]),
  ),
  created_at: date,
  updated_at: { type: ['string', 'null'], format: 'date-time' },
  alertChannels: { type: 'object' },
  checkType: text,
  id: text,
};

export const rows: Row[] = [
  {
    operation: 'post /v1/checks/dns',
    success: 201,
    query: { autoAssignAlerts: { type: 'boolean', default: true } },
    // Where the specification requires heartbeat and script, they are accepted and say nothing.
    required: ['name', 'request'],
    body: {
      ...ofChecks,
      frequency: { default: 10, enum: [0, ...frequencies] },
      request: { type: 'object' },
      heartbeat: {},
      script: {},
      degradedResponseTime: { default: 500, minimum: 0, maximum: 5000, type: 'null' },
      maxResponseTime: { default: 1000, minimum: 0, maximum: 5000, type: 'null' },
      setupSnippetId: { type: 'null' },
      tearDownSnippetId: { type: 'null' },
      localSetupScript: { type: ['string', 'null'] },
      localTearDownScript: { type: ['string', 'null'] },
    },
    answers: { ...response, request: { type: 'object' }, heartbeat: {}, script: {} },
    always: 'name id checkType alertChannelSubscriptions alertChannels created_at updated_at',
  },
  {
    operation: 'post /v1/checks/browser',
    success: 201,
    query: { autoAssignAlerts: { type: 'boolean', default: true } },
    required: ['name', 'script'],
    body: {
      ...ofChecks,
      sslCheckDomain: { type: ['string', 'null'] },
      script: { type: ['string', 'null'] },
      dependencies: { type: ['array', 'null'] },
    },
    answers: {
      ...response,
      sslCheckDomain: { type: ['string', 'null'] },
      dependencies: { type: ['array', 'null'] },
    },
    always: 'name id checkType alertChannels created_at updated_at',
  },
  {
    operation: 'get /v1/checks/{id}',
    success: 200,
    path: ['id'],
    query: {
      includeDependencies: { type: 'boolean' },
      applyGroupSettings: { type: 'boolean', default: false },
    },
  },
  { operation: 'get /v1/check-groups/{id}/checks', success: 200, path: ['id'], query: uuidLists },
  {
    operation: 'get /v1/check-groups/{groupId}/checks/{checkId}',
    success: 200,
    path: ['groupId', 'checkId'],
  },
  {
    operation: 'get /v1/triggers/checks/{checkId}',
    success: 200,
    path: ['checkId'],
    answers: {
      id: { type: 'integer' },
      token: text,
      created_at: date,
      checkId: text,
      called_at: { type: ['string', 'null'], format: 'date' },
      updated_at: { type: ['string', 'null'], format: 'date' },
    },
    always: 'id token created_at checkId',
  },
  { operation: 'delete /v1/triggers/checks/{checkId}', success: 204, path: ['checkId'] },
  ...['v1', 'v2'].map((version): Row => ({
    operation: `post /${version}/check-sessions/trigger`,
    success: 201,
    body: { target: { type: 'object' } },
    answers: { sessions: { type: 'array' } },
  })),
  { operation: 'get /v2/check-sessions/{checkSessionId}', success: 200, path: ['checkSessionId'] },
  { operation: 'get /v2/check-sessions/{checkSessionId}/completion', success: 200, path: ['checkSessionId'] },
  {
    operation: 'post /v1/check-sessions/{checkSessionId}/cancel',
    success: 204,
    path: ['checkSessionId'],
    body: { sequenceId: { type: 'array', minItems: 1 } },
  },
  {
    operation: 'post /v1/alert-channels',
    success: 201,
    required: ['type', 'config'],
    body: {
      type: { enum: ['EMAIL', 'CHAT_A', 'CHAT_A_APP', 'WEBHOOK', 'SMS', 'PAGING_A', 'PAGING_B', 'CALL'] },
      config: {},
      subscriptions: { type: 'array' },
      sendRecovery: { type: 'boolean' },
      sendFailure: { type: 'boolean' },
      sendDegraded: { type: 'boolean' },
      sslExpiry: { type: 'boolean', default: false },
      sslExpiryThreshold: { type: 'integer', default: 30, minimum: 1, maximum: 30 },
      autoSubscribe: { type: 'boolean', default: false },
    },
    answers: {
      id: { type: 'integer' },
      created_at: dateTime,
      updated_at: { type: ['string', 'null'], format: 'date-time' },
    },
    always: 'id type config created_at updated_at',
  },
  {
    operation: 'put /v1/alert-channels/{id}/subscriptions',
    success: 200,
    path: ['id'],
    required: ['activated'],
    body: {
      activated: { type: 'boolean' },
      checkId: { type: ['string', 'null'] },
      groupId: { type: 'null' },
    },
    answers: {
      id: { type: 'integer' },
      activated: flag,
      checkId: { type: ['string', 'null'] },
      groupId: { type: ['integer', 'null'] },
    },
    always: 'id activated',
  },
  {
    operation: 'get /v1/maintenance-windows',
    success: 200,
    query: { ...uuidLists, startsAt: { type: 'object' }, endsAt: { type: 'object' } },
    answers: {
      id: { type: 'integer' },
      name: text,
      startsAt: text,
      endsAt: text,
      created_at: date,
      updated_at: { type: ['string', 'null'], format: 'date' },
      tags: list,
      repeatInterval: { type: ['integer', 'null'] },
      repeatUnit: { type: ['string', 'null'], enum: ['DAY', 'WEEK', 'MONTH'] },
      repeatEndsAt: { type: ['string', 'null'] },
      description: { type: ['string', 'null'] },
      statusPageVisibility: { type: 'object' },
      pauseAllChecks: flag,
      silenceAlertsTags: list,
      silenceAllAlerts: flag,
    },
    always: 'id name startsAt endsAt created_at updated_at',
  },
  {
    operation: 'get /v1/status-pages/services',
    success: 200,
    query: cursorLists,
    answers: {
      length: { type: 'integer' },
      entries: { type: 'array' },
      nextId: { type: ['string', 'null'] },
    },
    always: 'length entries nextId',
  },
  {
    operation: 'post /v1/status-pages/services',
    success: 200,
    required: ['name'],
    body: { name: { type: 'string' } },
    answers: {
      name: text,
      id: text,
      accountId: text,
      created_at: date,
      updated_at: { type: ['string', 'null'], format: 'date' },
    },
    always: 'name id accountId created_at',
  },
  {
    operation: 'get /v1/incidents/{id}',
    success: 200,
    query: { includeAllIncidentUpdates: { type: 'boolean' } },
    answers: {
      id: text,
      name: text,
      severity: { enum: ['MAINTENANCE', 'MAJOR', 'MINOR'] },
      dashboardId: text,
      created_at: dateTime,
      updated_at: { type: ['string', 'null'], format: 'date-time' },
      incidentUpdates: list,
      startedAt: dateTime,
      stoppedAt: { type: ['string', 'null'], format: 'date-time' },
    },
    always: 'id name severity dashboardId incidentUpdates startedAt created_at',
  },
  {
    operation: 'get /v1/checks/heartbeats/{checkId}/events/{id}',
    success: 200,
    path: ['checkId', 'id'],
    answers: { event: { type: 'object' }, stats: { type: 'object' } },
    always: 'event stats',
  },
  {
    operation: 'get /v1/error-groups/checks/{checkId}',
    success: 200,
    path: ['checkId'],
    query: uuidLists,
    answers: {
      id: text,
      checkId: text,
      errorHash: text,
      rawErrorMessage: { type: ['string', 'null'] },
      cleanedErrorMessage: text,
      firstSeen: text,
      lastSeen: text,
      archivedUntilNextEvent: flag,
      rootCauseAnalyses: list,
    },
    always:
      'id checkId errorHash rawErrorMessage cleanedErrorMessage firstSeen lastSeen archivedUntilNextEvent',
  },
  {
    operation: 'post /v1/root-cause-analyses/error-groups/{errorGroupId}',
    success: 202,
    path: ['errorGroupId'],
    body: { userContext: { type: ['string', 'null'], default: '', maxLength: 256 } },
    answers: { id: text, status: { enum: ['PENDING'] } },
    always: 'id status',
  },
  {
    operation: 'get /v1/root-cause-analyses/{id}',
    success: 200,
    path: ['id'],
    answers: {
      id: text,
      checkType: text,
      provider: text,
      model: text,
      durationMs: { type: 'number' },
      status: { enum: ['COMPLETED'] },
      checkId: { type: ['string', 'null'] },
      errorGroupId: { type: ['string', 'null'] },
      analysis: { type: 'object' },
      created_at: date,
    },
    always: 'id checkType provider model durationMs status',
  },
  {
    operation: 'get /v1/runtimes/{id}',
    success: 200,
    answers: {
      name: text,
      multiStepSupport: flag,
      nodeJsVersion: { type: 'string' },
      runtimeEndOfLife: { type: 'string' },
      stage: { enum: ['ALPHA', 'BETA', 'CURRENT', 'DEPRECATED', 'REMOVED', 'STABLE'] },
      description: text,
      dependencies: { type: 'object' },
    },
    always: 'name multiStepSupport nodeJsVersion runtimeEndOfLife stage description dependencies',
  },
  {
    operation: 'get /v1/analytics/multistep-checks/{id}',
    success: 200,
    path: ['id'],
    query: {
      from: {},
      to: {},
      quickRange: {
        default: 'last24Hours',
        enum: ['last24Hours', 'last7Days', 'last30Days', 'thisWeek', 'thisMonth', 'lastWeek', 'lastMonth'],
      },
      aggregationInterval: { type: 'number', minimum: 1, maximum: 43_200 },
      filterByStatus: { type: 'array' },
      groupBy: { enum: ['runLocation'] },
      metrics: { type: 'array', required: true },
      ...uuidLists,
    },
    answers: {
      checkId: text,
      name: text,
      checkType: text,
      activated: flag,
      muted: flag,
      frequency: { type: 'number' },
      from: text,
      to: text,
      tags: list,
      series: list,
      pagination: { type: 'object' },
      metadata: { type: 'object' },
    },
    always: 'checkId name checkType activated muted frequency from to tags series pagination metadata',
  },
];
