import { grpcComparisons } from '../../../protocol/assertions.ts';
import type { GrpcConfig } from '../../../protocol/grpc.ts';
import type { GrpcRequest } from '../../../protocol/requests.ts';
import type { Problems } from '../../http/problems.ts';

/** Rules between the fields of a GRPC check's request. */

const config = 'request.grpcConfig';
const base64 = /^[A-Za-z\d+/\s]*={0,2}\s*$/;
/** Fields of one mode that have no meaning in the other. */
const behaviorFields = ['method', 'message', 'protoContent', 'descriptorSet'] as const;

/** Adds a problem for each setting that contradicts another one. */
export function checkGrpc(request: GrpcRequest, problems: Problems): void {
  const { grpcConfig, skipSSL, assertions } = request;
  const { tls, serverName } = grpcConfig;
  if (skipSSL && !tls) problems.add('request.skipSSL', 'is only for calls with TLS (grpcConfig.tls)');
  if (serverName !== null && /[\s/@]|:\/\//.test(serverName) && !serverName.includes('{{')) {
    problems.add(`${config}.serverName`, 'must be a host name or an IP address, not a URL');
  }
  checkCertificate(request, problems);
  checkMetadata(grpcConfig, problems);
  if (grpcConfig.mode === 'HEALTH') checkHealth(grpcConfig, problems);
  else checkBehavior(grpcConfig, problems);
  for (const [index, { source, comparison, property }] of assertions.entries()) {
    const allowed = grpcComparisons[source];
    const path = `request.assertions.${index}`;
    if (allowed !== undefined && !allowed.includes(comparison)) {
      problems.add(`${path}.comparison`, `must be one of ${allowed.join(', ')} for ${source}`);
    }
    if ((source === 'GRPC_METADATA' || source === 'GRPC_TRAILERS') && property === '') {
      problems.add(`${path}.property`, 'must be a metadata key');
    }
  }
}

function checkCertificate(
  { grpcConfig, grpcClientCertificateId: id }: GrpcRequest,
  problems: Problems,
): void {
  const { clientCertificateMode: mode, tls } = grpcConfig;
  if (mode !== null && !tls) problems.add(`${config}.clientCertificateMode`, 'is only for calls with TLS');
  if (mode === 'explicit' && id === null) {
    problems.add(
      'request.grpcClientCertificateId',
      'is required when clientCertificateMode is explicit: give the id of a stored client certificate',
    );
  }
}

function checkMetadata({ metadata }: GrpcConfig, problems: Problems): void {
  for (const [index, { key, value }] of metadata.entries()) {
    const path = `${config}.metadata.${index}`;
    if (!/^[\w.-]+$/.test(key))
      problems.add(`${path}.key`, 'may have letters, digits and the signs _ . - only');
    if (/^(?:grpc-|te$|content-type$|user-agent$|host$|connection$|content-length$)/i.test(key)) {
      problems.add(`${path}.key`, 'is reserved by gRPC');
    }
    if (/-bin$/i.test(key) && !value.includes('{{') && !base64.test(value)) {
      problems.add(`${path}.value`, 'must be base64, because the key ends with -bin');
    }
  }
}

function checkHealth(grpcConfig: GrpcConfig, problems: Problems): void {
  for (const field of behaviorFields) {
    if (grpcConfig[field] !== '') problems.add(`${config}.${field}`, 'is only for the mode BEHAVIOR');
  }
}

function checkBehavior(grpcConfig: GrpcConfig, problems: Problems): void {
  const { method, serviceDefinition, protoContent, descriptorSet, service, watch, message } = grpcConfig;
  if (!method.includes('{{') && !/^\/?[\w.]+\/\w+$/.test(method)) {
    problems.add(`${config}.method`, 'must be package.Service/Method');
  }
  if (service !== '') problems.add(`${config}.service`, 'is only for the mode HEALTH');
  if (watch) problems.add(`${config}.watch`, 'is only for the mode HEALTH');
  const isText = serviceDefinition === 'PROTO_FILE';
  const isSet = serviceDefinition === 'DESCRIPTOR_SET';
  if (isText && protoContent.trim() === '')
    problems.add(`${config}.protoContent`, 'is required when serviceDefinition is PROTO_FILE');
  if (!isText && protoContent !== '')
    problems.add(`${config}.protoContent`, 'is only for the serviceDefinition PROTO_FILE');
  if (isSet && descriptorSet === '')
    problems.add(`${config}.descriptorSet`, 'is required when serviceDefinition is DESCRIPTOR_SET');
  if (!isSet && descriptorSet !== '')
    problems.add(`${config}.descriptorSet`, 'is only for the serviceDefinition DESCRIPTOR_SET');
  if (isSet && !base64.test(descriptorSet)) problems.add(`${config}.descriptorSet`, 'must be base64');
  if (message.trim() !== '' && !message.includes('{{') && !isJson(message)) {
    problems.add(`${config}.message`, 'must be JSON');
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
