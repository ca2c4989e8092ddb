import type { Analysis } from './statements.ts';
import type { ShortResult } from './result-statements.ts';
import type { Facts } from './facts.ts';
import { describeNetwork } from './network-evidence.ts';
import { fieldsOf, itemsOf, type Fields } from '../../json-values.ts';
import { certificateExpiryOf } from '../../protocol/certificate-expiry.ts';

/** Evidence from the results of an error group, one sentence each. Pure. */

export const textOf = (value: unknown, max = 200): string => {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing');
  return text.length > max ? `${text.slice(0, max - 1)}…` : text;
};

type Evidence = Analysis['evidence'][number];
const statement = (description: string): Evidence => ({ artifacts: [], description });

/** Names of the phases, for people. */
export const phases: { readonly [phase: string]: string } = {
  dns: 'name resolution',
  connect: 'connecting',
  tunnel: "the proxy's tunnel",
  tls: 'the TLS handshake',
  firstByte: 'waiting for the first byte',
  download: 'the download',
  remainder: 'the rest',
};

export type GrownPhase = { phase: string; before: number; now: number };

/** Fewer results than this are no evidence, and smaller growth is noise. */
const fewest = 3;
const smallestGrowthMs = 50;

function median(values: readonly number[]): number | null {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? null;
}

const valuesOf = (results: readonly ShortResult[], phase: string) =>
  results.flatMap(({ timings }) => {
    const value = fieldsOf(timings)[phase];
    return typeof value === 'number' ? [value] : [];
  });

/** Finds the phase that grew most against passed results, if it takes at least twice as long. */
export function grownPhase({ inGroup, passed }: Facts): GrownPhase | null {
  let max: GrownPhase | null = null;
  for (const phase of Object.keys(phases)) {
    const earlier = valuesOf(passed, phase);
    const before = median(earlier);
    const now = median(valuesOf(inGroup, phase));
    if (before === null || now === null || earlier.length < fewest) continue;
    if (now < before * 2 || now - before < smallestGrowthMs) continue;
    if (max === null || now - before > max.now - max.before) max = { phase, before, now };
  }
  return max;
}

const ms = (value: number) => `${Math.round(value)} ms`;

/** Where the check fails: locations with the error, and locations that pass in the same period. */
export function placesOf({ inGroup, passed, group }: Facts): { failing: string[]; passing: string[] } {
  const failing = [...new Set(inGroup.map(({ runLocation }) => runLocation))].sort();
  const passing = passed
    .filter(({ startedAt }) => startedAt >= group.firstSeen)
    .map(({ runLocation }) => runLocation)
    .filter((location) => !failing.includes(location));
  return { failing, passing: [...new Set(passing)].sort() };
}

function whereItFails(facts: Facts): Evidence | null {
  const { failing, passing } = placesOf(facts);
  if (failing.length === 0) return null;
  if (passing.length > 0) {
    return statement(`It fails at ${failing.join(', ')}, while the check passes at ${passing.join(', ')}.`);
  }
  return statement(
    failing.length === 1
      ? `It fails at ${failing[0]}; no other location has run the check since.`
      : `It fails at all locations that ran the check: ${failing.join(', ')}.`,
  );
}

function sinceWhen({ group, inGroup, passed, otherFailed }: Facts): Evidence {
  const first = group.firstSeen.toISOString();
  const last = group.lastSeen.toISOString();
  const since = passed.filter(({ startedAt }) => startedAt >= group.firstSeen).length;
  const latest = passed[0]?.startedAt.toISOString();
  const others = otherFailed.length > 0 ? ` ${otherFailed.length} other results failed in another way.` : '';
  const between =
    since > 0
      ? `${since} results in between passed, so the error is intermittent.`
      : 'None has passed since.';
  return statement(
    `First seen ${first}, last seen ${last}, in ${inGroup.length} of the examined results. ${between}` +
      `${latest === undefined ? '' : ` The latest passed result started ${latest}.`}${others}`,
  );
}

/** Returns evidence, most important first. Artifacts are listed with the evidence that they illustrate. */
export function evidenceOf(facts: Facts): Evidence[] {
  const { latest } = facts;
  const body = fieldsOf(latest?.body);
  const details = fieldsOf(body['details']);
  const found: (Evidence | null)[] = [];
  const reason = fieldsOf(latest?.reason);
  if (typeof reason['code'] === 'string') {
    found.push(statement(`Latest result: ${reason['code']}: ${textOf(reason['message'], 500)}`));
  }
  for (const assertion of itemsOf(body['assertions']).map(fieldsOf)) {
    const { source, property, comparison, target, actual, error } = assertion;
    if (typeof error !== 'string') continue;
    const subject = [source, property].filter((part) => part !== '').join(' ');
    found.push(
      statement(`${subject} should be ${String(comparison)} ${textOf(target)}, but was ${textOf(actual)}.`),
    );
  }
  const { status, statusText, href } = fieldsOf(details['response']);
  if (typeof status === 'number') {
    const from = typeof href === 'string' ? ` from ${href.split(/[?#]/, 1)[0]}` : '';
    found.push(
      statement(
        `The response was ${status} ${typeof statusText === 'string' ? statusText : ''}`.trim() + `${from}.`,
      ),
    );
  }
  found.push(certificate(details));
  const grown = grownPhase(facts);
  if (grown !== null) {
    found.push(
      statement(
        `Before, ${phases[grown.phase]} took ${ms(grown.before)} (median); now it takes ${ms(grown.now)}.`,
      ),
    );
  }
  found.push(whereItFails(facts), sinceWhen(facts));
  const artifacts = itemsOf(body['artifacts'])
    .map(fieldsOf)
    .flatMap(({ name, type }) =>
      typeof name === 'string' && typeof type === 'string' ? [{ name, type }] : [],
    )
    .slice(0, 50);
  const packets = artifacts.filter(({ type }) => type === 'pcap');
  for (const description of describeNetwork(details)) found.push({ artifacts: packets, description });
  const others = artifacts.filter((artifact) => !packets.includes(artifact));
  if (others.length > 0) {
    const types = [...new Set(others.map(({ type }) => type))].join(', ');
    found.push({ artifacts: others, description: `The run left files that show more of it: ${types}.` });
  } else if (packets.length > 0 && describeNetwork(details).length === 0) {
    found.push({ artifacts: packets, description: 'The packets of the run were captured.' });
  }
  return found.filter((evidence) => evidence !== null).slice(0, 30);
}

function certificate(details: Readonly<Fields>): Evidence | null {
  const expiry = certificateExpiryOf(details);
  if (expiry === null || expiry.expiresAt === null) return null;
  const { daysRemaining: left, expiresAt } = expiry;
  const when = left < 0 ? `expired ${-left} days ago` : `is valid for another ${left} days`;
  return statement(`The certificate ${when} (until ${textOf(expiresAt, 40)}).`);
}
