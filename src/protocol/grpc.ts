import Type, { type Static } from 'typebox';
import { Nullable, StringEnum } from './schema.ts';

/** The settings of GRPC checks (facts, section 2.1), and the names of gRPC's numbers. */

/** Status codes by number. */
export const grpcStatusNames = [
  'OK',
  'CANCELLED',
  'UNKNOWN',
  'INVALID_ARGUMENT',
  'DEADLINE_EXCEEDED',
  'NOT_FOUND',
  'ALREADY_EXISTS',
  'PERMISSION_DENIED',
  'RESOURCE_EXHAUSTED',
  'FAILED_PRECONDITION',
  'ABORTED',
  'OUT_OF_RANGE',
  'UNIMPLEMENTED',
  'INTERNAL',
  'UNAVAILABLE',
  'DATA_LOSS',
  'UNAUTHENTICATED',
] as const;

/** Answers of the health service by number. */
export const healthStatusNames = ['UNKNOWN', 'SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN'] as const;

/** The longest time of a call, in seconds. */
export const maxGrpcSeconds = 180;

export const GrpcConfig = Type.Object({
  mode: StringEnum(['BEHAVIOR', 'HEALTH'], {
    default: 'BEHAVIOR',
    description: 'BEHAVIOR: calls a method. HEALTH: asks the health service.',
  }),
  tls: Type.Boolean({ default: true, description: 'False: HTTP/2 in plain text.' }),
  serverName: Nullable(Type.String({ maxLength: 2048 }), {
    default: null,
    description: 'Name for SNI, which the certificate must carry. Null or empty = the host.',
  }),
  clientCertificateMode: Nullable(StringEnum(['auto', 'explicit']), {
    default: null,
    description: 'auto: the stored certificate whose host matches. explicit: grpcClientCertificateId.',
  }),
  metadata: Type.Array(
    Type.Object({
      key: Type.String({ minLength: 1, maxLength: 256 }),
      value: Type.String({ maxLength: 8192, default: '' }),
    }),
    { maxItems: 50, default: [], description: 'Sent with the call. Values of keys with -bin are base64.' },
  ),
  method: Type.String({
    maxLength: 1024,
    default: '',
    description: 'package.Service/Method; required for BEHAVIOR.',
  }),
  serviceDefinition: StringEnum(['REFLECTION', 'PROTO_FILE', 'DESCRIPTOR_SET'], {
    default: 'REFLECTION',
    description: 'Source of the types: the server, protoContent, or descriptorSet.',
  }),
  protoContent: Type.String({
    maxLength: 524_288,
    default: '',
    description: 'The text of one .proto file. It may import only google/protobuf files.',
  }),
  descriptorSet: Type.String({
    maxLength: 1_048_576,
    default: '',
    description: 'A FileDescriptorSet with its imports, in base64.',
  }),
  message: Type.String({ maxLength: 262_144, default: '', description: 'The request message as JSON.' }),
  service: Type.String({
    maxLength: 1024,
    default: '',
    description: 'Service that the health service is asked about; empty = the server.',
  }),
  watch: Type.Boolean({ default: false, description: 'HEALTH: true uses Watch instead of Check.' }),
  compression: StringEnum(['none', 'gzip'], { default: 'none', description: 'Compression of the request.' }),
  maxMessageBytes: Type.Integer({
    minimum: 1024,
    maximum: 26_214_400,
    default: 4_194_304,
    description: 'A larger message of the answer fails the run.',
  }),
  maxMessages: Type.Integer({
    minimum: 1,
    maximum: 1000,
    default: 100,
    description: 'A stream is cancelled after that many messages, which is no failure.',
  }),
});
export type GrpcConfig = Static<typeof GrpcConfig>;
