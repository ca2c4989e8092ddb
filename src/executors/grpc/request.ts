import { grpcStatusNames, healthStatusNames } from '../../protocol/grpc.ts';
import type { JobOf } from '../../protocol/job.ts';
import { isTemplate } from '../../templates/parse.ts';
import { shortened } from '../../shortened.ts';
import { HttpFailure } from '../http/failures.ts';
import type { Renderer } from '../http/templates.ts';
import type { ExecutionContext } from '../interface/executor.ts';
import { unbracketed } from '../interface/name.ts';
import { methodPath } from './definition.ts';
import { keyProblem, type Metadata } from './metadata.ts';

/** The request of a GRPC job with its variables filled in. */

export type GrpcCall = {
  host: string;
  port: number;
  metadata: Metadata;
  /** `package.Service/Method`. */
  path: string;
  /** JSON. */
  message: string;
  /** For the health service. */
  service: string;
};

const plain: Renderer = (_field, template) => template;

/** Throws HttpFailure TEMPLATE_INVALID or INVALID_REQUEST. */
export async function renderedCall(job: JobOf<'GRPC'>, context: ExecutionContext): Promise<GrpcCall> {
  const { url, port, grpcConfig: config } = job.request;
  const fields = [url, String(port), config.method, config.message, config.service];
  const texts = [...fields, ...config.metadata.map(({ value }) => value)];
  const render = texts.some(isTemplate) ? await rendererOf(job, context) : plain;
  const host = unbracketed(render('url', url, 'raw').trim());
  if (host === '' || /[\s/@]|:\/\//.test(host))
    throw new HttpFailure(
      'INVALID_REQUEST',
      `url must be a host name or an address, not ${shortened(host, 200)}`,
    );
  const renderedPort = render('port', String(port), 'raw').trim();
  const number = /^\d{1,5}$/.test(renderedPort) ? Number(renderedPort) : 0;
  if (number < 1 || number > 65_535)
    throw new HttpFailure('INVALID_REQUEST', `port must be 1 to 65535, not ${shortened(renderedPort, 50)}`);
  const metadata = config.metadata.map(({ key, value }, index) => {
    const problem = keyProblem(key);
    if (problem !== null)
      throw new HttpFailure('INVALID_REQUEST', `the metadata key ${shortened(key, 100)} ${problem}`);
    return { key, value: render(`metadata[${index}].value`, value, 'raw') };
  });
  const isHealth = config.mode === 'HEALTH';
  return {
    host,
    port: number,
    metadata,
    path: isHealth
      ? `grpc.health.v1.Health/${config.watch ? 'Watch' : 'Check'}`
      : methodPath(render('method', config.method, 'raw')),
    message: render('message', config.message, 'json'),
    service: render('service', config.service, 'raw'),
  };
}

async function rendererOf(job: JobOf<'GRPC'>, context: ExecutionContext): Promise<Renderer> {
  const { createRenderer } = await import('../http/templates.ts');
  return createRenderer({
    variables: new Map(job.environmentVariables.map(({ key, value }) => [key, value])),
    now: context.now,
    onMissing: (name) =>
      context.log('warn', `the variable ${shortened(name, 256)} is not set and renders as an empty text`),
  });
}

export const statusName = (code: number): string => grpcStatusNames[code] ?? `status ${code}`;
export const healthName = (value: number): string => healthStatusNames[value] ?? `health ${value}`;
