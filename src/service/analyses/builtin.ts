import { reasonOwner, type ReasonCode, type ReasonOwner } from '../../protocol/reasons.ts';
import { serviceCheckType } from '../checks/types/table.ts';
import type { Analysis } from './statements.ts';
import { causes, type Cause } from './causes.ts';
import { evidenceOf, grownPhase, phases, placesOf, textOf } from './evidence.ts';
import type { Facts } from './facts.ts';
import { whereItBroke } from './network-evidence.ts';
import { fieldsOf, itemsOf } from '../../json-values.ts';

/** The provider that is always there: rules over the results of an error group. Pure. */

export const builtinProvider = { provider: 'builtin', model: 'rules' };

const http = (section: string, title: string) => ({
  url: `https://www.rfc-editor.org/rfc/rfc9110#name-${section}`,
  title: `RFC 9110: ${title}`,
});

/** The same facts always make the same analysis. */
export function analyseByRules(facts: Facts): Analysis {
  const { latest, group } = facts;
  const reason = fieldsOf(latest?.reason);
  const code = typeof reason['code'] === 'string' ? reason['code'] : (facts.inGroup[0]?.code ?? null);
  const { classification, cause, fix, links } = causeOf(code, facts);
  const message = textOf(group.rawErrorMessage ?? group.cleanedErrorMessage, 500);
  return {
    classification,
    userImpact: impactOf(facts, classification),
    rootCause: [
      cause,
      ...brokenAt(facts, classification, code),
      `${scopeOf(facts)}The error: ${message}`,
    ].join(' '),
    codeFix: fix,
    evidence: evidenceOf(facts),
    referenceLinks: [...links],
  };
}

/** Of connections that were not made, what network evidence says of them. */
function brokenAt({ latest }: Facts, classification: string, code: string | null): string[] {
  if (classification !== 'INFRASTRUCTURE_ERROR' || code === 'HTTP_STATUS') return [];
  const said = whereItBroke(fieldsOf(fieldsOf(latest?.body)['details']));
  return said === null ? [] : [said];
}

function causeOf(code: string | null, facts: Facts): Cause {
  const owner: ReasonOwner | undefined = code === null ? undefined : reasonOwner[code as ReasonCode];
  if (owner === 'ours') {
    return {
      classification: 'MONITORING_ERROR',
      cause:
        'The run itself could not be done: the fault is with the agent, its host or the service, not with the target.',
      fix: 'Look at the agents of the location: the error says what is missing.',
      links: [],
    };
  }
  switch (code) {
    case 'HTTP_STATUS':
      return causeOfStatus(statusOf(facts));
    case 'ETIMEDOUT':
    case 'SOCKET_TIMEOUT':
    case 'TIMEOUT':
      return causeOfTimeout(facts);
    case 'RESPONSE_TOO_SLOW':
      return tooSlow(facts);
    case 'ASSERTION_FAILED':
      return causeOfAssertion(facts);
    case 'TEST_FAILED':
      return causeOfTest(facts);
    case null:
      break;
    default: {
      const known = causes[code as ReasonCode];
      if (known !== undefined) return known;
    }
  }
  return {
    classification: 'UNKNOWN',
    cause: 'The results do not say more than the error itself.',
    fix: null,
    links: [],
  };
}

function statusOf({ latest }: Facts): number | null {
  const body = fieldsOf(latest?.body);
  const { status } = fieldsOf(fieldsOf(body['details'])['response']);
  if (typeof status === 'number') return status;
  const asserted = itemsOf(body['assertions'])
    .map(fieldsOf)
    .find(({ source, error }) => source === 'STATUS_CODE' && typeof error === 'string');
  const actual = Number(asserted?.['actual']);
  return Number.isInteger(actual) && actual >= 100 ? actual : null;
}

function causeOfStatus(status: number | null): Cause {
  const application = 'APPLICATION_ERROR';
  if (status === null) {
    return {
      classification: application,
      cause: 'The target answered with another status than it should.',
      fix: null,
      links: [],
    };
  }
  if (status === 401 || status === 403) {
    return {
      classification: 'CONFIGURATION_ERROR',
      cause: `The target refuses the credentials of the check (${status}): they are missing, have expired or lack a right.`,
      fix: 'Renew the credentials in the variables of the check, or give them the right that they lack.',
      links: [http(status === 401 ? '401-unauthorized' : '403-forbidden', String(status))],
    };
  }
  if (status === 404 || status === 410) {
    return {
      classification: 'CONFIGURATION_ERROR',
      cause: `What the check calls is not there (${status}): it was moved or removed, or a release does not route it.`,
      fix: 'Correct the URL of the check, or bring the route back.',
      links: [http('404-not-found', String(status))],
    };
  }
  if (status === 429) {
    return {
      classification: 'CONFIGURATION_ERROR',
      cause: 'The target limits how often it may be called, and the check is above that (429).',
      fix: 'Have the check run less often, or have the target exempt it.',
      links: [{ url: 'https://www.rfc-editor.org/rfc/rfc6585#section-4', title: 'RFC 6585: 429' }],
    };
  }
  if (status === 502 || status === 503 || status === 504) {
    return {
      classification: 'INFRASTRUCTURE_ERROR',
      cause: `What stands before the application answers ${status}: the application behind it is down, overloaded or too slow.`,
      fix: null,
      links: [http(status === 503 ? '503-service-unavailable' : '502-bad-gateway', String(status))],
    };
  }
  if (status >= 500) {
    return {
      classification: application,
      cause: `The application failed while it answered the request (${status}).`,
      fix: 'Look in its log at the time of the latest result.',
      links: [http('500-internal-server-error', String(status))],
    };
  }
  return {
    classification: application,
    cause: `The target answered ${status}, which is not what the check allows.`,
    fix: null,
    links: [http('status-codes', 'status codes')],
  };
}

function causeOfTimeout(facts: Facts): Cause {
  const timings = fieldsOf(fieldsOf(facts.latest?.body)['timings']);
  const has = (phase: string) => typeof timings[phase] === 'number';
  const provesConnection = serviceCheckType(facts.latest?.checkType ?? '')?.connectProvesConnection !== false;
  if (has('firstByte') || has('tls') || (has('connect') && provesConnection)) {
    return {
      classification: 'APPLICATION_ERROR',
      cause:
        'The target takes connections, but does not answer in time: it is overloaded, or waits for something behind it.',
      fix: null,
      links: [],
    };
  }
  if (has('dns') || Object.keys(timings).length > 0) {
    return {
      classification: 'INFRASTRUCTURE_ERROR',
      cause:
        'No connection to the target came about in time: it is down, or a firewall on the way drops packets.',
      fix: null,
      links: [],
    };
  }
  return {
    classification: 'INFRASTRUCTURE_ERROR',
    cause: 'The target did not answer in time.',
    fix: null,
    links: [],
  };
}

function tooSlow(facts: Facts): Cause {
  const grown = grownPhase(facts);
  const where: { [phase: string]: string } = {
    dns: 'the name servers are slow',
    connect: 'the way to the target is slow or loses packets',
    tunnel: 'the proxy is slow',
    tls: 'the host of the target is busy, or its certificate chain has become long',
    firstByte: 'the application takes longer to answer',
    download: 'the response has become larger, or the way is slow',
  };
  const cause =
    grown === null
      ? 'The target answers more slowly than the check allows.'
      : `The target answers more slowly than before: ${where[grown.phase] ?? 'it takes longer'} (${phases[grown.phase]} has grown from ${Math.round(grown.before)} ms to ${Math.round(grown.now)} ms).`;
  return { classification: 'PERFORMANCE_ERROR', cause, fix: null, links: [] };
}

function causeOfAssertion(facts: Facts): Cause {
  const failed = itemsOf(fieldsOf(facts.latest?.body)['assertions'])
    .map(fieldsOf)
    .find(({ error }) => typeof error === 'string');
  if (failed?.['source'] === 'STATUS_CODE') return causeOfStatus(statusOf(facts));
  if (['RESPONSE_TIME', 'LATENCY'].includes(String(failed?.['source']))) return tooSlow(facts);
  const { source, property, target, actual } = failed ?? {};
  const subject = [source, property].filter((part) => typeof part === 'string' && part !== '').join(' ');
  return {
    classification: 'APPLICATION_ERROR',
    cause:
      failed === undefined
        ? 'The target answers, but not with what the check asserts.'
        : `The target answers, but not with what the check asserts: ${subject} was ${textOf(actual)} where ${textOf(target)} was to be compared with it.`,
    fix: 'If the target is right, bring the assertion up to date; otherwise look at what was released when it began.',
    links: [],
  };
}

function causeOfTest({ group }: Facts): Cause {
  const message = group.rawErrorMessage ?? '';
  const links = [{ url: 'https://playwright.dev/docs/trace-viewer', title: 'Playwright: trace viewer' }];
  if (/net::ERR_|NS_ERROR_/.test(message)) {
    return {
      classification: 'INFRASTRUCTURE_ERROR',
      cause: 'A page could not be loaded in the browser.',
      fix: null,
      links,
    };
  }
  if (/strict mode violation/i.test(message)) {
    return {
      classification: 'SCRIPT_ERROR',
      cause: 'A locator of the test matches several elements.',
      fix: 'Make the locator match one element, by its role and name.',
      links: [{ url: 'https://playwright.dev/docs/locators#strictness', title: 'Playwright: strictness' }],
    };
  }
  if (/timeout|timed out|exceeded/i.test(message)) {
    return {
      classification: 'APPLICATION_ERROR',
      cause:
        'Something that the test waits for did not appear on the page: the page has changed, is broken or is slow.',
      fix: 'Look in the trace at the page when the time was over: if it is right, bring the locator up to date.',
      links,
    };
  }
  return {
    classification: 'APPLICATION_ERROR',
    cause: 'A test of the check found something else than it expects.',
    fix: 'Look in the trace: if the page is right, bring the test up to date.',
    links,
  };
}

/** How much of the check it concerns. */
function scopeOf(facts: Facts): string {
  const { failing, passing } = placesOf(facts);
  if (failing.length > 0 && passing.length > 0) {
    return `Only ${failing.join(', ')} sees it, so look first at what is between there and the target. `;
  }
  return failing.length > 1 ? 'All locations see it, so it is at the target. ' : '';
}

function impactOf(facts: Facts, classification: string): string {
  const { check, inGroup, passed, group } = facts;
  if (classification === 'MONITORING_ERROR') {
    return `None is known: while it lasts nobody watches what ${check.name} watches.`;
  }
  const since = passed.filter(({ startedAt }) => startedAt >= group.firstSeen).length;
  const share = since === 0 ? 'every run' : `${inGroup.length} of ${inGroup.length + since} runs`;
  const { failing, passing } = placesOf(facts);
  const where = passing.length > 0 ? ` at ${failing.join(', ')}` : '';
  if (classification === 'PERFORMANCE_ERROR') {
    return `Users of what ${check.name} watches wait longer: ${share}${where} since ${group.firstSeen.toISOString()} took too long.`;
  }
  if (classification === 'SCRIPT_ERROR') {
    return `Perhaps none: it is the script of ${check.name} that fails, in ${share}${where} since ${group.firstSeen.toISOString()}.`;
  }
  return `What ${check.name} watches does not work for its users: ${share}${where} since ${group.firstSeen.toISOString()} failed.`;
}
