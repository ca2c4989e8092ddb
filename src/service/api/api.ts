import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { FastifyInstance } from 'fastify';
import { createAuthentication } from '../http/auth.ts';
import { registerBadgeUrls } from '../badges/badge-routes.ts';
import { createPartitions } from '../db/partitions.ts';
import { registerRateLimit } from '../http/rate-limit.ts';
import { createSessionWaiting } from '../scheduling/session-waiting.ts';
import { Account, registerAccounts } from './accounts.ts';
import { registerAnalytics } from './analytics.ts';
import { Analytics, MetricList } from './analytics-schemas.ts';
import { AlertChannel, AlertChannelSubscription, ChannelConfigs } from './alert-channel-schemas.ts';
import { registerAlertChannelSubscriptions } from './alert-channel-subscriptions.ts';
import { registerAlertChannels } from './alert-channels.ts';
import { AlertNotification, registerAlertNotifications } from './alert-notifications.ts';
import { ErrorBody } from './api-errors.ts';
import { ApiKey, NewApiKey, registerApiKeys } from './api-keys.ts';
import { CheckAlert, registerCheckAlerts } from './check-alerts.ts';
import { Asset, registerCheckResultAssets } from './check-result-assets.ts';
import { CheckResult, CheckResultPage, registerCheckResults } from './check-results.ts';
import { AnyCheck, checkSchemas } from './check-schemas.ts';
import { CheckGroup } from './check-group-schemas.ts';
import { registerCheckGroups } from './check-groups.ts';
import {
  CheckSession,
  CheckSessionPage,
  registerCheckSessions,
  StartedCheckSession,
} from './check-sessions.ts';
import { CheckStatus, registerCheckStatuses } from './check-statuses.ts';
import { registerChecks } from './checks.ts';
import { ClientCertificateSchema, registerClientCertificates } from './client-certificates.ts';
import { HeartbeatEvent, HeartbeatStats, registerHeartbeatEvents } from './heartbeat-events.ts';
import { ErrorGroup, registerErrorGroups } from './error-groups.ts';
import {
  Incident,
  IncidentUpdate,
  StatusPageIncident,
  StatusPageIncidentPage,
  StatusPageIncidentUpdate,
  StatusPageIncidentUpdatePage,
} from './incident-fields.ts';
import { registerIncidentUpdates } from './incident-updates.ts';
import { registerIncidents } from './incidents.ts';
import { bodyBytes, checkInput } from './input-limits.ts';
import { PlaywrightBundle, registerPlaywrightBundles } from './playwright-bundles.ts';
import { NewLocationKey } from './location-keys.ts';
import {
  MaintenanceSchema,
  MaintenanceUpdateSchema,
  MaintenanceWindow,
} from './maintenance-window-fields.ts';
import { registerMaintenanceOccurrences } from './maintenance-occurrences.ts';
import { registerMaintenanceWindows } from './maintenance-windows.ts';
import { DataCenter, registerLocations } from './locations.ts';
import { PrivateLocation, registerPrivateLocations } from './private-locations.ts';
import type { ApiDeps } from './public-api.ts';
import { registerExporter } from './exporter.ts';
import { LocationMetrics, registerLocationMetrics } from './location-metrics.ts';
import { registerReporting, Report } from './reporting.ts';
import { PendingAnalysis, registerRootCauseAnalyses, RootCauseAnalysis } from './root-cause-analyses.ts';
import { registerRuntimes, Runtime } from './runtimes.ts';
import { registerSnippets, Snippet } from './snippets.ts';
import { registerStatusPageIncidentUpdates } from './status-page-incident-updates.ts';
import { registerStatusPageIncidents } from './status-page-incidents.ts';
import {
  registerStatusPageServices,
  StatusPageService,
  StatusPageServicePage,
} from './status-page-services.ts';
import {
  registerStatusPageSubscriptions,
  StatusPageSubscription,
  StatusPageSubscriptionPage,
} from './status-page-subscriptions.ts';
import { registerStatusPages, StatusPage, StatusPagePage } from './status-pages.ts';
import { ListedTestSession, registerTestSessions, TestSession } from './test-sessions.ts';
import { CheckGroupTrigger, CheckTrigger, registerTriggers } from './triggers.ts';
import { registerVariables, Variable } from './variables.ts';

/** Named schemas: they stand under `components` in the OpenAPI document. */
const components = [
  ErrorBody,
  ...Object.values(checkSchemas).map(({ response }) => response),
  AnyCheck,
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
  Account,
  ApiKey,
  NewApiKey,
];

/** Registers `/v1` and `/v2`: authentication, limits of input, and every resource. */
export function registerPublicApi(app: FastifyInstance, deps: ApiDeps): void {
  for (const schema of components) app.addSchema(schema);
  const authenticate = createAuthentication({ db: deps.db, now: deps.now });
  void app.register(async (instance) => {
    instance.addHook('onRequest', authenticate);
    if (deps.rateLimit !== undefined && deps.rateLimit > 0) {
      await registerRateLimit(instance, deps.rateLimit);
    }
    instance.addHook('preValidation', checkInput);
    instance.addHook('onRoute', (route) => {
      route.bodyLimit ??= bodyBytes;
    });
    const api = instance.withTypeProvider<TypeBoxTypeProvider>();
    registerChecks(instance, api, deps);
    registerHeartbeatEvents(api, deps);
    registerTriggers(api, deps);
    registerBadgeUrls(api, deps);
    await registerPlaywrightBundles(instance, api, deps);
    registerCheckGroups(instance, api, deps);
    registerSnippets(api, deps);
    registerVariables(api, deps);
    registerClientCertificates(api, deps);
    registerRuntimes(api);
    registerPrivateLocations(api, deps);
    registerLocations(api, deps);
    registerCheckResults(api, deps);
    registerCheckResultAssets(api, deps);
    registerCheckStatuses(api, deps);
    registerCheckAlerts(api, deps);
    registerErrorGroups(api, deps);
    registerRootCauseAnalyses(api, deps);
    registerAlertChannels(instance, api, deps);
    registerAlertChannelSubscriptions(api, deps);
    registerAlertNotifications(api, deps);
    registerAnalytics(api, deps);
    registerReporting(api, deps);
    registerLocationMetrics(api, deps);
    registerExporter(api, deps);
    const waiting = createSessionWaiting(instance, deps.db);
    const sessions = { ...deps, waiting, partitions: createPartitions(deps.db) };
    registerCheckSessions(api, sessions);
    registerTestSessions(api, sessions);
    registerMaintenanceWindows(api, deps);
    registerMaintenanceOccurrences(api, deps);
    registerStatusPageServices(api, deps);
    registerStatusPageIncidents(api, deps);
    registerStatusPageIncidentUpdates(api, deps);
    registerStatusPages(api, deps);
    registerStatusPageSubscriptions(api, deps);
    registerIncidents(api, deps);
    registerIncidentUpdates(api, deps);
    registerAccounts(api, deps);
    registerApiKeys(api, deps);
  });
}
