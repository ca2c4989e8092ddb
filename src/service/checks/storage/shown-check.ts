import { isPinged } from '../types/table.ts';
import { checkSchemas } from '../fields/schema.ts';
import { presentChannels, type ShownChannels } from '../rules/channels.ts';
import type { HeartbeatTiming } from '../rules/service-checks.ts';
import type { Encryption } from '../../engine/encryption.ts';
import { dayOf } from '../../http/fields/dates.ts';
import { mayAct, type Role } from '../../http/fields/roles.ts';
import { fromRow, typeOf, type AnySettledCheck } from './check.ts';
import { hideInRequest, hideSecrets } from './hidden.ts';
import { withGroupSettings, type GroupSettings } from './settings.ts';
import type { CheckRow } from './statements.ts';

/** Checks as the API shows them. */

/**
 * A check as the API shows it to a key of `role`. Secret values are empty; dependencies are included only on request.
 * `group`: its settings are applied. `base`: of URLs in the answer. `channels`: of all checks of the answer.
 */
export function presentCheck(
  row: CheckRow,
  encryption: Encryption,
  options: {
    base: string;
    role: Role;
    channels: ShownChannels;
    dependencies?: boolean;
    group?: GroupSettings | undefined;
  },
) {
  const { role } = options;
  const own = fromRow(row, encryption);
  const check: AnySettledCheck =
    options.group === undefined ? own : withGroupSettings<AnySettledCheck>(row.checkType, own, options.group);
  const shown: { [field: string]: unknown } = { ...check };
  const channels = presentChannels(check.alertChannelSubscriptions, options.channels);
  const files = 'dependencies' in check ? (check.dependencies ?? []) : [];
  if (row.isPartial === true || (options.dependencies !== true && files.length > 0))
    delete shown['dependencies'];
  return inOrder(row, {
    id: row.id,
    checkType: row.checkType,
    ...shown,
    ...(row.isPartial === true || channels.isPartial ? { isPartial: true } : {}),
    ...pingOf(row, options),
    ...('request' in check ? { request: hideInRequest(check.request, role) } : {}),
    // Lists omit large fields.
    ...('environmentVariables' in row.definition
      ? { environmentVariables: hideSecrets(check.environmentVariables, role) }
      : {}),
    alertChannels: channels.alertChannels,
    // The specification defines created_at as a date and updated_at as a date-time.
    created_at: dayOf(row.createdAt),
    updated_at: row.updatedAt?.toISOString() ?? null,
  });
}

/** The ping URL and the times of a heartbeat. */
function pingOf(
  { checkType, definition, pingToken }: CheckRow,
  { base, role }: { base: string; role: Role },
) {
  const { heartbeat } = definition;
  if (!isPinged(checkType) || typeof heartbeat !== 'object' || heartbeat === null) return {};
  const { period, periodUnit, grace, graceUnit } = heartbeat as HeartbeatTiming; // written by settleServiceCheck
  const token = pingToken ?? '';
  const times = { period, periodUnit, grace, graceUnit };
  // Whoever knows the URL can ping.
  if (!mayAct(role, 'READ_RUN')) return { heartbeat: times };
  return { heartbeat: { ...times, pingToken: token, pingUrl: `${base}/ping/${token}` } };
}

/** The database sorts JSON fields by length; readers expect the schema's order. */
function inOrder(row: CheckRow, check: { [field: string]: unknown }) {
  const type = typeOf(row);
  const order = type === null ? [] : Object.keys(checkSchemas[type].response.properties);
  const known = order.filter((field) => field in check).map((field) => [field, check[field]] as const);
  return { ...Object.fromEntries(known), ...check };
}
