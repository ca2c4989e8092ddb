import { Value } from 'typebox/value';
import type { JobType } from '../../src/protocol/check-types.ts';
import { requestSchemas } from '../../src/protocol/requests.ts';
import { tcpJob, type PeerJob } from '../agent/link/protocol-peer.ts';

/** Types of jobs that need no script. */
export type LightType = keyof typeof requestSchemas & JobType;

/** A job of a light type as the service hands it out: `request` with the defaults of what it leaves out. */
export function lightJob(
  checkType: LightType,
  request: Record<string, unknown>,
  more: Record<string, unknown> = {},
): PeerJob {
  return {
    ...tcpJob(1),
    checkType,
    degradedResponseTime: null,
    maxResponseTime: null,
    clientCertificates: [],
    ...more,
    request: Value.Default(requestSchemas[checkType], request),
  };
}
