import type { Secret } from '../secrets/secret.ts';
import { fail, flag, secret, text, url, type Environment } from './read.ts';

/** The variables of root cause analyses and agentic checks: which model is asked, and where. */

/** An endpoint that speaks the chat completions protocol. */
export type ModelEndpoint = {
  /** Base, like https://models.example.com/v1, without a slash at its end. */
  readonly url: string;
  /** Null = it asks for none. */
  readonly key: Secret | null;
  readonly model: string;
};

export type AnalysisConfig = {
  /** Null = analyses are made by the rules of the service, and agentic checks can not run. */
  readonly endpoint: ModelEndpoint | null;
  /** The first result of an error group has it analysed. */
  readonly automatic: boolean;
  /** Of agentic checks; null = the endpoint's. */
  readonly agenticModel: string | null;
  /** Program of the browser of agentic checks; null = what is found on this machine. */
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
