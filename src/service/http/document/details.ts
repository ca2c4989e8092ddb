/**
 * What a caller of an operation has to know besides its fields and what holds for all operations of its kind
 * (describe.ts), by operationId.
 */

const run =
  'Agents run the checks at their locations. Wait for the end with the `completion` path, or follow `/v1/events`.';
const completion =
  'The answer comes when all runs have ended, or after `maxWaitSeconds` with 408. Send the request again after 408.';
const cancel = 'Only runs of suites and agentic checks can be cancelled; short runs end by themselves.';
const callTrigger =
  'Query parameters like `environmentUrl` become variables of the runs. 503 means that a run failed, or that 30 seconds were not enough.';
const ping =
  'Anyone who knows the token can ping. A body of any type is read and discarded. More than 60 pings of a token in a minute get 429.';
const figures =
  '`metrics` chooses the figures. Without a range, the figures are about the last 24 hours. `GET /v1/analytics/metrics` lists the metrics of each type.';
const secretOnce = 'Only this answer contains `rawKey`: the service stores a hash of it.';
const badge = 'Browsers keep the image for a minute.';
const locationsOf =
  'Locations without a connected agent are accepted: `warnings` in the answer names them, and each run there becomes `missed` until an agent joins.';

export const details: { readonly [operationId: string]: string } = {
  getHealth: 'Load balancers use it. It does not count as a request of a key.',
  getChecksOverview:
    'Filters choose the entries and do not change the totals. Failing checks come first unless `sort` says otherwise.',
  getCheckTimeline:
    'The service chooses the width of the buckets so that there are at most `points`. Buckets without runs are left out.',
  listActiveRuns: 'Each entry has its last log lines, and the path that cancels it if it can be cancelled.',
  streamEvents:
    'After a lost connection, send the id of the last event as the header `last-event-id`. The event `reset` means that events were left out.',
  createUrlCheck: `A URL check sends one request and grades its status, headers, body and timings. ${locationsOf}`,
  updateUrlCheck: locationsOf,
  createApiCheck: `An API check sends one request of any method and may run scripts before and after it. ${locationsOf}`,
  updateApiCheck: locationsOf,
  createTcpCheck: `A TCP check opens a connection, and may send data and read the answer. ${locationsOf}`,
  updateTcpCheck: locationsOf,
  createDnsCheck: `A DNS check sends one query and grades the answer. ${locationsOf}`,
  updateDnsCheck: locationsOf,
  createIcmpCheck: `An ICMP check sends pings and measures loss and round trips. ${locationsOf}`,
  updateIcmpCheck: locationsOf,
  createSslCheck: `An SSL check makes a TLS handshake and judges certificates, revocation and the security of the connection. ${locationsOf}`,
  updateSslCheck: locationsOf,
  createTracerouteCheck: `A traceroute check finds the routers on the way to a host, with the loss and the times of each. ${locationsOf}`,
  createGrpcCheck: `A gRPC check calls a method, or asks the health service. ${locationsOf}`,
  updateGrpcCheck: locationsOf,
  createBrowserCheck: `A browser check runs a Playwright script in Chromium. ${locationsOf}`,
  updateBrowserCheck: locationsOf,
  createMultiStepCheck: `A multi-step check runs a script of API requests. It needs a runtime with multi-step support. ${locationsOf}`,
  updateMultiStepCheck: locationsOf,
  createPlaywrightCheck: `A suite is a Playwright project in a code bundle. Upload the bundle first with \`POST /v1/playwright-bundles\`. ${locationsOf}`,
  updatePlaywrightCheck: locationsOf,
  createHeartbeatCheck:
    'A heartbeat has no locations: the service waits for pings. `heartbeat.pingUrl` of the answer is the URL that the job calls.',
  createAgenticCheck:
    'An agentic check follows the `prompt` in a browser. The service runs it with a language model, so it needs no agent.',
  listChecks:
    'Large fields are left out of lists. An entry without them has `isPartial: true`; read it by its id.',
  getCheck: 'The fields depend on `checkType`; there is one schema per type.',
  listHeartbeatEvents: 'The statistics cover the last 24 hours and the last 7 days.',
  pingHeartbeatNow: 'The ping counts as one of the job, and restarts the timer.',
  createCheckTrigger: 'A check has at most one trigger; another request gets 409. Treat its URL like a key.',
  createCheckGroupTrigger:
    'A group has at most one trigger; another request gets 409. Treat its URL like a key.',
  uploadPlaywrightBundle:
    'The body is a tar.gz archive of the project, as raw bytes. The same bytes get the same key, so a repeated upload costs nothing.',
  createCheckGroup:
    'Here the settings of the group always take the place of those of its checks. The paths of version 2 make that a choice.',
  createCheckGroupV2: 'A setting that is null leaves the own setting of each check in force.',
  deleteCheckGroup: 'A group with checks gets 409: move or delete the checks first.',
  deleteCheckGroupV2: 'A group with checks gets 409: move or delete the checks first.',
  createSnippet: 'Scripts load it as `./snippets/NAME.js`.',
  deleteSnippet: 'A snippet that a check or group names gets 409.',
  createVariable: 'The value of a secret variable is write-only and masked in all results and logs.',
  getVariable: 'The value of a secret variable is empty.',
  createClientCertificate: 'Certificate and key are PEM. The key is stored encrypted and never returned.',
  createPrivateLocation:
    'Next, create a key with `POST /v1/private-locations/{id}/keys` and start an agent with it.',
  deletePrivateLocation: 'A location that a check or group names gets 409.',
  createPrivateLocationKey: secretOnce,
  createLocationKey: secretOnce,
  listPrivateLocationAgents: '`recommendation` says how many agents or slots are missing; null = enough.',
  getPrivateLocationMetrics: 'A key may send 300 of these requests a day.',
  listCheckResults:
    'A range is at most six hours long. `/v2/check-results` reads any length, page after page.',
  listCheckResultsByCursor: 'A key may send 60 of these requests a minute.',
  getCheckResultAsset:
    'If files are in a bucket, the answer may be 302 with a URL that works for some minutes without a key. With `redirect=false`, the service sends the file itself. Single byte ranges are supported.',
  getCheckStatus:
    'A check that no agent ran gets the status `missed` at its first due run, with the reason NO_AGENT or NOT_CLAIMED.',
  listCheckStatuses:
    'A check that no agent ran gets the status `missed` at its first due run, with the reason NO_AGENT or NOT_CLAIMED.',
  updateErrorGroup: 'An archived error group leaves the list until it is seen again, or for ever.',
  createRootCauseAnalysis:
    'The analysis takes some seconds. Read it by its id: 202 means that it is not ready.',
  createAlertChannel: 'The fields of `config` depend on `type`. Secret fields are write-only.',
  testAlertChannel: 'Its outcome appears in `GET /v1/alert-notifications`.',
  setAlertChannelSubscription: 'Name either `checkId` or `groupId`.',
  getAgenticChecksAnalytics: figures,
  getApiChecksAnalytics: figures,
  getBrowserChecksAnalytics: figures,
  getHeartbeatChecksAnalytics: figures,
  getHeartbeatMonitorsAnalytics: figures,
  getIcmpChecksAnalytics: figures,
  getSslAnalytics: figures,
  getGrpcChecksAnalytics: figures,
  getIcmpMonitorsAnalytics: figures,
  getMultistepChecksAnalytics: figures,
  getTcpChecksAnalytics: figures,
  getTcpMonitorsAnalytics: figures,
  getPlaywrightChecksAnalytics: figures,
  getUrlChecksAnalytics: figures,
  getUrlMonitorsAnalytics: figures,
  getDnsChecksAnalytics: figures,
  getDnsMonitorsAnalytics: figures,
  getChecksAnalytics: `${figures} A key may send 30 of these requests a minute.`,
  getReport: 'Checks that had no run in the range are left out of the averages.',
  getPrometheusMetrics: 'The answer is the text format of Prometheus.',
  triggerCheckSessionsV1: run,
  triggerCheckSessions: run,
  triggerTestSession: run,
  awaitCheckSessionV1: completion,
  awaitCheckSession: completion,
  awaitTestSession: completion,
  awaitProjectDeployment: completion,
  cancelCheckSessionV1: cancel,
  cancelCheckSession: cancel,
  cancelTestSession: cancel,
  createMaintenanceWindow:
    'With `repeatInterval` and `repeatUnit` the window repeats at the same time of the clocks in `timezone`.',
  cancelMaintenanceOccurrence: 'Other occurrences of the window stay.',
  listAllMaintenanceOccurrences: 'Cancelled occurrences are part of the list.',
  createStatusPageService: 'A service appears on a page when one of the page’s cards names it.',
  createStatusPageIncident: 'Subscribers get a mail if the update has `notifySubscribers`.',
  createStatusPage: 'The page is at `/status/{url}`, and at `customDomain` if its DNS record leads here.',
  updateStatusPage: '`cards` replaces all cards of the page.',
  createStatusPageSubscription:
    'The address gets a mail with a link, and is subscribed when someone opens it.',
  createIncident: '`dashboardId` is the id of a status page.',
  deployProject:
    'The body is the whole project: resources of the project that it leaves out are deleted unless they are protected. `dryRun=true` returns the plan and changes nothing.',
  deleteProject: 'With `preserveResources=true` the resources stay in the account without a project.',
  streamProjectDeployment: 'The stream ends with the deployment.',
  updateOwnAccount: 'The alert settings apply to checks and groups with `useGlobalAlertSettings`.',
  createApiKey: `${secretOnce} A key that is created without \`role\` has the role ADMIN.`,
  deleteApiKey: 'A key cannot delete itself, and the last ADMIN key that does not expire stays (409).',
  updateApiKey: 'A changed role applies within five seconds.',
  signIn: 'The cookie is HttpOnly. A session ends 30 days after its last use.',
  getMe: 'It works with a key and with a cookie.',
  getStatusPageBadge: badge,
  getCheckBadge: badge,
  getCheckGroupBadge: `${badge} It needs an API key, or the \`key\` of its URL.`,
  getCheckBadgeUrl: 'Anyone who has the URL can see the name and state of the check.',
  getCheckGroupBadgeUrl: 'The URL contains a key for this badge only.',
  pingHeartbeat: ping,
  pingHeartbeatWithBody: ping,
  callCheckTrigger: callTrigger,
  callCheckTriggerByPost: callTrigger,
  callCheckGroupTrigger: callTrigger,
  callCheckGroupTriggerByPost: callTrigger,
};
