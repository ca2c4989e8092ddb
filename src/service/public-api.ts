import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { FastifyInstance } from 'fastify';
import type { Authenticate } from './accounts/auth.ts';
import { requireRole } from './accounts/required-role.ts';
import { sendContentRanges } from './http/content-range.ts';
import { acceptGzip } from './http/gzip-body.ts';
import { registerMe, SignedIn } from './accounts/web-sessions/routes.ts';
import { registerBadgeUrls } from './badges/routes.ts';
import { createPartitions } from './db/partitions.ts';
import { registerRateLimit } from './http/rate-limit.ts';
import { createSessionWaiting } from './sessions/waiting.ts';
import { Account, registerAccounts } from './accounts/routes.ts';
import { registerAnalytics } from './analytics/routes.ts';
import { Analytics, MetricList } from './analytics/schema.ts';
import { AlertChannel, AlertChannelSubscription, ChannelConfigs } from './alert-channels/schema.ts';
import { registerAlertChannelSubscriptions } from './alert-channels/subscription-routes.ts';
import { registerAlertChannels } from './alert-channels/routes.ts';
import { AlertNotification, registerAlertNotifications } from './alert-channels/notification-routes.ts';
import { ErrorBody } from './http/fields/api-errors.ts';
import { ApiKey, NewApiKey, registerApiKeys } from './accounts/keys/routes.ts';
import { AlertDay, registerAlertDays } from './alerting/day-routes.ts';
import { CheckAlert, LocationAlert, registerCheckAlerts, registerLocationAlerts } from './alerting/routes.ts';
import { Asset, registerCheckResultAssets } from './results/asset-routes.ts';
import { CheckResult, CheckResultPage, registerCheckResults } from './results/routes.ts';
import { AnyCheck, checkSchemas } from './checks/fields/schema.ts';
import { CheckGroup } from './checks/fields/group-schema.ts';
import { registerGroupChecks } from './checks/group-check-routes.ts';
import { registerCheckGroups } from './checks/group-routes.ts';
import {
  CheckSession,
  CheckSessionPage,
  registerCheckSessions,
  StartedCheckSession,
} from './sessions/check-session-routes.ts';
import { CheckStatus, registerCheckStatuses } from './results/status-routes.ts';
import { registerChecks } from './checks/routes.ts';
import {
  ClientCertificateSchema,
  registerClientCertificates,
} from './accounts/client-certificates/routes.ts';
import { HeartbeatEvent, HeartbeatStats, registerHeartbeatEvents } from './heartbeats/routes.ts';
import { ErrorGroup, registerErrorGroups } from './error-groups/routes.ts';
import {
  Incident,
  IncidentUpdate,
  StatusPageIncident,
  StatusPageIncidentPage,
  StatusPageIncidentUpdate,
  StatusPageIncidentUpdatePage,
} from './incidents/schema.ts';
import { registerIncidentUpdates } from './incidents/update-routes.ts';
import { registerIncidents } from './incidents/routes.ts';
import { apiShape } from './http/body-shape.ts';
import { bodyBytes, checkInput } from './http/input-limits.ts';
import { PlaywrightBundle, registerPlaywrightBundles } from './bundles/routes.ts';
import { LocationAgents, registerLocationAgents } from './locations/agent-list-routes.ts';
import { MissedRuns, registerMissedRuns } from './locations/missed-routes.ts';
import { NewLocationKey } from './locations/keys.ts';
import { MaintenanceSchema, MaintenanceUpdateSchema, MaintenanceWindow } from './maintenance/schema.ts';
import { registerMaintenanceOccurrences } from './maintenance/occurrence-routes.ts';
import { registerMaintenanceUpdates } from './maintenance/update-routes.ts';
import { registerMaintenanceWindows } from './maintenance/routes.ts';
import { DataCenter, registerLocations } from './locations/routes.ts';
import { registerPrivateLocations } from './locations/private-routes.ts';
import { PrivateLocation } from './locations/private-schema.ts';
import type { ApiDeps } from './http/api.ts';
import { registerExporter } from './analytics/exporter-routes.ts';
import { LocationMetrics, registerLocationMetrics } from './locations/metrics-routes.ts';
import { registerReportDays, ReportDay } from './analytics/report-day-routes.ts';
import { registerReporting, Report } from './analytics/reporting-routes.ts';
import { PendingAnalysis, registerRootCauseAnalyses, RootCauseAnalysis } from './analyses/routes.ts';
import { registerEvents } from './events/routes.ts';
import { registerTimeline } from './timeline/routes.ts';
import { Timeline } from './timeline/schema.ts';
import { registerOverview } from './overview/routes.ts';
import { ChecksOverview } from './overview/schema.ts';
import { registerProjects } from './projects/routes.ts';
import {
  Project,
  ProjectChange,
  ProjectDeployment,
  ProjectPlan,
  ProjectResources,
  ProjectTest,
} from './projects/schema.ts';
import { registerRuntimes, Runtime } from './checks/runtime-routes.ts';
import { registerSuiteRuns, SuiteRuns } from './results/suite-run-routes.ts';
import { registerSuiteTests, SuiteTests } from './results/suite-test-routes.ts';
import { ActiveRuns, registerActiveRuns } from './sessions/active-run-routes.ts';
import { registerSnippets, Snippet } from './accounts/snippets/routes.ts';
import { registerStatusPageIncidentUpdates } from './incidents/page-update-routes.ts';
import { registerStatusPageIncidents } from './incidents/page-routes.ts';
import {
  registerStatusPageServices,
  StatusPageService,
  StatusPageServicePage,
} from './status-pages/service-routes.ts';
import {
  registerStatusPageSubscriptions,
  StatusPageSubscription,
  StatusPageSubscriptionPage,
} from './public-pages/subscription-routes.ts';
import { registerStatusPagePreviews } from './public-pages/preview-routes.ts';
import { registerStatusPages } from './status-pages/routes.ts';
import { StatusPage, StatusPagePage } from './status-pages/schema.ts';
import { ListedTestSession, registerTestSessions, TestSession } from './sessions/test-session-routes.ts';
import { registerTries } from './drafts/try-routes.ts';
import { CheckGroupTrigger, CheckTrigger, registerTriggers } from './triggers/routes.ts';
import { registerVariables, Variable } from './accounts/variables/routes.ts';
import { locationUses } from './checks/location-uses.ts';
import { writeHeartbeat } from './heartbeats/follow-checks.ts';
import { withErrorGroups } from './error-groups/groups-of-results.ts';
import { analysesOfGroups } from './analyses/statements.ts';

/** Named schemas, listed under `components` in the OpenAPI document. */
const components = [
  ErrorBody,
  ...Object.values(checkSchemas).map(({ response }) => response),
  AnyCheck,
  ChecksOverview,
  Timeline,
  ActiveRuns,
  SuiteRuns,
  SuiteTests,
  CheckGroup,
  HeartbeatEvent,
  HeartbeatStats,
  CheckTrigger,
  CheckGroupTrigger,
  PlaywrightBundle,
  Snippet,
  Variable,
  ClientCertificateSchema,
  Runtime,
  CheckResult,
  CheckResultPage,
  Asset,
  CheckStatus,
  CheckAlert,
  LocationAlert,
  AlertDay,
  ReportDay,
  ErrorGroup,
  PendingAnalysis,
  RootCauseAnalysis,
  ...ChannelConfigs,
  AlertChannel,
  AlertChannelSubscription,
  AlertNotification,
  Analytics,
  MetricList,
  Report,
  LocationMetrics,
  StartedCheckSession,
  CheckSession,
  CheckSessionPage,
  TestSession,
  ListedTestSession,
  PrivateLocation,
  LocationAgents,
  MissedRuns,
  DataCenter,
  NewLocationKey,
  MaintenanceWindow,
  MaintenanceUpdateSchema,
  MaintenanceSchema,
  StatusPageService,
  StatusPageServicePage,
  StatusPage,
  StatusPagePage,
  StatusPageSubscription,
  StatusPageSubscriptionPage,
  StatusPageIncidentUpdate,
  StatusPageIncidentUpdatePage,
  StatusPageIncident,
  StatusPageIncidentPage,
  IncidentUpdate,
  Incident,
  ProjectChange,
  Project,
  ProjectPlan,
  ProjectResources,
  ProjectTest,
  ProjectDeployment,
  Account,
  ApiKey,
  NewApiKey,
  SignedIn,
];

/** Registers `/v1` and `/v2`: authentication, roles, input limits and every resource. */
export function registerPublicApi(app: FastifyInstance, deps: ApiDeps, authenticate: Authenticate): void {
  for (const schema of components) app.addSchema(schema);
  void app.register(async (instance) => {
    instance.addHook('onRequest', authenticate);
    if (deps.rateLimit !== undefined && deps.rateLimit > 0) {
      await registerRateLimit(instance, deps.rateLimit);
    }
    instance.addHook('preParsing', requireRole);
    acceptGzip(instance);
    sendContentRanges(instance);
    instance.addHook('preValidation', checkInput);
    instance.addHook('onRoute', (route) => {
      route.bodyLimit ??= bodyBytes;
      route.config = { ...route.config, shape: route.config?.shape ?? apiShape };
    });
    const api = instance.withTypeProvider<TypeBoxTypeProvider>();
    registerOverview(api, deps);
    registerTimeline(api, deps);
    registerActiveRuns(api, deps);
    registerSuiteRuns(api, deps);
    registerSuiteTests(api, deps);
    registerEvents(instance, api, deps);
    registerChecks(instance, api, deps, { followers: [writeHeartbeat] });
    registerHeartbeatEvents(api, deps);
    registerTriggers(api, deps);
    registerBadgeUrls(api, deps);
    await registerPlaywrightBundles(instance, api, deps);
    registerCheckGroups(instance, deps);
    registerGroupChecks(api, deps);
    registerSnippets(api, deps);
    registerVariables(api, deps);
    registerClientCertificates(api, deps);
    registerRuntimes(api);
    registerPrivateLocations(api, deps, { uses: locationUses });
    registerLocationAgents(api, deps);
    registerMissedRuns(api, deps);
    registerLocations(api, deps);
    registerCheckResults(api, deps, { withErrorGroups });
    registerCheckResultAssets(api, deps);
    registerCheckStatuses(api, deps);
    registerCheckAlerts(api, deps);
    registerLocationAlerts(api, deps);
    registerAlertDays(api, deps);
    registerErrorGroups(api, deps, { analysesOfGroups });
    registerRootCauseAnalyses(api, deps);
    registerAlertChannels(instance, api, deps);
    registerAlertChannelSubscriptions(api, deps);
    registerAlertNotifications(api, deps);
    registerAnalytics(api, deps);
    registerReporting(api, deps);
    registerReportDays(api, deps);
    registerLocationMetrics(api, deps);
    registerExporter(api, deps);
    const waiting = createSessionWaiting(instance, deps.db);
    const sessions = { ...deps, waiting, partitions: createPartitions(deps.db) };
    registerCheckSessions(api, sessions);
    registerTestSessions(api, sessions);
    registerTries(instance, sessions);
    registerMaintenanceWindows(api, deps);
    registerMaintenanceOccurrences(api, deps);
    registerMaintenanceUpdates(api, deps);
    registerStatusPageServices(api, deps);
    registerStatusPageIncidents(api, deps);
    registerStatusPageIncidentUpdates(api, deps);
    registerStatusPages(api, deps);
    registerStatusPagePreviews(api, deps);
    registerStatusPageSubscriptions(api, deps);
    registerIncidents(api, deps);
    registerIncidentUpdates(api, deps);
    registerProjects(instance, api, deps);
    registerAccounts(api, deps);
    registerApiKeys(api, deps);
    registerMe(api, deps);
  });
}
