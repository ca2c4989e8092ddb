import type { Secret } from '../secrets/secret.ts';
import { fail, flag, secret, text, url, type Environment } from './read.ts';

/** The variables of root cause analyses and agentic checks: which model to use, and where. */

/** An endpoint that speaks the chat completions protocol. */
export type ModelEndpoint = {
  /** Base URL, such as https://models.example.com/v1, without a trailing slash. */
  readonly url: string;
  /** Null = the endpoint needs no key. */
  readonly key: Secret | null;
  readonly model: string;
};

export type AnalysisConfig = {
  /** Null = the service analyses with its own rules, and agentic checks cannot run. */
  readonly endpoint: ModelEndpoint | null;
  /** Analyse an error group when its first result arrives. */
  readonly automatic: boolean;
  /** Model of agentic checks; null = the endpoint's. */
  readonly agenticModel: string | null;
  /** Path of the browser for agentic checks; null = a browser found on this machine. */
  readonly agenticBrowser: string | null;
};

/** Throws FatalError (78). */
export function readAnalysisConfig(env: Environment): AnalysisConfig {
  const key = secret(env, 'ANALYSIS_API_KEY');
  const model = text(env, 'ANALYSIS_MODEL');
  const isSet = text(env, 'ANALYSIS_API_URL') !== null;
  if (isSet && model === null) fail('ANALYSIS_MODEL is required with ANALYSIS_API_URL: the name of a model');
  if (!isSet && (key !== null || model !== null)) {
    fail(
      'ANALYSIS_API_URL is required with ANALYSIS_API_KEY and ANALYSIS_MODEL: https://models.example.com/v1',
    );
  }
  const base = isSet ? url(env, 'ANALYSIS_API_URL', '', ['http:', 'https:']).href.replace(/\/+$/, '') : null;
  return Object.freeze({
    endpoint: base === null || model === null ? null : Object.freeze({ url: base, key, model }),
    automatic: flag(env, 'ANALYSIS_AUTOMATIC', false),
    agenticModel: text(env, 'AGENTIC_MODEL'),
    agenticBrowser: text(env, 'AGENTIC_BROWSER'),
  });
}
