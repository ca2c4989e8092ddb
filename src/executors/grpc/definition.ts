import type { GrpcConfig } from '../../protocol/grpc.ts';
import { readDescriptorSet } from './descriptor.ts';
import { parseProto } from './proto-text.ts';
import { missingImports } from './reflection.ts';
import { link, type FileDeclaration, type Method, type Schema } from './schema.ts';
import { wellKnownFile } from './well-known.ts';
import { ProtoError } from './wire.ts';

/** The types of a check that brings them itself. */

/** Adds the google/protobuf files that are imported. Throws ProtoError for others that are missing. */
function complete(own: readonly FileDeclaration[]): Schema {
  const files = new Map(own.map((file, index) => [file.name || `file ${index}`, file]));
  for (const path of missingImports(files)) {
    const known = wellKnownFile(path);
    if (known === null) {
      throw new ProtoError(
        `imports ${path}, which is not there: put all types into one text, or give a descriptor set with imports`,
      );
    }
    files.set(path, known);
  }
  return link([...files.values()]);
}

let last: { key: string; schema: Schema } | null = null;

/** The schema of the check's text or descriptor set. Repeated runs of one check read it once. Throws ProtoError. */
export function ownSchema({ serviceDefinition, protoContent, descriptorSet }: GrpcConfig): Schema {
  const isText = serviceDefinition === 'PROTO_FILE';
  const key = isText ? protoContent : descriptorSet;
  if (last?.key === key) return last.schema;
  const files = isText ? [parseProto(protoContent)] : readDescriptorSet(Buffer.from(descriptorSet, 'base64'));
  const schema = complete(files);
  last = { key, schema };
  return schema;
}

/** `package.Service/Method` of a method, whose leading slash is optional. */
export const methodPath = (method: string): string => method.replace(/^\//, '');

/** The method; throws ProtoError if the schema does not have it, or if clients would have to stream. */
export function methodOf(schema: Schema, path: string): Method {
  const method = schema.methods.get(path);
  if (method === undefined) {
    const [service = ''] = path.split('/');
    const names = [...schema.methods.keys()].filter((name) => name.startsWith(`${service}/`));
    const known = (names.length > 0 ? names : [...schema.methods.keys()]).slice(0, 10).join(', ');
    throw new ProtoError(`there is no method ${path}; there are ${known === '' ? 'none' : known}`);
  }
  if (method.clientStreaming)
    throw new ProtoError(
      `${path} takes a stream of messages; only unary and server-streaming methods can be called`,
    );
  return method;
}
