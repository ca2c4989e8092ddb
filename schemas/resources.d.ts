/** Fields of all resources. Written by scripts/file-schema.mjs from the schemas of the API. */

/** A resource of the project, by which another one refers to it. */
export type Reference<Kind extends string> = { readonly kind: Kind; readonly logicalId: string };

/** Stands for the value of an environment variable. */
export type Environment = { readonly env: string };

export type Headers = {
  key: string | Environment;
  /** Of a locked one: Kept encrypted and never returned: it reads as *********. In a change, that or an empty text keeps the stored one. @default "" */
  value?: string | Environment;
  /** @default false */
  locked?: boolean;
};

export type Config = {
  /** With its country code, like +31612345678. */
  number: string | Environment;
  /** @default "" */
  name?: string | Environment;
};

export type Locations = "us-east-1" | "us-east-2" | "us-west-1" | "us-west-2" | "ca-central-1" | "sa-east-1" | "eu-west-1" | "eu-central-1" | "eu-west-2" | "eu-west-3" | "eu-north-1" | "eu-south-1" | "me-south-1" | "ap-southeast-1" | "ap-northeast-1" | "ap-east-1" | "ap-southeast-2" | "ap-southeast-3" | "ap-northeast-2" | "ap-northeast-3" | "ap-south-1" | "af-south-1";

export type Headers2 = {
  key: string | Environment;
  /** @default "" */
  value?: string | Environment;
  /** @default false */
  locked?: boolean;
};

export type BasicAuth = {
  /** @default "" */
  username?: string | Environment;
  /** @default "" */
  password?: string | Environment;
};

export type Source = "STATUS_CODE" | "JSON_BODY" | "HEADERS" | "TEXT_BODY" | "RESPONSE_TIME";

export type Comparison = "EQUALS" | "NOT_EQUALS" | "HAS_KEY" | "NOT_HAS_KEY" | "HAS_VALUE" | "NOT_HAS_VALUE" | "IS_EMPTY" | "NOT_EMPTY" | "GREATER_THAN" | "LESS_THAN" | "CONTAINS" | "NOT_CONTAINS" | "IS_NULL" | "NOT_NULL";

export type Assertions = {
  source: Source;
  /** @default "" */
  property?: string | Environment;
  comparison: Comparison;
  /** @default "" */
  target?: string | Environment;
  regex?: string | null | Environment;
};

export type EnvironmentVariables = {
  key: string | Environment;
  /** Never returned when secret; in a change, an empty value of a known secret keeps the old one. @default "" */
  value?: string | Environment;
  /** @default false */
  locked?: boolean;
  /** @default false */
  secret?: boolean;
};

export type RunBasedEscalation = {
  /** @default 1 */
  failedRunThreshold?: 1 | 2 | 3 | 4 | 5;
};

export type TimeBasedEscalation = {
  /** @default 5 */
  minutesFailingThreshold?: 5 | 10 | 15 | 30;
};

export type Reminders = {
  /** 100000 = unlimited. @default 0 */
  amount?: 0 | 1 | 2 | 3 | 4 | 5 | 100000;
  /** Minutes. @default 5 */
  interval?: 1 | 2 | 3 | 4 | 5 | 10 | 15 | 30;
};

export type ParallelRunFailureThreshold = {
  /** @default false */
  enabled?: boolean;
  /** @default 10 */
  percentage?: 10 | 20 | 30 | 40 | 50 | 60 | 70 | 80 | 90 | 100;
};

export type AlertSettings = {
  /** @default "RUN_BASED" */
  escalationType?: "RUN_BASED" | "TIME_BASED";
  /** @default {"failedRunThreshold":1} */
  runBasedEscalation?: RunBasedEscalation;
  /** @default {"minutesFailingThreshold":5} */
  timeBasedEscalation?: TimeBasedEscalation;
  /** @default {"amount":0,"interval":5} */
  reminders?: Reminders;
  /** @default {"enabled":false,"percentage":10} */
  parallelRunFailureThreshold?: ParallelRunFailureThreshold;
};

export type AlertChannelSubscriptions = {
  alertChannelId: number | Reference<"alert-channel">;
  /** @default true */
  activated?: boolean;
};

export type RuntimeId = "2026.04" | "2025.04" | "2024.09" | "2024.02" | "2023.09" | "2023.02" | "2022.10" | null;

export type RetryStrategy = {
  /** @default "FIXED" */
  type?: "FIXED" | "LINEAR" | "EXPONENTIAL" | "SINGLE_RETRY";
  /** @default 60 */
  baseBackoffSeconds?: number;
  /** Default 2; not with SINGLE_RETRY. */
  maxRetries?: number;
  /** Default 600; not with SINGLE_RETRY. */
  maxDurationSeconds?: number;
  /** @default true */
  sameRegion?: boolean;
  /** Retry only these failures; empty = every failure. API and URL checks only. @default [] */
  onlyOn?: readonly ("NETWORK_ERROR")[];
};

export type TriggerIncident = {
  serviceId: string | Reference<"status-page-service">;
  /** Of the incident; left out: MAJOR. */
  severity?: "CRITICAL" | "MAJOR" | "MEDIUM" | "MINOR";
  name: string | Environment;
  /** @default "" */
  description?: string | Environment;
  /** @default false */
  notifySubscribers?: boolean;
};

export type Frequency = 0 | 1 | 2 | 5 | 10 | 15 | 30 | 60 | 120 | 180 | 360 | 720 | 1440;

export type Dependencies = {
  /** Relative to the folder of the script; must not leave it. */
  path: string | Environment;
  content?: string | Environment;
  /** File with the content, relative to this one. */
  contentFile?: string;
};

export type Frequency2 = 1 | 2 | 5 | 10 | 15 | 30 | 60 | 120 | 180 | 360 | 720 | 1440;

export type PlaywrightConfig = {
  /** Milliseconds of one test. */
  timeout?: number;
  use?: {
    
  };
  expect?: {
    
  };
};

export type Comparison2 = "EQUALS" | "NOT_EQUALS" | "IS_EMPTY" | "NOT_EMPTY" | "GREATER_THAN" | "LESS_THAN" | "CONTAINS" | "NOT_CONTAINS" | "IS_NULL" | "NOT_NULL";

export type WeakSignatureAlgorithm = {
  /** The effect of a violation on the run. An ignored rule is only shown. @default "fail" */
  severity?: "fail" | "degrade" | "ignore";
};

export type OcspMustStapleRespected = {
  /** The effect of a violation on the run. An ignored rule is only shown. @default "ignore" */
  severity?: "fail" | "degrade" | "ignore";
};

export type Light = {
  /** like #2459c4 */
  accent?: string | null | Environment;
  /** like #2459c4 */
  background?: string | null | Environment;
  /** like #2459c4 */
  card?: string | null | Environment;
  /** like #2459c4 */
  text?: string | null | Environment;
};

export type PrivateLocationFields = {
  /** Id of an existing resource (key of a variable): the project takes it over. */
  physicalId?: string;
  /** If it leaves the files, it stays in the account and is detached. @default false */
  protected?: boolean;
  name: string | Environment;
  /** 1 to 30 letters, digits or hyphens, and not of the form of a cloud region */
  slugName: string | Environment;
  /** @default "location" */
  icon?: string | Environment;
  /** Proxy of API and URL checks that run here; may hold {{VARIABLE}}. A password is shown masked. */
  proxyUrl?: string | null | Environment;
  /** Networks that scripts and suites may reach here, such as 10.0.0.0/8, 10.1.2.3:443 or [fd00::/8]:8000-8100. Null = every network except loopback, link-local, metadata and multicast addresses; [] = none. */
  allowedNetworks?: readonly (string | Environment)[] | null;
  /** True: agents that hold checks stop them while the service is away. False: they continue, and deliver the results afterwards. @default false */
  stopsInOutages?: boolean;
};

export type VariableFields = {
  /** Id of an existing resource (key of a variable): the project takes it over. */
  physicalId?: string;
  /** If it leaves the files, it stays in the account and is detached. @default false */
  protected?: boolean;
  key: string | Environment;
  /** Never returned when secret; when locked, only to keys that may write. */
  value: string | Environment;
  /** @default false */
  locked?: boolean;
  /** Write-only and scrubbed from results; can not be taken back. SERVICE_SECRET_* always are. @default false */
  secret?: boolean;
};

export type SnippetFields = {
  /** Id of an existing resource (key of a variable): the project takes it over. */
  physicalId?: string;
  /** If it leaves the files, it stays in the account and is detached. @default false */
  protected?: boolean;
  /** the name of a file without ".js": 1 to 100 letters, digits, spaces, dots, hyphens or underscores. Scripts require it as ./snippets/<name>.js */
  name: string | Environment;
  script?: string | Environment;
  /** File with the script, relative to this one. */
  scriptFile?: string;
};

export type AlertChannelEmailFields = {
  type: "EMAIL";
  /** Id of an existing resource (key of a variable): the project takes it over. */
  physicalId?: string;
  /** If it leaves the files, it stays in the account and is detached. @default false */
  protected?: boolean;
  config: {
    address: string | Environment;
  };
  /** @default true */
  sendRecovery?: boolean;
  /** @default true */
  sendFailure?: boolean;
  /** @default false */
  sendDegraded?: boolean;
  /** Alert on SSL certificates that expire. @default false */
  sslExpiry?: boolean;
  /** Days before a certificate expires. @default 30 */
  sslExpiryThreshold?: number;
  /** Subscribe newly created checks. @default false */
  autoSubscribe?: boolean;
};

export type AlertChannelChatAFields = {
  type: "CHAT_A";
  /** Id of an existing resource (key of a variable): the project takes it over. */
  physicalId?: string;
  /** If it leaves the files, it stays in the account and is detached. @default false */
  protected?: boolean;
  config: {
    /** Begins with http:// or https://. Keys that cannot write read ********* in its place. In a change, that text keeps the stored URL. */
    url: string | Environment;
    /** @default "" */
    channel?: string | Environment;
  };
  /** @default true */
  sendRecovery?: boolean;
  /** @default true */
  sendFailure?: boolean;
  /** @default false */
  sendDegraded?: boolean;
  /** Alert on SSL certificates that expire. @default false */
  sslExpiry?: boolean;
  /** Days before a certificate expires. @default 30 */
  sslExpiryThreshold?: number;
  /** Subscribe newly created checks. @default false */
  autoSubscribe?: boolean;
};

export type AlertChannelChatAAppFields = {
  type: "CHAT_A_APP";
  /** Id of an existing resource (key of a variable): the project takes it over. */
  physicalId?: string;
  /** If it leaves the files, it stays in the account and is detached. @default false */
  protected?: boolean;
  config: {
    channels: readonly (string | Environment)[];
  };
  /** @default true */
  sendRecovery?: boolean;
  /** @default true */
  sendFailure?: boolean;
  /** @default false */
  sendDegraded?: boolean;
  /** Alert on SSL certificates that expire. @default false */
  sslExpiry?: boolean;
  /** Days before a certificate expires. @default 30 */
  sslExpiryThreshold?: number;
  /** Subscribe newly created checks. @default false */
  autoSubscribe?: boolean;
};

export type AlertChannelWebhookFields = {
  type: "WEBHOOK";
  /** Id of an existing resource (key of a variable): the project takes it over. */
  physicalId?: string;
  /** If it leaves the files, it stays in the account and is detached. @default false */
  protected?: boolean;
  config: {
    /** @default "" */
    name?: string | Environment;
    /** Keys that cannot write read ********* in its place. In a change, that text keeps the stored URL. */
    url: string | Environment;
    /** @default "POST" */
    method?: "POST" | "GET" | "PUT" | "PATCH" | "DELETE" | "HEAD";
    /** The body, a Handlebars template. Empty = that of the webhookType, else an empty body. @default "" */
    template?: string | null | Environment;
    /** @default [] */
    headers?: readonly (Headers)[];
    /** @default [] */
    queryParameters?: readonly (Headers)[];
    /** With it, x-service-signature is the HMAC-SHA256 of the body as it is sent. Null = none. Kept encrypted and never returned: it reads as *********. In a change, that or an empty text keeps the stored one. */
    webhookSecret?: string | null | Environment;
    /** What receives it. JSON, TEXT, CONTENT and CARD stand for a body where there is no template; other names are kept. */
    webhookType?: string | null | Environment;
  };
  /** @default true */
  sendRecovery?: boolean;
  /** @default true */
  sendFailure?: boolean;
  /** @default false */
  sendDegraded?: boolean;
  /** Alert on SSL certificates that expire. @default false */
  sslExpiry?: boolean;
  /** Days before a certificate expires. @default 30 */
  sslExpiryThreshold?: number;
  /** Subscribe newly created checks. @default false */
  autoSubscribe?: boolean;
};

export type AlertChannelSmsFields = {
  type: "SMS";
  /** Id of an existing resource (key of a variable): the project takes it over. */
  physicalId?: string;
  /** If it leaves the files, it stays in the account and is detached. @default false */
  protected?: boolean;
  config: Config;
  /** @default true */
  sendRecovery?: boolean;
  /** @default true */
  sendFailure?: boolean;
  /** @default false */
  sendDegraded?: boolean;
  /** Alert on SSL certificates that expire. @default false */
  sslExpiry?: boolean;
  /** Days before a certificate expires. @default 30 */
  sslExpiryThreshold?: number;
  /** Subscribe newly created checks. @default false */
  autoSubscribe?: boolean;
};

export type AlertChannelPagingAFields = {
  type: "PAGING_A";
  /** Id of an existing resource (key of a variable): the project takes it over. */
  physicalId?: string;
  /** If it leaves the files, it stays in the account and is detached. @default false */
  protected?: boolean;
  config: {
    /** @default "" */
    account?: string | Environment;
    /** @default "" */
    serviceName?: string | Environment;
    /** Kept encrypted and never returned: it reads as *********. In a change, that or an empty text keeps the stored one. */
    serviceKey: string | Environment;
  };
  /** @default true */
  sendRecovery?: boolean;
  /** @default true */
  sendFailure?: boolean;
  /** @default false */
  sendDegraded?: boolean;
  /** Alert on SSL certificates that expire. @default false */
  sslExpiry?: boolean;
  /** Days before a certificate expires. @default 30 */
  sslExpiryThreshold?: number;
  /** Subscribe newly created checks. @default false */
  autoSubscribe?: boolean;
};

export type AlertChannelPagingBFields = {
  type: "PAGING_B";
  /** Id of an existing resource (key of a variable): the project takes it over. */
  physicalId?: string;
  /** If it leaves the files, it stays in the account and is detached. @default false */
  protected?: boolean;
  config: {
    /** @default "" */
    name?: string | Environment;
    /** Kept encrypted and never returned: it reads as *********. In a change, that or an empty text keeps the stored one. */
    apiKey: string | Environment;
    /** @default "US" */
    region?: "US" | "EU";
    /** @default "P3" */
    priority?: "P1" | "P2" | "P3" | "P4" | "P5";
  };
  /** @default true */
  sendRecovery?: boolean;
  /** @default true */
  sendFailure?: boolean;
  /** @default false */
  sendDegraded?: boolean;
  /** Alert on SSL certificates that expire. @default false */
  sslExpiry?: boolean;
  /** Days before a certificate expires. @default 30 */
  sslExpiryThreshold?: number;
  /** Subscribe newly created checks. @default false */
  autoSubscribe?: boolean;
};

export type AlertChannelCallFields = {
  type: "CALL";
  /** Id of an existing resource (key of a variable): the project takes it over. */
  physicalId?: string;
  /** If it leaves the files, it stays in the account and is detached. @default false */
  protected?: boolean;
  config: Config;
  /** @default true */
  sendRecovery?: boolean;
  /** @default true */
  sendFailure?: boolean;
  /** @default false */
  sendDegraded?: boolean;
  /** Alert on SSL certificates that expire. @default false */
  sslExpiry?: boolean;
  /** Days before a certificate expires. @default 30 */
  sslExpiryThreshold?: number;
  /** Subscribe newly created checks. @default false */
  autoSubscribe?: boolean;
};

export type StatusPageServiceFields = {
  /** Id of an existing resource (key of a variable): the project takes it over. */
  physicalId?: string;
  /** If it leaves the files, it stays in the account and is detached. @default false */
  protected?: boolean;
  name: string | Environment;
  /** Checks whose statuses the service shows without an incident: degraded, or down while checks fail. Their runs make its uptime. @default [] */
  checkIds?: readonly (string | Reference<"check">)[];
};

export type CheckGroupFields = {
  /** Id of an existing resource (key of a variable): the project takes it over. */
  physicalId?: string;
  /** If it leaves the files, it stays in the account and is detached. @default false */
  protected?: boolean;
  name: string | Environment;
  /** False = none of its checks runs. @default true */
  activated?: boolean;
  /** @default false */
  muted?: boolean;
  /** @default [] */
  tags?: readonly (string | Environment)[];
  /** @default [] */
  locations?: readonly (Locations)[] | null;
  /** Slug names of private locations of this account. @default [] */
  privateLocations?: readonly (string | Reference<"private-location">)[] | null;
  /** Checks that run at a time when the group is triggered. @default 3 */
  concurrency?: number;
  /** Null is returned as an object with its defaults. @default {} */
  apiCheckDefaults?: {
    /** GROUP_BASE_URL of its API checks. @default "" */
    url?: string | Environment;
    /** @default [] */
    headers?: readonly (Headers2)[];
    /** @default [] */
    queryParameters?: readonly (Headers2)[];
    basicAuth?: BasicAuth | null;
    /** @default [] */
    assertions?: readonly (Assertions)[];
  } | null;
  /** Stored and returned; has no effect. Null is returned as an empty text. @default "" */
  browserCheckDefaults?: string | Readonly<Record<string, unknown>> | null | Environment;
  /** @default [] */
  environmentVariables?: readonly (EnvironmentVariables)[] | null;
  /** The check's own alert settings; they apply when useGlobalAlertSettings is false. @default {"escalationType":"RUN_BASED","runBasedEscalation":{"failedRunThreshold":1},"timeBasedEscalation":{"minutesFailingThreshold":5},"reminders":{"amount":0,"interval":5},"parallelRunFailureThreshold":{"enabled":false,"percentage":10}} */
  alertSettings?: AlertSettings;
  /** @default [] */
  alertChannelSubscriptions?: readonly (AlertChannelSubscriptions)[];
  runtimeId?: RuntimeId;
  /** an object, null, or "FALLBACK" (what each check says) */
  retryStrategy?: RetryStrategy | string | null | Environment;
  setupSnippetId?: number | null | Reference<"snippet">;
  tearDownSnippetId?: number | null | Reference<"snippet">;
  localSetupScript?: string | null | Environment;
  localTearDownScript?: string | null | Environment;
  /** True = one retry at once, where retryStrategy is null. False = what each check says. @default false @deprecated */
  doubleCheck?: boolean | null;
  /** Null = what each check says. */
  runParallel?: boolean | null;
  /** Null = what each check says. */
  useGlobalAlertSettings?: boolean | null;
  /** File with the localSetupScript, relative to this one. */
  localSetupScriptFile?: string;
  /** File with the localTearDownScript, relative to this one. */
  localTearDownScriptFile?: string;
};

export type CheckAgenticFields = {
  checkType: "AGENTIC";
  /** Id of an existing resource (key of a variable): the project takes it over. */
  physicalId?: string;
  /** If it leaves the files, it stays in the account and is detached. @default false */
  protected?: boolean;
  name: string | Environment;
  /** @default true */
  activated?: boolean;
  /** @default false */
  muted?: boolean;
  /** Not for this type: it has no retries. @default false @deprecated */
  doubleCheck?: boolean;
  /** @default false */
  shouldFail?: boolean;
  /** @default [] */
  locations?: readonly (Locations)[] | null;
  /** Slug names of private locations of this account. @default [] */
  privateLocations?: readonly (string | Reference<"private-location">)[] | null;
  /** @default [] */
  tags?: readonly (string | Environment)[];
  /** The check's own alert settings; they apply when useGlobalAlertSettings is false. @default {"escalationType":"RUN_BASED","runBasedEscalation":{"failedRunThreshold":1},"timeBasedEscalation":{"minutesFailingThreshold":5},"reminders":{"amount":0,"interval":5},"parallelRunFailureThreshold":{"enabled":false,"percentage":10}} */
  alertSettings?: AlertSettings;
  /** @default true */
  useGlobalAlertSettings?: boolean;
  groupId?: number | null | Reference<"check-group">;
  groupOrder?: number | null;
  runtimeId?: RuntimeId;
  /** @default [] */
  alertChannelSubscriptions?: readonly (AlertChannelSubscriptions)[];
  retryStrategy?: RetryStrategy | null;
  triggerIncident?: TriggerIncident | null;
  /** @default false */
  runParallel?: boolean;
  description?: string | null | Environment;
  /** Minutes between runs. @default 30 */
  frequency?: 5 | 10 | 15 | 30 | 60 | 120 | 180 | 360 | 720 | 1440;
  /** With frequency 0: 10, 20 or 30 (seconds between runs). With 1 to 60: 1 to 10 × frequency. Above 60: 1 to frequency / 60. Null or left out in a new check: spread by the id of the check. */
  frequencyOffset?: number | null;
  scriptPath?: string | null | Environment;
  /** @default [] */
  environmentVariables?: readonly (EnvironmentVariables)[] | null;
  setupSnippetId?: number | null | Reference<"snippet">;
  tearDownSnippetId?: number | null | Reference<"snippet">;
  localSetupScript?: string | null | Environment;
  localTearDownScript?: string | null | Environment;
  /** The task, and the conditions that must hold. {{NAME}} is a variable of the check, its group or the account. */
  prompt: string | Environment;
  /** @default {"skills":[]} */
  agentRuntime?: {
    /** @default [] */
    skills?: readonly (string | Environment)[];
  };
  /** File with the localSetupScript, relative to this one. */
  localSetupScriptFile?: string;
  /** File with the localTearDownScript, relative to this one. */
  localTearDownScriptFile?: string;
};

export type CheckApiFields = {
  checkType: "API";
  /** Id of an existing resource (key of a variable): the project takes it over. */
  physicalId?: string;
  /** If it leaves the files, it stays in the account and is detached. @default false */
  protected?: boolean;
  name: string | Environment;
  /** @default true */
  activated?: boolean;
  /** @default false */
  muted?: boolean;
  /** One retry at once; retryStrategy replaces it. @default true @deprecated */
  doubleCheck?: boolean;
  /** @default false */
  shouldFail?: boolean;
  /** @default [] */
  locations?: readonly (Locations)[] | null;
  /** Slug names of private locations of this account. @default [] */
  privateLocations?: readonly (string | Reference<"private-location">)[] | null;
  /** @default [] */
  tags?: readonly (string | Environment)[];
  /** The check's own alert settings; they apply when useGlobalAlertSettings is false. @default {"escalationType":"RUN_BASED","runBasedEscalation":{"failedRunThreshold":1},"timeBasedEscalation":{"minutesFailingThreshold":5},"reminders":{"amount":0,"interval":5},"parallelRunFailureThreshold":{"enabled":false,"percentage":10}} */
  alertSettings?: AlertSettings;
  /** @default true */
  useGlobalAlertSettings?: boolean;
  groupId?: number | null | Reference<"check-group">;
  groupOrder?: number | null;
  runtimeId?: RuntimeId;
  /** @default [] */
  alertChannelSubscriptions?: readonly (AlertChannelSubscriptions)[];
  retryStrategy?: RetryStrategy | null;
  triggerIncident?: TriggerIncident | null;
  /** @default false */
  runParallel?: boolean;
  description?: string | null | Environment;
  /** Minutes between runs; 0 = every frequencyOffset seconds. @default 10 */
  frequency?: Frequency;
  /** With frequency 0: 10, 20 or 30 (seconds between runs). With 1 to 60: 1 to 10 × frequency. Above 60: 1 to frequency / 60. Null or left out in a new check: spread by the id of the check. */
  frequencyOffset?: number | null;
  scriptPath?: string | null | Environment;
  /** @default [] */
  environmentVariables?: readonly (EnvironmentVariables)[] | null;
  setupSnippetId?: number | null | Reference<"snippet">;
  tearDownSnippetId?: number | null | Reference<"snippet">;
  localSetupScript?: string | null | Environment;
  localTearDownScript?: string | null | Environment;
  /** Milliseconds; a run that takes at least this long is degraded. Null = no limit. @default 5000 */
  degradedResponseTime?: number | null;
  /** Milliseconds; a run that takes at least this long fails. Null = no limit. @default 20000 */
  maxResponseTime?: number | null;
  sslCheckDomain?: string | null | Environment;
  /** Files that the script needs, 3 MiB together at most; shown with includeDependencies. @default [] */
  dependencies?: readonly (Dependencies)[] | null;
  request: {
    /** @default "GET" */
    method?: "GET" | "POST" | "PUT" | "HEAD" | "DELETE" | "PATCH" | "OPTIONS";
    url: string | Environment;
    /** @default true */
    followRedirects?: boolean;
    /** @default false */
    skipSSL?: boolean;
    /** @default "IPv4" */
    ipFamily?: "IPv4" | "IPv6";
    /** @default "" */
    body?: string | Environment;
    /** @default "NONE" */
    bodyType?: "JSON" | "FORM" | "RAW" | "GRAPHQL" | "NONE";
    /** @default [] */
    headers?: readonly (Headers2)[];
    /** @default [] */
    queryParameters?: readonly (Headers2)[];
    basicAuth?: BasicAuth | null;
    /** @default [] */
    assertions?: readonly (Assertions)[];
  };
  /** File with the localSetupScript, relative to this one. */
  localSetupScriptFile?: string;
  /** File with the localTearDownScript, relative to this one. */
  localTearDownScriptFile?: string;
};

export type CheckBrowserFields = {
  checkType: "BROWSER";
  /** Id of an existing resource (key of a variable): the project takes it over. */
  physicalId?: string;
  /** If it leaves the files, it stays in the account and is detached. @default false */
  protected?: boolean;
  name: string | Environment;
  /** @default true */
  activated?: boolean;
  /** @default false */
  muted?: boolean;
  /** One retry at once; retryStrategy replaces it. @default true @deprecated */
  doubleCheck?: boolean;
  /** @default false */
  shouldFail?: boolean;
  /** @default [] */
  locations?: readonly (Locations)[] | null;
  /** Slug names of private locations of this account. @default [] */
  privateLocations?: readonly (string | Reference<"private-location">)[] | null;
  /** @default [] */
  tags?: readonly (string | Environment)[];
  /** The check's own alert settings; they apply when useGlobalAlertSettings is false. @default {"escalationType":"RUN_BASED","runBasedEscalation":{"failedRunThreshold":1},"timeBasedEscalation":{"minutesFailingThreshold":5},"reminders":{"amount":0,"interval":5},"parallelRunFailureThreshold":{"enabled":false,"percentage":10}} */
  alertSettings?: AlertSettings;
  /** @default true */
  useGlobalAlertSettings?: boolean;
  groupId?: number | null | Reference<"check-group">;
  groupOrder?: number | null;
  runtimeId?: RuntimeId;
  /** @default [] */
  alertChannelSubscriptions?: readonly (AlertChannelSubscriptions)[];
  retryStrategy?: RetryStrategy | null;
  triggerIncident?: TriggerIncident | null;
  /** @default false */
  runParallel?: boolean;
  description?: string | null | Environment;
  /** Minutes between runs. @default 10 */
  frequency?: Frequency2;
  /** With frequency 0: 10, 20 or 30 (seconds between runs). With 1 to 60: 1 to 10 × frequency. Above 60: 1 to frequency / 60. Null or left out in a new check: spread by the id of the check. */
  frequencyOffset?: number | null;
  scriptPath?: string | null | Environment;
  /** @default [] */
  environmentVariables?: readonly (EnvironmentVariables)[] | null;
  setupSnippetId?: number | null | Reference<"snippet">;
  tearDownSnippetId?: number | null | Reference<"snippet">;
  localSetupScript?: string | null | Environment;
  localTearDownScript?: string | null | Environment;
  /** Runs with @playwright/test of the runtime. Null = the file of dependencies that scriptPath names. */
  script?: string | null | Environment;
  /** Files that the script needs, 3 MiB together at most; shown with includeDependencies. @default [] */
  dependencies?: readonly (Dependencies)[] | null;
  /** Settings of Playwright Test: timeout, use and expect. The others are set by the agent. */
  playwrightConfig?: PlaywrightConfig | null;
  /** a domain name, like shop.example, or one with a port */
  sslCheckDomain?: string | null | Environment;
  /** File with the script, relative to this one. */
  scriptFile?: string;
  /** File with the localSetupScript, relative to this one. */
  localSetupScriptFile?: string;
  /** File with the localTearDownScript, relative to this one. */
  localTearDownScriptFile?: string;
};

export type CheckHeartbeatFields = {
  checkType: "HEARTBEAT";
  /** Id of an existing resource (key of a variable): the project takes it over. */
  physicalId?: string;
  /** If it leaves the files, it stays in the account and is detached. @default false */
  protected?: boolean;
  name: string | Environment;
  /** @default true */
  activated?: boolean;
  /** @default false */
  muted?: boolean;
  /** Not for this type: it has no retries. @default false @deprecated */
  doubleCheck?: boolean;
  /** @default false */
  shouldFail?: boolean;
  /** @default [] */
  locations?: readonly (Locations)[] | null;
  /** Slug names of private locations of this account. @default [] */
  privateLocations?: readonly (string | Reference<"private-location">)[] | null;
  /** @default [] */
  tags?: readonly (string | Environment)[];
  /** The check's own alert settings; they apply when useGlobalAlertSettings is false. @default {"escalationType":"RUN_BASED","runBasedEscalation":{"failedRunThreshold":1},"timeBasedEscalation":{"minutesFailingThreshold":5},"reminders":{"amount":0,"interval":5},"parallelRunFailureThreshold":{"enabled":false,"percentage":10}} */
  alertSettings?: AlertSettings;
  /** @default true */
  useGlobalAlertSettings?: boolean;
  groupId?: number | null | Reference<"check-group">;
  groupOrder?: number | null;
  runtimeId?: RuntimeId;
  /** @default [] */
  alertChannelSubscriptions?: readonly (AlertChannelSubscriptions)[];
  retryStrategy?: RetryStrategy | null;
  triggerIncident?: TriggerIncident | null;
  /** @default false */
  runParallel?: boolean;
  description?: string | null | Environment;
  /** Stored and returned; has no effect: heartbeat.period decides when a ping is due. @default 10 */
  frequency?: Frequency;
  /** With frequency 0: 10, 20 or 30 (seconds between runs). With 1 to 60: 1 to 10 × frequency. Above 60: 1 to frequency / 60. Null or left out in a new check: spread by the id of the check. */
  frequencyOffset?: number | null;
  scriptPath?: string | null | Environment;
  /** @default [] */
  environmentVariables?: readonly (EnvironmentVariables)[] | null;
  setupSnippetId?: number | null | Reference<"snippet">;
  tearDownSnippetId?: number | null | Reference<"snippet">;
  localSetupScript?: string | null | Environment;
  localTearDownScript?: string | null | Environment;
  /** When the job that is watched calls the ping URL: it must at least once in period + grace. */
  heartbeat: {
    /** 30 seconds to 365 days. */
    period: number;
    periodUnit: "seconds" | "minutes" | "hours" | "days";
    /** How much later than the period a ping may come; 0 to 365 days. @default 0 */
    grace?: number;
    /** @default "seconds" */
    graceUnit?: "seconds" | "minutes" | "hours" | "days";
  };
  /** File with the localSetupScript, relative to this one. */
  localSetupScriptFile?: string;
  /** File with the localTearDownScript, relative to this one. */
  localTearDownScriptFile?: string;
};

export type CheckIcmpFields = {
  checkType: "ICMP";
  /** Id of an existing resource (key of a variable): the project takes it over. */
  physicalId?: string;
  /** If it leaves the files, it stays in the account and is detached. @default false */
  protected?: boolean;
  name: string | Environment;
  /** @default true */
  activated?: boolean;
  /** @default false */
  muted?: boolean;
  /** One retry at once; retryStrategy replaces it. @default true @deprecated */
  doubleCheck?: boolean;
  /** @default false */
  shouldFail?: boolean;
  /** @default [] */
  locations?: readonly (Locations)[] | null;
  /** Slug names of private locations of this account. @default [] */
  privateLocations?: readonly (string | Reference<"private-location">)[] | null;
  /** @default [] */
  tags?: readonly (string | Environment)[];
  /** The check's own alert settings; they apply when useGlobalAlertSettings is false. @default {"escalationType":"RUN_BASED","runBasedEscalation":{"failedRunThreshold":1},"timeBasedEscalation":{"minutesFailingThreshold":5},"reminders":{"amount":0,"interval":5},"parallelRunFailureThreshold":{"enabled":false,"percentage":10}} */
  alertSettings?: AlertSettings;
  /** @default true */
  useGlobalAlertSettings?: boolean;
  groupId?: number | null | Reference<"check-group">;
  groupOrder?: number | null;
  runtimeId?: RuntimeId;
  /** @default [] */
  alertChannelSubscriptions?: readonly (AlertChannelSubscriptions)[];
  retryStrategy?: RetryStrategy | null;
  triggerIncident?: TriggerIncident | null;
  /** @default false */
  runParallel?: boolean;
  description?: string | null | Environment;
  /** Minutes between runs; 0 = every frequencyOffset seconds. @default 10 */
  frequency?: Frequency;
  /** With frequency 0: 10, 20 or 30 (seconds between runs). With 1 to 60: 1 to 10 × frequency. Above 60: 1 to frequency / 60. Null or left out in a new check: spread by the id of the check. */
  frequencyOffset?: number | null;
  scriptPath?: string | null | Environment;
  /** @default [] */
  environmentVariables?: readonly (EnvironmentVariables)[] | null;
  setupSnippetId?: number | null | Reference<"snippet">;
  tearDownSnippetId?: number | null | Reference<"snippet">;
  localSetupScript?: string | null | Environment;
  localTearDownScript?: string | null | Environment;
  /** Milliseconds; a run that takes at least this long is degraded. Null = no limit. @default 10000 */
  degradedResponseTime?: number | null;
  /** Milliseconds; a run that takes at least this long fails. Null = no limit. @default 20000 */
  maxResponseTime?: number | null;
  /** Percent of lost packets from which on a run is degraded. @default 10 */
  degradedPacketLossThreshold?: number;
  /** Percent of lost packets from which on a run fails. @default 20 */
  maxPacketLossThreshold?: number;
  sslCheckDomain?: string | null | Environment;
  request: {
    hostname: string | Environment;
    /** @default "IPv4" */
    ipFamily?: "IPv4" | "IPv6";
    /** @default 10 */
    pingCount?: number;
    /** @default [] */
    assertions?: readonly ({
      source: "LATENCY" | "JSON_RESPONSE";
      /** @default "" */
      property?: string | Environment;
      comparison: Comparison2;
      /** @default "" */
      target?: string | Environment;
      regex?: string | null | Environment;
    })[];
  };
  /** File with the localSetupScript, relative to this one. */
  localSetupScriptFile?: string;
  /** File with the localTearDownScript, relative to this one. */
  localTearDownScriptFile?: string;
};

export type CheckMultiStepFields = {
  checkType: "MULTI_STEP";
  /** Id of an existing resource (key of a variable): the project takes it over. */
  physicalId?: string;
  /** If it leaves the files, it stays in the account and is detached. @default false */
  protected?: boolean;
  name: string | Environment;
  /** @default true */
  activated?: boolean;
  /** @default false */
  muted?: boolean;
  /** One retry at once; retryStrategy replaces it. @default true @deprecated */
  doubleCheck?: boolean;
  /** @default false */
  shouldFail?: boolean;
  /** @default [] */
  locations?: readonly (Locations)[] | null;
  /** Slug names of private locations of this account. @default [] */
  privateLocations?: readonly (string | Reference<"private-location">)[] | null;
  /** @default [] */
  tags?: readonly (string | Environment)[];
  /** The check's own alert settings; they apply when useGlobalAlertSettings is false. @default {"escalationType":"RUN_BASED","runBasedEscalation":{"failedRunThreshold":1},"timeBasedEscalation":{"minutesFailingThreshold":5},"reminders":{"amount":0,"interval":5},"parallelRunFailureThreshold":{"enabled":false,"percentage":10}} */
  alertSettings?: AlertSettings;
  /** @default true */
  useGlobalAlertSettings?: boolean;
  groupId?: number | null | Reference<"check-group">;
  groupOrder?: number | null;
  runtimeId?: RuntimeId;
  /** @default [] */
  alertChannelSubscriptions?: readonly (AlertChannelSubscriptions)[];
  retryStrategy?: RetryStrategy | null;
  triggerIncident?: TriggerIncident | null;
  /** @default false */
  runParallel?: boolean;
  description?: string | null | Environment;
  /** Minutes between runs. @default 10 */
  frequency?: Frequency2;
  /** With frequency 0: 10, 20 or 30 (seconds between runs). With 1 to 60: 1 to 10 × frequency. Above 60: 1 to frequency / 60. Null or left out in a new check: spread by the id of the check. */
  frequencyOffset?: number | null;
  scriptPath?: string | null | Environment;
  /** @default [] */
  environmentVariables?: readonly (EnvironmentVariables)[] | null;
  setupSnippetId?: number | null | Reference<"snippet">;
  tearDownSnippetId?: number | null | Reference<"snippet">;
  localSetupScript?: string | null | Environment;
  localTearDownScript?: string | null | Environment;
  /** Runs with @playwright/test of the runtime. Null = the file of dependencies that scriptPath names. */
  script?: string | null | Environment;
  /** Files that the script needs, 3 MiB together at most; shown with includeDependencies. @default [] */
  dependencies?: readonly (Dependencies)[] | null;
  /** Settings of Playwright Test: timeout, use and expect. The others are set by the agent. */
  playwrightConfig?: PlaywrightConfig | null;
  /** a domain name, like shop.example, or one with a port */
  sslCheckDomain?: string | null | Environment;
  /** File with the script, relative to this one. */
  scriptFile?: string;
  /** File with the localSetupScript, relative to this one. */
  localSetupScriptFile?: string;
  /** File with the localTearDownScript, relative to this one. */
  localTearDownScriptFile?: string;
};

export type CheckTcpFields = {
  checkType: "TCP";
  /** Id of an existing resource (key of a variable): the project takes it over. */
  physicalId?: string;
  /** If it leaves the files, it stays in the account and is detached. @default false */
  protected?: boolean;
  name: string | Environment;
  /** @default true */
  activated?: boolean;
  /** @default false */
  muted?: boolean;
  /** One retry at once; retryStrategy replaces it. @default true @deprecated */
  doubleCheck?: boolean;
  /** @default false */
  shouldFail?: boolean;
  /** @default [] */
  locations?: readonly (Locations)[] | null;
  /** Slug names of private locations of this account. @default [] */
  privateLocations?: readonly (string | Reference<"private-location">)[] | null;
  /** @default [] */
  tags?: readonly (string | Environment)[];
  /** The check's own alert settings; they apply when useGlobalAlertSettings is false. @default {"escalationType":"RUN_BASED","runBasedEscalation":{"failedRunThreshold":1},"timeBasedEscalation":{"minutesFailingThreshold":5},"reminders":{"amount":0,"interval":5},"parallelRunFailureThreshold":{"enabled":false,"percentage":10}} */
  alertSettings?: AlertSettings;
  /** @default true */
  useGlobalAlertSettings?: boolean;
  groupId?: number | null | Reference<"check-group">;
  groupOrder?: number | null;
  runtimeId?: RuntimeId;
  /** @default [] */
  alertChannelSubscriptions?: readonly (AlertChannelSubscriptions)[];
  retryStrategy?: RetryStrategy | null;
  triggerIncident?: TriggerIncident | null;
  /** @default false */
  runParallel?: boolean;
  description?: string | null | Environment;
  /** Minutes between runs; 0 = every frequencyOffset seconds. @default 10 */
  frequency?: Frequency;
  /** With frequency 0: 10, 20 or 30 (seconds between runs). With 1 to 60: 1 to 10 × frequency. Above 60: 1 to frequency / 60. Null or left out in a new check: spread by the id of the check. */
  frequencyOffset?: number | null;
  scriptPath?: string | null | Environment;
  /** @default [] */
  environmentVariables?: readonly (EnvironmentVariables)[] | null;
  setupSnippetId?: number | null | Reference<"snippet">;
  tearDownSnippetId?: number | null | Reference<"snippet">;
  localSetupScript?: string | null | Environment;
  localTearDownScript?: string | null | Environment;
  /** Milliseconds; a run that takes at least this long is degraded. Null = no limit. @default 3000 */
  degradedResponseTime?: number | null;
  /** Milliseconds; a run that takes at least this long fails. Null = no limit. @default 5000 */
  maxResponseTime?: number | null;
  sslCheckDomain?: string | null | Environment;
  request: {
    hostname?: string | Environment;
    port: number;
    data?: string | null | Environment;
    /** @default "IPv4" */
    ipFamily?: "IPv4" | "IPv6";
    /** @default [] */
    assertions?: readonly ({
      source: "RESPONSE_DATA" | "RESPONSE_TIME";
      /** @default "" */
      property?: string | Environment;
      comparison: "EQUALS" | "NOT_EQUALS" | "IS_EMPTY" | "NOT_EMPTY" | "GREATER_THAN" | "LESS_THAN" | "CONTAINS" | "NOT_CONTAINS";
      /** @default "" */
      target?: string | Environment;
      regex?: string | null | Environment;
    })[];
    /** Another name of hostname. */
    url?: string | Environment;
    /** Another name of data. */
    body?: string | null | Environment;
  };
  /** File with the localSetupScript, relative to this one. */
  localSetupScriptFile?: string;
  /** File with the localTearDownScript, relative to this one. */
  localTearDownScriptFile?: string;
};

export type CheckPlaywrightFields = {
  checkType: "PLAYWRIGHT";
  /** Id of an existing resource (key of a variable): the project takes it over. */
  physicalId?: string;
  /** If it leaves the files, it stays in the account and is detached. @default false */
  protected?: boolean;
  name: string | Environment;
  /** @default true */
  activated?: boolean;
  /** @default false */
  muted?: boolean;
  /** Not for suites: Playwright retries tests itself. @default false @deprecated */
  doubleCheck?: boolean;
  /** @default false */
  shouldFail?: boolean;
  /** @default [] */
  locations?: readonly (Locations)[] | null;
  /** Slug names of private locations of this account. @default [] */
  privateLocations?: readonly (string | Reference<"private-location">)[] | null;
  /** @default [] */
  tags?: readonly (string | Environment)[];
  /** The check's own alert settings; they apply when useGlobalAlertSettings is false. @default {"escalationType":"RUN_BASED","runBasedEscalation":{"failedRunThreshold":1},"timeBasedEscalation":{"minutesFailingThreshold":5},"reminders":{"amount":0,"interval":5},"parallelRunFailureThreshold":{"enabled":false,"percentage":10}} */
  alertSettings?: AlertSettings;
  /** @default true */
  useGlobalAlertSettings?: boolean;
  groupId?: number | null | Reference<"check-group">;
  groupOrder?: number | null;
  runtimeId?: RuntimeId;
  /** @default [] */
  alertChannelSubscriptions?: readonly (AlertChannelSubscriptions)[];
  retryStrategy?: RetryStrategy | null;
  triggerIncident?: TriggerIncident | null;
  /** @default false */
  runParallel?: boolean;
  description?: string | null | Environment;
  /** Minutes between runs. @default 10 */
  frequency?: Frequency2;
  /** With frequency 0: 10, 20 or 30 (seconds between runs). With 1 to 60: 1 to 10 × frequency. Above 60: 1 to frequency / 60. Null or left out in a new check: spread by the id of the check. */
  frequencyOffset?: number | null;
  scriptPath?: string | null | Environment;
  /** @default [] */
  environmentVariables?: readonly (EnvironmentVariables)[] | null;
  setupSnippetId?: number | null | Reference<"snippet">;
  tearDownSnippetId?: number | null | Reference<"snippet">;
  localSetupScript?: string | null | Environment;
  localTearDownScript?: string | null | Environment;
  /** Key of the code bundle, from POST /v1/playwright-bundles. */
  codeBundlePath?: string;
  /** Null = chosen by the lock file. */
  installCommand?: string | null | Environment;
  /** Null = `playwright test` of the package manager; config, projects and tags are added to it. */
  testCommand?: string | null | Environment;
  /** Relative to workingDir. Null = Playwright's own search. */
  playwrightConfigPath?: string | null | Environment;
  /** Projects to run; none = all. @default [] */
  pwProjects?: readonly (string | Environment)[];
  /** Tests with any of these: each a tag, or several with spaces between that a test must all have. @default [] */
  pwTags?: readonly (string | Environment)[];
  /** Folder of the bundle in which everything runs; empty = its root. @default "" */
  workingDir?: string | Environment;
  /** Null = node. */
  engine?: "node" | "bun" | null;
  /** Null = the default of the engine. */
  engineVersion?: string | null | Environment;
  /** Browsers to have ready besides those that the config names. @default [] */
  browsers?: readonly ("chromium" | "firefox" | "webkit")[];
  /** Minutes that a run may take. @default 30 */
  maxRunMinutes?: number;
  /** File with the localSetupScript, relative to this one. */
  localSetupScriptFile?: string;
  /** File with the localTearDownScript, relative to this one. */
  localTearDownScriptFile?: string;
  /** Folder of the Playwright project, relative to this file. It replaces codeBundlePath. */
  suite?: string;
};

export type CheckUrlFields = {
  checkType: "URL";
  /** Id of an existing resource (key of a variable): the project takes it over. */
  physicalId?: string;
  /** If it leaves the files, it stays in the account and is detached. @default false */
  protected?: boolean;
  name: string | Environment;
  /** @default true */
  activated?: boolean;
  /** @default false */
  muted?: boolean;
  /** One retry at once; retryStrategy replaces it. @default true @deprecated */
  doubleCheck?: boolean;
  /** @default false */
  shouldFail?: boolean;
  /** @default [] */
  locations?: readonly (Locations)[] | null;
  /** Slug names of private locations of this account. @default [] */
  privateLocations?: readonly (string | Reference<"private-location">)[] | null;
  /** @default [] */
  tags?: readonly (string | Environment)[];
  /** The check's own alert settings; they apply when useGlobalAlertSettings is false. @default {"escalationType":"RUN_BASED","runBasedEscalation":{"failedRunThreshold":1},"timeBasedEscalation":{"minutesFailingThreshold":5},"reminders":{"amount":0,"interval":5},"parallelRunFailureThreshold":{"enabled":false,"percentage":10}} */
  alertSettings?: AlertSettings;
  /** @default true */
  useGlobalAlertSettings?: boolean;
  groupId?: number | null | Reference<"check-group">;
  groupOrder?: number | null;
  runtimeId?: RuntimeId;
  /** @default [] */
  alertChannelSubscriptions?: readonly (AlertChannelSubscriptions)[];
  retryStrategy?: RetryStrategy | null;
  triggerIncident?: TriggerIncident | null;
  /** @default false */
  runParallel?: boolean;
  description?: string | null | Environment;
  /** Minutes between runs; 0 = every frequencyOffset seconds. @default 10 */
  frequency?: Frequency;
  /** With frequency 0: 10, 20 or 30 (seconds between runs). With 1 to 60: 1 to 10 × frequency. Above 60: 1 to frequency / 60. Null or left out in a new check: spread by the id of the check. */
  frequencyOffset?: number | null;
  scriptPath?: string | null | Environment;
  /** @default [] */
  environmentVariables?: readonly (EnvironmentVariables)[] | null;
  setupSnippetId?: number | null | Reference<"snippet">;
  tearDownSnippetId?: number | null | Reference<"snippet">;
  localSetupScript?: string | null | Environment;
  localTearDownScript?: string | null | Environment;
  /** Milliseconds; a run that takes at least this long is degraded. Null = no limit. @default 3000 */
  degradedResponseTime?: number | null;
  /** Milliseconds; a run that takes at least this long fails. Null = no limit. @default 5000 */
  maxResponseTime?: number | null;
  sslCheckDomain?: string | null | Environment;
  request: {
    /** @default "GET" */
    method?: "GET";
    url: string | Environment;
    /** @default true */
    followRedirects?: boolean;
    /** @default false */
    skipSSL?: boolean;
    /** @default "IPv4" */
    ipFamily?: "IPv4" | "IPv6";
    /** @default [] */
    assertions?: readonly ({
      source: "STATUS_CODE";
      /** @default "" */
      property?: string | Environment;
      comparison: "EQUALS" | "NOT_EQUALS" | "GREATER_THAN" | "LESS_THAN";
      /** @default "" */
      target?: string | Environment;
      regex?: string | null | Environment;
    })[];
  };
  /** File with the localSetupScript, relative to this one. */
  localSetupScriptFile?: string;
  /** File with the localTearDownScript, relative to this one. */
  localTearDownScriptFile?: string;
};

export type CheckDnsFields = {
  checkType: "DNS";
  /** Id of an existing resource (key of a variable): the project takes it over. */
  physicalId?: string;
  /** If it leaves the files, it stays in the account and is detached. @default false */
  protected?: boolean;
  name: string | Environment;
  /** @default true */
  activated?: boolean;
  /** @default false */
  muted?: boolean;
  /** One retry at once; retryStrategy replaces it. @default true @deprecated */
  doubleCheck?: boolean;
  /** @default false */
  shouldFail?: boolean;
  /** @default [] */
  locations?: readonly (Locations)[] | null;
  /** Slug names of private locations of this account. @default [] */
  privateLocations?: readonly (string | Reference<"private-location">)[] | null;
  /** @default [] */
  tags?: readonly (string | Environment)[];
  /** The check's own alert settings; they apply when useGlobalAlertSettings is false. @default {"escalationType":"RUN_BASED","runBasedEscalation":{"failedRunThreshold":1},"timeBasedEscalation":{"minutesFailingThreshold":5},"reminders":{"amount":0,"interval":5},"parallelRunFailureThreshold":{"enabled":false,"percentage":10}} */
  alertSettings?: AlertSettings;
  /** @default true */
  useGlobalAlertSettings?: boolean;
  groupId?: number | null | Reference<"check-group">;
  groupOrder?: number | null;
  runtimeId?: RuntimeId;
  /** @default [] */
  alertChannelSubscriptions?: readonly (AlertChannelSubscriptions)[];
  retryStrategy?: RetryStrategy | null;
  triggerIncident?: TriggerIncident | null;
  /** @default false */
  runParallel?: boolean;
  description?: string | null | Environment;
  /** Minutes between runs; 0 = every frequencyOffset seconds. @default 10 */
  frequency?: Frequency;
  /** With frequency 0: 10, 20 or 30 (seconds between runs). With 1 to 60: 1 to 10 × frequency. Above 60: 1 to frequency / 60. Null or left out in a new check: spread by the id of the check. */
  frequencyOffset?: number | null;
  scriptPath?: string | null | Environment;
  /** @default [] */
  environmentVariables?: readonly (EnvironmentVariables)[] | null;
  setupSnippetId?: number | null | Reference<"snippet">;
  tearDownSnippetId?: number | null | Reference<"snippet">;
  localSetupScript?: string | null | Environment;
  localTearDownScript?: string | null | Environment;
  /** Milliseconds; a run that takes at least this long is degraded. Null = no limit. @default 500 */
  degradedResponseTime?: number | null;
  /** Milliseconds; a run that takes at least this long fails. Null = no limit. @default 1000 */
  maxResponseTime?: number | null;
  /** @default "" */
  sslCheckDomain?: string | Environment;
  /** Stored and returned; has no effect. */
  heartbeat?: {
    
  };
  /** Stored and returned; has no effect. */
  script?: string | Environment;
  request: {
    query: string | Environment;
    /** @default "A" */
    recordType?: "A" | "AAAA" | "CNAME" | "MX" | "TXT" | "SOA" | "NS" | "HTTPS" | "SVCB" | "SRV" | "PTR" | "CAA" | "DS" | "DNSKEY" | "RRSIG" | "NSEC" | "NSEC3" | "TLSA" | "SSHFP" | "NAPTR" | "DNAME" | "HINFO" | "RP" | "LOC" | "URI" | "ANY";
    nameServer?: string | null | Environment;
    port?: number | null;
    /** @default "UDP" */
    protocol?: "UDP" | "TCP" | "DOT" | "DOH";
    /** @default false */
    skipSSL?: boolean;
    /** @default [] */
    assertions?: readonly ({
      source: "RESPONSE_TIME" | "RESPONSE_CODE" | "TEXT_ANSWER" | "JSON_ANSWER";
      /** @default "" */
      property?: string | Environment;
      comparison: Comparison;
      /** @default "" */
      target?: string | Environment;
      regex?: string | null | Environment;
    })[];
  };
  /** File with the script, relative to this one. */
  scriptFile?: string;
  /** File with the localSetupScript, relative to this one. */
  localSetupScriptFile?: string;
  /** File with the localTearDownScript, relative to this one. */
  localTearDownScriptFile?: string;
};

export type CheckSslFields = {
  checkType: "SSL";
  /** Id of an existing resource (key of a variable): the project takes it over. */
  physicalId?: string;
  /** If it leaves the files, it stays in the account and is detached. @default false */
  protected?: boolean;
  name: string | Environment;
  /** @default true */
  activated?: boolean;
  /** @default false */
  muted?: boolean;
  /** One retry at once; retryStrategy replaces it. @default true @deprecated */
  doubleCheck?: boolean;
  /** @default false */
  shouldFail?: boolean;
  /** @default [] */
  locations?: readonly (Locations)[] | null;
  /** Slug names of private locations of this account. @default [] */
  privateLocations?: readonly (string | Reference<"private-location">)[] | null;
  /** @default [] */
  tags?: readonly (string | Environment)[];
  /** The check's own alert settings; they apply when useGlobalAlertSettings is false. @default {"escalationType":"RUN_BASED","runBasedEscalation":{"failedRunThreshold":1},"timeBasedEscalation":{"minutesFailingThreshold":5},"reminders":{"amount":0,"interval":5},"parallelRunFailureThreshold":{"enabled":false,"percentage":10}} */
  alertSettings?: AlertSettings;
  /** @default true */
  useGlobalAlertSettings?: boolean;
  groupId?: number | null | Reference<"check-group">;
  groupOrder?: number | null;
  runtimeId?: RuntimeId;
  /** @default [] */
  alertChannelSubscriptions?: readonly (AlertChannelSubscriptions)[];
  retryStrategy?: RetryStrategy | null;
  triggerIncident?: TriggerIncident | null;
  /** @default false */
  runParallel?: boolean;
  description?: string | null | Environment;
  /** Minutes between runs; 0 = every frequencyOffset seconds. @default 10 */
  frequency?: Frequency;
  /** With frequency 0: 10, 20 or 30 (seconds between runs). With 1 to 60: 1 to 10 × frequency. Above 60: 1 to frequency / 60. Null or left out in a new check: spread by the id of the check. */
  frequencyOffset?: number | null;
  scriptPath?: string | null | Environment;
  /** @default [] */
  environmentVariables?: readonly (EnvironmentVariables)[] | null;
  setupSnippetId?: number | null | Reference<"snippet">;
  tearDownSnippetId?: number | null | Reference<"snippet">;
  localSetupScript?: string | null | Environment;
  localTearDownScript?: string | null | Environment;
  /** Milliseconds; a run that takes at least this long is degraded. Null = no limit. @default 3000 */
  degradedResponseTime?: number | null;
  /** Milliseconds; a run that takes at least this long fails. Null = no limit. @default 10000 */
  maxResponseTime?: number | null;
  sslCheckDomain?: string | null | Environment;
  request: {
    sslConfig: {
      /** Host name or address, without scheme and port. */
      hostname: string | Environment;
      /** @default 443 */
      port?: number;
      /** Name for SNI, which the certificate must carry. Null or empty = hostname. */
      serverName?: string | null | Environment;
      /** @default "IPv4" */
      ipFamily?: "IPv4" | "IPv6";
      /** The protocol that is spoken before TLS begins. Null = TLS from the first byte. */
      startTls?: "SMTP" | "IMAP" | "POP3" | "FTP" | "LDAP" | "POSTGRESQL" | null;
      /** True: a chain that is not trusted is no failure. @default false */
      skipChainValidation?: boolean;
      /** @default 10000 */
      handshakeTimeoutMs?: number;
      /** The run is degraded from that many days before the first certificate of the chain expires. @default 20 */
      alertDaysBeforeExpiry?: number;
      /** The run fails from that many days before the expiry; 0 = only when it has expired. @default 0 */
      failDaysBeforeExpiry?: number;
      /** stapled: only what the server sends. ocsp: without it, asks the authority. crl: also reads its list. @default "stapled" */
      revocation?: "stapled" | "ocsp" | "crl";
      /** True: tries with at most 12 more connections which old versions and weak suites the server accepts. @default false */
      scan?: boolean;
      /** auto: the stored certificate whose host matches. explicit: sslClientCertificateId. */
      clientCertificateMode?: "auto" | "explicit" | null;
      /** @default {} */
      securityBaseline?: {
        /** False: no rule runs. @default true */
        enabled?: boolean;
        /** @default {"value":"TLS1.2","severity":"fail"} */
        minTLSVersion?: {
          /** @default "TLS1.2" */
          value?: "TLS1.2" | "TLS1.3";
          /** The effect of a violation on the run. An ignored rule is only shown. @default "fail" */
          severity?: "fail" | "degrade" | "ignore";
        };
        /** @default {"value":2048,"severity":"fail"} */
        minKeySizeBits?: {
          /** @default 2048 */
          value?: number;
          /** The effect of a violation on the run. An ignored rule is only shown. @default "fail" */
          severity?: "fail" | "degrade" | "ignore";
        };
        /** @default {"severity":"fail"} */
        weakSignatureAlgorithm?: WeakSignatureAlgorithm;
        /** @default {"severity":"fail"} */
        weakCipherSuite?: WeakSignatureAlgorithm;
        /** @default {"severity":"fail"} */
        knownBadCA?: WeakSignatureAlgorithm;
        /** @default {"value":"TLS1.3","severity":"ignore"} */
        recommendedTLSVersion?: {
          /** @default "TLS1.3" */
          value?: "TLS1.2" | "TLS1.3";
          /** The effect of a violation on the run. An ignored rule is only shown. @default "ignore" */
          severity?: "fail" | "degrade" | "ignore";
        };
        /** @default {"value":3072,"severity":"ignore"} */
        recommendedKeySizeBits?: {
          /** @default 3072 */
          value?: number;
          /** The effect of a violation on the run. An ignored rule is only shown. @default "ignore" */
          severity?: "fail" | "degrade" | "ignore";
        };
        /** @default {"severity":"ignore"} */
        ocspMustStapleRespected?: OcspMustStapleRespected;
        /** @default {"severity":"ignore"} */
        sctPresent?: OcspMustStapleRespected;
      };
    };
    sslClientCertificateId?: string | null | Environment;
    /** @default [] */
    assertions?: readonly ({
      source: "CERTIFICATE" | "CONNECTION" | "RESPONSE_TIME" | "JSON_RESPONSE" | "TEXT_RESPONSE";
      /** @default "" */
      property?: string | Environment;
      comparison: Comparison2;
      /** @default "" */
      target?: string | Environment;
      regex?: string | null | Environment;
    })[];
  };
  /** File with the localSetupScript, relative to this one. */
  localSetupScriptFile?: string;
  /** File with the localTearDownScript, relative to this one. */
  localTearDownScriptFile?: string;
};

export type CheckGrpcFields = {
  checkType: "GRPC";
  /** Id of an existing resource (key of a variable): the project takes it over. */
  physicalId?: string;
  /** If it leaves the files, it stays in the account and is detached. @default false */
  protected?: boolean;
  name: string | Environment;
  /** @default true */
  activated?: boolean;
  /** @default false */
  muted?: boolean;
  /** One retry at once; retryStrategy replaces it. @default true @deprecated */
  doubleCheck?: boolean;
  /** @default false */
  shouldFail?: boolean;
  /** @default [] */
  locations?: readonly (Locations)[] | null;
  /** Slug names of private locations of this account. @default [] */
  privateLocations?: readonly (string | Reference<"private-location">)[] | null;
  /** @default [] */
  tags?: readonly (string | Environment)[];
  /** The check's own alert settings; they apply when useGlobalAlertSettings is false. @default {"escalationType":"RUN_BASED","runBasedEscalation":{"failedRunThreshold":1},"timeBasedEscalation":{"minutesFailingThreshold":5},"reminders":{"amount":0,"interval":5},"parallelRunFailureThreshold":{"enabled":false,"percentage":10}} */
  alertSettings?: AlertSettings;
  /** @default true */
  useGlobalAlertSettings?: boolean;
  groupId?: number | null | Reference<"check-group">;
  groupOrder?: number | null;
  runtimeId?: RuntimeId;
  /** @default [] */
  alertChannelSubscriptions?: readonly (AlertChannelSubscriptions)[];
  retryStrategy?: RetryStrategy | null;
  triggerIncident?: TriggerIncident | null;
  /** @default false */
  runParallel?: boolean;
  description?: string | null | Environment;
  /** Minutes between runs; 0 = every frequencyOffset seconds. @default 10 */
  frequency?: Frequency;
  /** With frequency 0: 10, 20 or 30 (seconds between runs). With 1 to 60: 1 to 10 × frequency. Above 60: 1 to frequency / 60. Null or left out in a new check: spread by the id of the check. */
  frequencyOffset?: number | null;
  scriptPath?: string | null | Environment;
  /** @default [] */
  environmentVariables?: readonly (EnvironmentVariables)[] | null;
  setupSnippetId?: number | null | Reference<"snippet">;
  tearDownSnippetId?: number | null | Reference<"snippet">;
  localSetupScript?: string | null | Environment;
  localTearDownScript?: string | null | Environment;
  /** Milliseconds; a run that takes at least this long is degraded. Null = no limit. @default 10000 */
  degradedResponseTime?: number | null;
  /** Milliseconds; a run that takes at least this long fails. Null = no limit. @default 20000 */
  maxResponseTime?: number | null;
  sslCheckDomain?: string | null | Environment;
  request: {
    url: string | Environment;
    port: number | string;
    /** @default "IPv4" */
    ipFamily?: "IPv4" | "IPv6";
    /** @default false */
    skipSSL?: boolean;
    /** @default 60 */
    timeout?: number;
    grpcConfig: {
      /** BEHAVIOR: calls a method. HEALTH: asks the health service. @default "BEHAVIOR" */
      mode?: "BEHAVIOR" | "HEALTH";
      /** False: HTTP/2 in plain text. @default true */
      tls?: boolean;
      /** Name for SNI, which the certificate must carry. Null or empty = the host. */
      serverName?: string | null | Environment;
      /** auto: the stored certificate whose host matches. explicit: grpcClientCertificateId. */
      clientCertificateMode?: "auto" | "explicit" | null;
      /** Sent with the call. Values of keys with -bin are base64. @default [] */
      metadata?: readonly ({
        key: string | Environment;
        /** @default "" */
        value?: string | Environment;
      })[];
      /** package.Service/Method; required for BEHAVIOR. @default "" */
      method?: string | Environment;
      /** Source of the types: the server, protoContent, or descriptorSet. @default "REFLECTION" */
      serviceDefinition?: "REFLECTION" | "PROTO_FILE" | "DESCRIPTOR_SET";
      /** The text of one .proto file. It may import only google/protobuf files. @default "" */
      protoContent?: string | Environment;
      /** A FileDescriptorSet with its imports, in base64. @default "" */
      descriptorSet?: string | Environment;
      /** The request message as JSON. @default "" */
      message?: string | Environment;
      /** Service that the health service is asked about; empty = the server. @default "" */
      service?: string | Environment;
      /** HEALTH: true uses Watch instead of Check. @default false */
      watch?: boolean;
      /** Compression of the request. @default "none" */
      compression?: "none" | "gzip";
      /** A larger message of the answer fails the run. @default 4194304 */
      maxMessageBytes?: number;
      /** A stream is cancelled after that many messages, which is no failure. @default 100 */
      maxMessages?: number;
    };
    grpcClientCertificateId?: string | null | Environment;
    /** @default [] */
    assertions?: readonly ({
      source: "GRPC_STATUS_CODE" | "GRPC_HEALTHCHECK_STATUS" | "GRPC_RESPONSE" | "TEXT_BODY" | "GRPC_METADATA" | "GRPC_TRAILERS" | "RESPONSE_TIME";
      /** @default "" */
      property?: string | Environment;
      comparison: Comparison;
      /** @default "" */
      target?: string | Environment;
      regex?: string | null | Environment;
    })[];
  };
  /** File with the localSetupScript, relative to this one. */
  localSetupScriptFile?: string;
  /** File with the localTearDownScript, relative to this one. */
  localTearDownScriptFile?: string;
};

export type CheckTracerouteFields = {
  checkType: "TRACEROUTE";
  /** Id of an existing resource (key of a variable): the project takes it over. */
  physicalId?: string;
  /** If it leaves the files, it stays in the account and is detached. @default false */
  protected?: boolean;
  name: string | Environment;
  /** @default true */
  activated?: boolean;
  /** @default false */
  muted?: boolean;
  /** One retry at once; retryStrategy replaces it. @default true @deprecated */
  doubleCheck?: boolean;
  /** @default false */
  shouldFail?: boolean;
  /** @default [] */
  locations?: readonly (Locations)[] | null;
  /** Slug names of private locations of this account. @default [] */
  privateLocations?: readonly (string | Reference<"private-location">)[] | null;
  /** @default [] */
  tags?: readonly (string | Environment)[];
  /** The check's own alert settings; they apply when useGlobalAlertSettings is false. @default {"escalationType":"RUN_BASED","runBasedEscalation":{"failedRunThreshold":1},"timeBasedEscalation":{"minutesFailingThreshold":5},"reminders":{"amount":0,"interval":5},"parallelRunFailureThreshold":{"enabled":false,"percentage":10}} */
  alertSettings?: AlertSettings;
  /** @default true */
  useGlobalAlertSettings?: boolean;
  groupId?: number | null | Reference<"check-group">;
  groupOrder?: number | null;
  runtimeId?: RuntimeId;
  /** @default [] */
  alertChannelSubscriptions?: readonly (AlertChannelSubscriptions)[];
  retryStrategy?: RetryStrategy | null;
  triggerIncident?: TriggerIncident | null;
  /** @default false */
  runParallel?: boolean;
  description?: string | null | Environment;
  /** Minutes between runs; 0 = every frequencyOffset seconds. @default 10 */
  frequency?: Frequency;
  /** With frequency 0: 10, 20 or 30 (seconds between runs). With 1 to 60: 1 to 10 × frequency. Above 60: 1 to frequency / 60. Null or left out in a new check: spread by the id of the check. */
  frequencyOffset?: number | null;
  scriptPath?: string | null | Environment;
  /** @default [] */
  environmentVariables?: readonly (EnvironmentVariables)[] | null;
  setupSnippetId?: number | null | Reference<"snippet">;
  tearDownSnippetId?: number | null | Reference<"snippet">;
  localSetupScript?: string | null | Environment;
  localTearDownScript?: string | null | Environment;
  /** Milliseconds; a run that takes at least this long is degraded. Null = no limit. @default 3000 */
  degradedResponseTime?: number | null;
  /** Milliseconds; a run that takes at least this long fails. Null = no limit. @default 5000 */
  maxResponseTime?: number | null;
  sslCheckDomain?: string | null | Environment;
  request: {
    /** Host name or address, without scheme and port. */
    url: string | Environment;
    /** TCP: SYNs. UDP: datagrams to a closed port. ICMP: echo requests. @default "TCP" */
    protocol?: "TCP" | "UDP" | "ICMP";
    /** Null = 443 for TCP, 33434 for UDP. ICMP has none. */
    port?: number | null;
    /** @default "IPv4" */
    ipFamily?: "IPv4" | "IPv6";
    /** The trace ends there. @default 30 */
    maxHops?: number;
    /** The trace stops after that many silent hops in a row. Null = 15, or maxHops if that is smaller. */
    maxUnknownHops?: number | null;
    /** Probes for each hop. @default 3 */
    queries?: number;
    /** True: looks up the names of the hops. @default true */
    ptrLookup?: boolean;
    /** Seconds for the whole trace. @default 10 */
    timeout?: number;
    /** @default [] */
    assertions?: readonly ({
      source: "RESPONSE_TIME" | "HOP_COUNT" | "PACKET_LOSS" | "HOP" | "JSON_RESPONSE";
      /** @default "" */
      property?: string | Environment;
      comparison: Comparison2;
      /** @default "" */
      target?: string | Environment;
      regex?: string | null | Environment;
    })[];
  };
  /** File with the localSetupScript, relative to this one. */
  localSetupScriptFile?: string;
  /** File with the localTearDownScript, relative to this one. */
  localTearDownScriptFile?: string;
};

export type StatusPageFields = {
  /** Id of an existing resource (key of a variable): the project takes it over. */
  physicalId?: string;
  /** If it leaves the files, it stays in the account and is detached. @default false */
  protected?: boolean;
  name: string | Environment;
  /** 1 to 63 lower-case letters, digits or hyphens: the page is /status/<url>. No two pages have the same one */
  url: string | Environment;
  /** a host name in lower-case letters: requests for its / are answered with the page */
  customDomain?: string | null | Environment;
  description?: string | null | Environment;
  /** AUTO = as the reader has it. @default "AUTO" */
  defaultTheme?: "AUTO" | "LIGHT" | "DARK";
  /** a URL that begins with http:// or https:// */
  logo?: string | null | Environment;
  /** a URL that begins with http:// or https:// */
  favicon?: string | null | Environment;
  /** a URL that begins with http:// or https://: where the logo and the name of the page lead */
  redirectTo?: string | null | Environment;
  /** Who reads the page must have an API key. @default false */
  isPrivate?: boolean;
  /** The heading of the page; null = its name. */
  title?: string | null | Environment;
  /** Colours of the page in its two themes; null = the default ones. */
  colors?: {
    /** null = the default colour @default {} */
    light?: Light;
    /** null = the default colour @default {} */
    dark?: Light;
  } | null;
  /** @default [] */
  cards?: readonly ({
    name: string | Environment;
    /** @default [] */
    services?: readonly ({
      serviceId: string | Reference<"status-page-service">;
    })[];
  })[];
};

export type MaintenanceWindowFields = {
  /** Id of an existing resource (key of a variable): the project takes it over. */
  physicalId?: string;
  /** If it leaves the files, it stays in the account and is detached. @default false */
  protected?: boolean;
  name: string | Environment;
  description?: string | null | Environment;
  /** IANA name, like Europe/Berlin: occurrences begin at the same time of its clocks @default "UTC" */
  timezone?: string | Environment;
  repeatInterval?: number | null;
  repeatUnit?: "DAY" | "WEEK" | "MONTH" | null;
  /** No check of the account makes scheduled runs. @default false */
  pauseAllChecks?: boolean;
  /** Nor do checks with one of these tags, or in a group with one. @default [] */
  tags?: readonly (string | Environment)[];
  /** No check of the account alerts. @default false */
  silenceAllAlerts?: boolean;
  /** Nor do checks with one of these tags, or in a group with one. @default [] */
  silenceAlertsTags?: readonly (string | Environment)[];
  /** @default {} */
  statusPageVisibility?: {
    /** Status pages show the window. Everything else here counts only then. @default false */
    enabled?: boolean;
    /** @default false */
    affectAllServices?: boolean;
    /** Alerts open no incidents of the services that it affects. @default false */
    suppressAutoIncidents?: boolean;
    /** Subscribers are told when an occurrence begins, @default false */
    notifyOnStart?: boolean;
    /** and when it is completed. @default false */
    notifyOnEnd?: boolean;
    /** An occurrence is IN_PROGRESS at its beginning, @default true */
    autoStart?: boolean;
    /** and COMPLETED at its end. Otherwise both wait for an update. @default true */
    autoEnd?: boolean;
    /** @default [] */
    reminderMinutesBefore?: readonly (number)[];
    /** Status pages that show it; empty = all of the account. @default [] */
    statusPageIds?: readonly (string | Reference<"status-page">)[];
    /** Services that it affects, unless it affects all. @default [] */
    serviceIds?: readonly (string | Reference<"status-page-service">)[];
  };
  /** a date or a date and time of ISO 8601 from 1970 to 2999, like 2026-03-04T05:00:00Z */
  startsAt: string | Environment;
  /** a date or a date and time of ISO 8601 from 1970 to 2999, like 2026-03-04T05:00:00Z */
  endsAt: string | Environment;
  /** a date or a date and time of ISO 8601 from 1970 to 2999, like 2026-03-04T05:00:00Z */
  repeatEndsAt?: string | null | Environment;
};

export type AlertChannelSubscriptionFields = {
  /** Id of an existing resource (key of a variable): the project takes it over. */
  physicalId?: string;
  /** If it leaves the files, it stays in the account and is detached. @default false */
  protected?: boolean;
  activated: boolean;
  /** Either this or groupId. */
  checkId?: string | null | Reference<"check">;
  /** Either this or checkId. */
  groupId?: number | null | Reference<"check-group">;
  alertChannelId: number | Reference<"alert-channel">;
};

export type CheckTriggerFields = {
  /** Id of an existing resource (key of a variable): the project takes it over. */
  physicalId?: string;
  /** If it leaves the files, it stays in the account and is detached. @default false */
  protected?: boolean;
  checkId: string | Reference<"check">;
};

export type CheckGroupTriggerFields = {
  /** Id of an existing resource (key of a variable): the project takes it over. */
  physicalId?: string;
  /** If it leaves the files, it stays in the account and is detached. @default false */
  protected?: boolean;
  groupId: number | Reference<"check-group">;
};

export type ProjectFields = {
  projectName?: string;
  repoUrl?: string | null;
  checks?: {
    name?: string | Environment;
    activated?: boolean;
    muted?: boolean;
    /** One retry at once; retryStrategy replaces it. @deprecated */
    doubleCheck?: boolean;
    shouldFail?: boolean;
    locations?: readonly (Locations)[] | null;
    /** Slug names of private locations of this account. */
    privateLocations?: readonly (string | Reference<"private-location">)[] | null;
    tags?: readonly (string | Environment)[];
    /** The check's own alert settings; they apply when useGlobalAlertSettings is false. */
    alertSettings?: AlertSettings;
    useGlobalAlertSettings?: boolean;
    groupId?: number | null | Reference<"check-group">;
    groupOrder?: number | null;
    runtimeId?: RuntimeId;
    alertChannelSubscriptions?: readonly (AlertChannelSubscriptions)[];
    retryStrategy?: RetryStrategy | null;
    triggerIncident?: TriggerIncident | null;
    runParallel?: boolean;
    description?: string | null | Environment;
    /** Minutes between runs; 0 = every frequencyOffset seconds. */
    frequency?: Frequency;
    /** With frequency 0: 10, 20 or 30 (seconds between runs). With 1 to 60: 1 to 10 × frequency. Above 60: 1 to frequency / 60. Null or left out in a new check: spread by the id of the check. */
    frequencyOffset?: number | null;
    scriptPath?: string | null | Environment;
    environmentVariables?: readonly (EnvironmentVariables)[] | null;
    setupSnippetId?: number | null | Reference<"snippet">;
    tearDownSnippetId?: number | null | Reference<"snippet">;
    localSetupScript?: string | null | Environment;
    localTearDownScript?: string | null | Environment;
  };
};

export type FieldsOf = {
  "private-location": PrivateLocationFields;
  "variable": VariableFields;
  "snippet": SnippetFields;
  "alert-channel": AlertChannelEmailFields | AlertChannelChatAFields | AlertChannelChatAAppFields | AlertChannelWebhookFields | AlertChannelSmsFields | AlertChannelPagingAFields | AlertChannelPagingBFields | AlertChannelCallFields;
  "status-page-service": StatusPageServiceFields;
  "check-group": CheckGroupFields;
  "check": CheckAgenticFields | CheckApiFields | CheckBrowserFields | CheckHeartbeatFields | CheckIcmpFields | CheckMultiStepFields | CheckTcpFields | CheckPlaywrightFields | CheckUrlFields | CheckDnsFields | CheckSslFields | CheckGrpcFields | CheckTracerouteFields;
  "status-page": StatusPageFields;
  "maintenance-window": MaintenanceWindowFields;
  "alert-channel-subscription": AlertChannelSubscriptionFields;
  "check-trigger": CheckTriggerFields;
  "check-group-trigger": CheckGroupTriggerFields;
};
