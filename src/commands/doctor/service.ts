import { randomUUID, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { proxyFor } from '../../agent/link/proxy-choice.ts';
import { classify } from '../../agent/link/client.ts';
import { createTransport, type Answer } from '../../agent/link/transport.ts';
import type { AgentConfig } from '../../config.ts';
import { FatalError, ServiceError, toError } from '../../errors.ts';
import { agentCalls } from '../../protocol/agent-calls.ts';
import type { Secret } from '../../secrets/secret.ts';
import { note, ok, problem, type Finding, type Probe } from './finding.ts';

type Verdict = Omit<Finding, 'name'>;
type Settings = Pick<AgentConfig, 'serviceUrl' | 'proxy' | 'extraCaFile'> & { apiKey?: Secret };

/** A larger clock difference would distort the times of results and leases. */
const toleratedSkewMs = 2000;

/**
 * Probes of the service, over the same connection path as the agent: is it reachable, does it accept the key, do the
 * clocks agree. A service that is not needed may be missing.
 */
export function serviceProbes(settings: Settings, { isNeeded }: { isNeeded: boolean }): Probe[] {
  let call: Promise<Call> | undefined;
  const called = (signal: AbortSignal) => (call ??= callService(settings, signal));
  return [
    {
      name: 'service',
      run: async (signal) => mayBeMissing(reached(settings, await called(signal)), isNeeded),
    },
    { name: 'key', run: async (signal) => keyAccepted(settings, await called(signal)) },
    { name: 'clock', run: async (signal) => clockSkew(await called(signal)) },
    { name: 'extra certificates', run: () => extraCertificates(settings.extraCaFile) },
  ];
}

type Call = { answer: Answer; sentAt: number; receivedAt: number } | { error: Error };

/** Renews no lease: the request needs the key but changes nothing at the service. */
async function callService(settings: Settings, signal: AbortSignal): Promise<Call> {
  const { apiKey } = settings;
  try {
    const transport = await createTransport({
      ...settings,
      headers: apiKey === undefined ? {} : { authorization: `Bearer ${apiKey.reveal()}` },
    });
    try {
      const sentAt = Date.now();
      const body = JSON.stringify({ agentId: randomUUID(), leases: [] });
      const answer = await transport.post(agentCalls.renew.path, body, {
        timeoutMs: 5000,
        answerBytes: 65_536,
        signal,
      });
      return { answer, sentAt, receivedAt: Date.now() };
    } finally {
      transport.close();
    }
  } catch (error: unknown) {
    return { error: toError(error) };
  }
}

function wayTo({ serviceUrl, proxy }: Settings): string {
  const chosen = proxyFor(serviceUrl, proxy);
  return `${serviceUrl.origin} ${chosen === null ? 'directly' : `through the proxy ${chosen.host}`}`;
}

/** A problem with the default address is a note if the user has named no service. */
function mayBeMissing(verdict: Verdict, isNeeded: boolean): Verdict {
  if (isNeeded || verdict.status !== 'problem') return verdict;
  return note(
    `not checked, because SERVICE_URL is not set (${verdict.message})`,
    'set SERVICE_URL to check it',
  );
}

function reached(settings: Settings, call: Call): Verdict {
  const way = wayTo(settings);
  if ('error' in call) {
    const remedy =
      'set SERVICE_URL, HTTPS_PROXY and NO_PROXY, and check that the service runs and that no firewall blocks it';
    return problem(
      `${way}: ${call.error.message}`,
      call.error instanceof FatalError ? 'name a readable PEM file' : remedy,
    );
  }
  return isService(settings, call.answer)
    ? ok(way)
    : problem(
        `${way}: something other than the service answered with status ${call.answer.status}`,
        'check what SERVICE_URL points to: perhaps a proxy or a login page',
      );
}

/** Only the service returns its own success or an error in its own form. */
function isService(settings: Settings, answer: Answer): boolean {
  if (answer.status === 200) return true;
  const error = classify('renew', answer, settings.serviceUrl);
  return !(error instanceof ServiceError) || error.code === 'SERVICE_REFUSED';
}

function keyAccepted(settings: Settings, call: Call): Verdict {
  if (settings.apiKey === undefined)
    return note('API_KEY is not set', 'set API_KEY or API_KEY_FILE to check the key');
  if ('error' in call || !isService(settings, call.answer))
    return note('not checked: the service cannot be reached');
  return call.answer.status === 401
    ? problem('rejected by the service', 'set API_KEY to an active key of the private location')
    : ok('accepted');
}

function clockSkew(call: Call): Verdict {
  if ('error' in call) return note('not compared: the service cannot be reached');
  const theirs = Date.parse(call.answer.headers.date ?? '');
  if (Number.isNaN(theirs)) return note('not compared: the answer has no date');
  // A Date header is cut to whole seconds: the service's clock is half a second later on average.
  const skewMs = (call.sentAt + call.receivedAt) / 2 - (theirs + 500);
  const seconds = Math.abs(skewMs / 1000).toFixed(1);
  if (Math.abs(skewMs) <= toleratedSkewMs) return ok('agrees with the service');
  const message = `${seconds} s ${skewMs > 0 ? 'ahead of' : 'behind'} the service`;
  return problem(message, 'set the clock, for example with systemd-timesyncd or chrony');
}

async function extraCertificates(file: string | null): Promise<Verdict> {
  if (file === null) return ok('none (NODE_EXTRA_CA_CERTS is not set)');
  try {
    const blocks =
      (await readFile(file, 'utf8')).match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ??
      [];
    const ended = blocks.filter((pem) => Date.parse(new X509Certificate(pem).validTo) < Date.now());
    if (blocks.length === 0)
      return problem(`${file} contains no certificate`, 'name a PEM file of authorities');
    return ok(
      `${blocks.length} in ${file}${ended.length === 0 ? '' : `, of which ${ended.length} have expired`}`,
    );
  } catch (error: unknown) {
    return problem(`${file}: ${toError(error).message}`, 'name a readable PEM file in NODE_EXTRA_CA_CERTS');
  }
}
