import { reasonOwner, type ReasonCode, type ReasonOwner } from '../../protocol/reasons.ts';
import { serviceCheckType } from '../checks/types/table.ts';
import type { Analysis } from './statements.ts';
import { causes, type Cause } from './causes.ts';
import { evidenceOf, grownPhase, phases, placesOf, textOf } from './evidence.ts';
import type { Facts } from './facts.ts';
import { whereItBroke } from './network-evidence.ts';
import { fieldsOf, itemsOf } from '../../json-values.ts';

/** The provider that is always available: rules over the results of an error group. Pure. */

export const builtinProvider = { provider: 'builtin', model: 'rules' };

const http = (section: string, title: string) => ({
  url: `https://www.rfc-editor.org/rfc/rfc9110#name-${section}`,
  title: `RFC 9110: ${title}`,
});

/** The same facts always give the same analysis. */
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

/** Explains connection failures from the network evidence. */
function brokenAt({ latest }: Facts, classification: string, code: string | null): string[] {
  if (classification !== 'INFRASTRUCTURE_ERROR' || code === 'HTTP_STATUS') return [];
  const explanation = whereItBroke(fieldsOf(fieldsOf(latest?.body)['details']));
  return explanation === null ? [] : [explanation];
}

function causeOf(code: string | null, facts: Facts): Cause {
  const owner: ReasonOwner | undefined = code === null ? undefined : reasonOwner[code as ReasonCode];
  if (owner === 'ours') {
    return {
      classification: 'MONITORING_ERROR',
      cause:
        'The run could not be performed. The fault is with the agent, its host or the service, not with the target.',
      fix: 'Examine the agents of the location. The error names what is missing.',
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
    cause: 'The results contain no more information than the error itself.',
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
      cause: 'The target answered with an unexpected status.',
      fix: null,
      links: [],
    };
  }
  if (status === 401 || status === 403) {
    return {
      classification: 'CONFIGURATION_ERROR',
      cause: `The target refuses the check's credentials (${status}): they are missing, have expired or lack a permission.`,
      fix: "Renew the credentials in the check's variables, or grant them the missing permission.",
      links: [http(status === 401 ? '401-unauthorized' : '403-forbidden', String(status))],
    };
  }
  if (status === 404 || status === 410) {
    return {
      classification: 'CONFIGURATION_ERROR',
      cause: `The requested URL does not exist (${status}): it was moved or removed, or a release no longer routes it.`,
      fix: "Correct the check's URL, or restore the route.",
      links: [http('404-not-found', String(status))],
    };
  }
  if (status === 429) {
    return {
      classification: 'CONFIGURATION_ERROR',
      cause: 'The target limits its request rate, and the check exceeds the limit (429).',
      fix: 'Run the check less often, or exempt it from the limit of the target.',
      links: [{ url: 'https://www.rfc-editor.org/rfc/rfc6585#section-4', title: 'RFC 6585: 429' }],
    };
  }
  if (status === 502 || status === 503 || status === 504) {
    return {
      classification: 'INFRASTRUCTURE_ERROR',
      cause: `The proxy or load balancer in front of the application answers ${status}: the application is down, overloaded or too slow.`,
      fix: null,
      links: [http(status === 503 ? '503-service-unavailable' : '502-bad-gateway', String(status))],
    };
  }
  if (status >= 500) {
    return {
      classification: application,
      cause: `The application failed while it handled the request (${status}).`,
      fix: 'Read its log at the time of the latest result.',
      links: [http('500-internal-server-error', String(status))],
    };
  }
  return {
    classification: application,
    cause: `The target answered ${status}, which the check does not allow.`,
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
        'The target accepts connections but does not answer in time: it is overloaded, or waits for another system.',
      fix: null,
      links: [],
    };
  }
  if (has('dns') || Object.keys(timings).length > 0) {
    return {
      classification: 'INFRASTRUCTURE_ERROR',
      cause:
        'No connection to the target was established in time: it is down, or a firewall drops the packets.',
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
    connect: 'the network path to the target is slow or loses packets',
    tunnel: 'the proxy is slow',
    tls: "the target's host is busy, or its certificate chain has become longer",
    firstByte: 'the application takes longer to answer',
    download: 'the response has become larger, or the network path is slow',
  };
  const cause =
    grown === null
      ? 'The target responds more slowly than the check allows.'
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
        ? "The target answers, but the response does not meet the check's assertions."
        : `The target answers, but the response does not meet the check's assertions: ${subject} was ${textOf(actual)}, compared with ${textOf(target)}.`,
    fix: 'If the response is correct, update the assertion. Otherwise examine what was released when the failures began.',
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
      cause: 'A locator in the test matches several elements.',
      fix: 'Make the locator match one element, for example by role and name.',
      links: [{ url: 'https://playwright.dev/docs/locators#strictness', title: 'Playwright: strictness' }],
    };
  }
  if (/timeout|timed out|exceeded/i.test(message)) {
    return {
      classification: 'APPLICATION_ERROR',
      cause:
        'An element that the test waits for did not appear on the page: the page has changed, is broken or is slow.',
      fix: 'Open the trace and look at the page at the time of the timeout. If the page is correct, update the locator.',
      links,
    };
  }
  return {
    classification: 'APPLICATION_ERROR',
    cause: 'A test of the check found a value that it does not expect.',
    fix: 'Open the trace. If the page is correct, update the test.',
    links,
  };
}

/** Describes how widespread the failure is. */
function scopeOf(facts: Facts): string {
  const { failing, passing } = placesOf(facts);
  if (failing.length > 0 && passing.length > 0) {
    return `Only ${failing.join(', ')} sees it, so examine the network between there and the target first. `;
  }
  return failing.length > 1 ? 'All locations see it, so the cause is at the target. ' : '';
}

function impactOf(facts: Facts, classification: string): string {
  const { check, inGroup, passed, group } = facts;
  if (classification === 'MONITORING_ERROR') {
    return `No impact is known, but ${check.name} does not monitor its target while the error lasts.`;
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
