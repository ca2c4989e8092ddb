import { AgentError } from '../errors.ts';
import type { Runtime } from './runtimes.ts';
import type { ApiScriptOptions, ApiScriptSession } from './scripts.ts';

/** Starts the child that serves the setup and teardown scripts of one run of an API check. */
export async function openApiScripts(
  _runtime: Runtime,
  _options: ApiScriptOptions,
): Promise<ApiScriptSession> {
  return Promise.reject(new AgentError('INTERNAL', 'setup and teardown scripts cannot run yet'));
}
