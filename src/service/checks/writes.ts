import { kindOf, type CheckKind, type CheckType, type TypeOfKind } from '../../protocol/check-types.ts';
import { nextDue } from '../../protocol/schedule.ts';
import { serviceCheckTypes } from './types/table.ts';
import { findAccount } from '../accounts/statements.ts';
import { useBundle } from '../bundles/statements.ts';
import { lockCheckGroup, type CheckGroupRow } from './storage/group-statements.ts';
import type { CheckRow, CheckWrite } from './storage/statements.ts';
import type { Db } from '../db/database.ts';
import { shareLockPrivateSlugs } from '../locations/statements.ts';
import { shareLockSnippets } from '../accounts/snippets/statements.ts';
import { shareLockServices } from '../status-pages/service-statements.ts';
import { badRequest } from '../http/errors.ts';
import { listRuntimes } from '../engine/runtimes.ts';
import { intervalSeconds, offsetProblem, offsetSeconds } from './schedule/rules.ts';
import { checkSubscriptions } from './rules/channels.ts';
import { settleCheck } from './rules/rules.ts';
import { createProblems, type Problems } from '../http/problems.ts';
import type { ChangeBody, CreateBody } from './fields/schema.ts';
import { fromRow, keepSecretValues, toStored, type AnySettledCheck } from './storage/check.ts';
import { ensureDataCenterRows } from '../locations/routes.ts';
import type { ApiDeps } from '../http/api.ts';
import { isUuid } from '../http/fields/path-params.ts';

import { settleScriptCheck } from './rules/scripts.ts';
import { settleServiceCheck } from './rules/service-checks.ts';
import { settleSuite } from './rules/suites.ts';

/**
 * Turns a body into the row to write. Everything that a check names must exist, and is locked until the check is
 * written.
 */

/**
 * Slugs that name no private location of the account are problems. The others are locked against deletion until `tx`
 * ends.
 */
export async function checkPrivateLocations(
  tx: Db,
  options: { accountId: string; slugs: readonly string[]; problems: Problems },
): Promise<void> {
  if (options.slugs.length === 0) return;
  const known = await shareLockPrivateSlugs(tx, options);
  for (const [index, slug] of options.slugs.entries()) {
    if (!known.includes(slug)) {
      options.problems.add(
        `privateLocations.${index}`,
        `names no private location of this account (${slug})`,
      );
    }
  }
}

/** Like checkPrivateLocations, for setup and teardown snippets. */
export async function checkSnippets(
  tx: Db,
  options: {
    accountId: string;
    phases: { setupSnippetId: number | null; tearDownSnippetId: number | null };
    problems: Problems;
  },
): Promise<void> {
  const { accountId, phases, problems } = options;
  const { setupSnippetId, tearDownSnippetId } = phases;
  const ids = [setupSnippetId, tearDownSnippetId].filter((id) => id !== null);
  const known = await shareLockSnippets(tx, { accountId, ids });
  for (const [field, id] of Object.entries({ setupSnippetId, tearDownSnippetId })) {
    if (id !== null && !known.includes(id)) problems.add(field, `names no snippet of this account (${id})`);
  }
}

/** Like checkPrivateLocations, for a suite's code bundle. */
async function checkBundle(
  tx: Db,
  options: { accountId: string; settled: AnySettledCheck; now: number; problems: Problems },
): Promise<void> {
  const { accountId, settled, now, problems } = options;
  if (!('codeBundlePath' in settled)) return;
  const key = settled.codeBundlePath;
  if (await useBundle(tx, { accountId, key, now: new Date(now) })) return;
  problems.add(
    'codeBundlePath',
    `names no code bundle of this account (${key}): upload it with POST /v1/playwright-bundles`,
  );
}

/** Like checkPrivateLocations, for the service whose incidents a check opens. */
async function checkTriggerIncident(
  tx: Db,
  options: { accountId: string; trigger: { serviceId: string } | null; problems: Problems },
): Promise<void> {
  const { accountId, trigger, problems } = options;
  if (trigger === null) return;
  const { serviceId } = trigger;
  const known =
    isUuid(serviceId) && (await shareLockServices(tx, { accountId, ids: [serviceId] })).length > 0;
  if (known) return;
  problems.add(
    'triggerIncident.serviceId',
    `names no service of this account (${serviceId}): create it with POST /v1/status-pages/services`,
  );
}

async function checkGroup(
  tx: Db,
  options: { accountId: string; groupId: number | null; problems: Problems },
): Promise<CheckGroupRow | null> {
  const { accountId, groupId, problems } = options;
  if (groupId === null) return null;
  const group = await lockCheckGroup(tx, { accountId, id: groupId }, 'share');
  if (group === undefined) problems.add('groupId', `names no group of this account (${groupId})`);
  return group ?? null;
}

async function checkMultiStep(
  tx: Db,
  options: { accountId: string; own: string | null; group: CheckGroupRow | null; problems: Problems },
): Promise<void> {
  const { accountId, own, group, problems } = options;
  const name = own ?? group?.runtimeId ?? (await findAccount(tx, accountId))?.runtimeId;
  const runtimes = listRuntimes();
  // Without runtime records nothing can be checked, and the agent decides.
  if (runtimes.length === 0) return;
  if (runtimes.some((runtime) => runtime.name === name && runtime.multiStepSupport)) return;
  const able = runtimes.filter(({ multiStepSupport }) => multiStepSupport).map((runtime) => runtime.name);
  problems.add(
    'runtimeId',
    `must be a runtime with multi-step support: ${able.join(', ')} (${name} would be used)`,
  );
}

type Settle<T extends CheckType> = (type: T, body: CreateBody<T>, problems: Problems) => AnySettledCheck;

/** The rules of each kind of check. */
const settlers: { readonly [K in CheckKind]: Settle<TypeOfKind<K>> } = {
  probe: settleCheck,
  script: settleScriptCheck,
  suite: settleSuite,
  service: settleServiceCheck,
};

function settle(type: CheckType, body: CreateBody<CheckType>, problems: Problems): AnySettledCheck {
  // Each row accepts checks of its own kind. The type selects the row, and the body matches the type.
  return (settlers[kindOf[type]] as Settle<CheckType>)(type, body, problems);
}

/** Validates a complete check and returns the row to write. */
export async function prepareCheck(
  tx: Db,
  deps: ApiDeps,
  options: { type: CheckType; body: CreateBody<CheckType>; id: string; accountId: string },
): Promise<CheckWrite> {
  const { type, body, id, accountId } = options;
  const problems = createProblems();
  const settled = settle(type, body, problems);
  const offset = offsetProblem(settled);
  if (offset !== null) problems.add('frequencyOffset', offset);
  const group = await checkGroup(tx, { accountId, groupId: settled.groupId, problems });
  await checkSnippets(tx, { accountId, phases: settled, problems });
  await checkSubscriptions(tx, { accountId, subscriptions: body.alertChannelSubscriptions, problems });
  await checkTriggerIncident(tx, { accountId, trigger: settled.triggerIncident, problems });
  await checkBundle(tx, { accountId, settled, now: deps.now(), problems });
  await checkPrivateLocations(tx, { accountId, slugs: settled.privateLocations, problems });
  if (serviceCheckTypes[type].needsMultiStepSupport)
    await checkMultiStep(tx, { accountId, own: settled.runtimeId, group, problems });
  const attributes = problems.attributes();
  if (attributes !== null) throw badRequest(attributes);
  const now = deps.now();
  await ensureDataCenterRows(tx, { accountId, codes: settled.locations, now });
  const schedule = { intervalSeconds: intervalSeconds(settled), offsetSeconds: offsetSeconds(settled, id) };
  return {
    id,
    accountId,
    checkType: type,
    name: settled.name,
    activated: settled.activated,
    muted: settled.muted,
    tags: settled.tags,
    groupId: settled.groupId,
    locations: settled.locations,
    privateLocations: settled.privateLocations,
    runParallel: settled.runParallel,
    frequency: settled.frequency,
    frequencyOffset: settled.frequencyOffset ?? null,
    ...toStored(settled, deps.encryption),
    ...schedule,
    // A heartbeat is never due, because it has timers of its own.
    nextDueAt: serviceCheckTypes[type].runBy === 'nobody' ? null : new Date(nextDue(schedule, now)),
    now: new Date(now),
  };
}

/** The stored check with a change merged into it. `replaces`: the change is a whole check, with all defaults. */
export function mergedCheck(
  { encryption }: ApiDeps,
  row: CheckRow,
  { changes, replaces }: { changes: ChangeBody<CheckType>; replaces: boolean },
): CreateBody<CheckType> {
  const stored = fromRow(row, encryption);
  const {
    id: _id,
    checkType: _checkType,
    kind: _kind,
    logicalId: _logicalId,
    alertChannels: _alertChannels,
    created_at: _createdAt,
    updated_at: _updatedAt,
    warnings: _warnings,
    ...given
  } = changes;
  const body = {
    ...stored,
    ...given,
    environmentVariables: keepSecretValues(
      given.environmentVariables ?? (given.environmentVariables === null ? [] : stored.environmentVariables),
      stored.environmentVariables,
    ),
  };
  // A new frequency without a new offset drops the old offset, which belonged to the old frequency. So does null.
  const isNewFrequency = given.frequency !== undefined && given.frequency !== stored.frequency;
  const isUnset = given.frequencyOffset === undefined && (isNewFrequency || replaces);
  if (given.frequencyOffset === null || isUnset) {
    delete body.frequencyOffset;
  }
  return body as CreateBody<CheckType>; // a stored check of the type, every changed field validated
}
