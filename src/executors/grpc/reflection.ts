import { readFileDescriptor } from './descriptor.ts';
import type { FileDeclaration } from './schema.ts';
import { wellKnownFile } from './well-known.ts';
import { fieldsOf, ProtoError, Writer } from './wire.ts';

/** Types from the server itself (grpc.reflection.v1 and v1alpha, whose messages are equal). */

export const reflectionPaths = [
  '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
  '/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo',
] as const;

/** Questions of ServerReflectionRequest by their field numbers. */
const questions = { file: 3, symbol: 4, services: 7 } as const;
type Question = { kind: keyof typeof questions; value: string };

/** More files than any API has, and more rounds of missing imports. */
const maxFiles = 1000;
const maxRounds = 20;
const maxServices = 200;

/** Asks questions in one call; gives the answers (ServerReflectionResponse) in order. */
export type Ask = (messages: readonly Buffer[]) => Promise<readonly Buffer[]>;

const questionOf = ({ kind, value }: Question) => new Writer().text(questions[kind], value).done();

type Answers = { files: Buffer[]; services: string[]; errors: string[] };

function readAnswers(messages: readonly Buffer[]): Answers {
  const found: Answers = { files: [], services: [], errors: [] };
  for (const message of messages) {
    for (const { number, bytes } of fieldsOf(message)) {
      if (number === 4)
        for (const part of fieldsOf(bytes)) if (part.number === 1) found.files.push(part.bytes);
      if (number === 6) {
        for (const service of fieldsOf(bytes)) {
          for (const part of fieldsOf(service.bytes)) {
            if (part.number === 1 && found.services.length < maxServices)
              found.services.push(part.bytes.toString('utf8'));
          }
        }
      }
      if (number === 7) {
        const text = [...fieldsOf(bytes)].find((part) => part.number === 2);
        found.errors.push(text?.bytes.toString('utf8') ?? 'unknown');
      }
    }
  }
  return found;
}

/**
 * The files that declare `service`, with everything that they import. Servers send either all files at once, or one at
 * a time. Throws ProtoError if the server does not know the service.
 */
export async function reflect(ask: Ask, service: string): Promise<FileDeclaration[]> {
  const files = new Map<string, FileDeclaration>();
  let open: Question[] = [{ kind: 'symbol', value: service }];
  for (let round = 0; open.length > 0; round++) {
    if (round >= maxRounds) throw new ProtoError('reflection: imports are chained too deeply');
    const { files: raw, errors } = readAnswers(await ask(open.map(questionOf)));
    if (round === 0 && raw.length === 0)
      throw new ProtoError(`reflection: the server does not know ${service} (${errors[0] ?? 'no answer'})`);
    for (const bytes of raw) {
      const file = readFileDescriptor(bytes);
      if (files.size >= maxFiles) throw new ProtoError(`reflection: there are more than ${maxFiles} files`);
      files.set(file.name, file);
    }
    const asked = new Set(open.filter(({ kind }) => kind === 'file').map(({ value }) => value));
    const missing = missingImports(files);
    // A file that was asked for and did not come is one that the compiler has with it, or it is lost.
    for (const path of missing) {
      if (!asked.has(path)) continue;
      const known = wellKnownFile(path);
      if (known === null)
        throw new ProtoError(`reflection: the server does not have ${path} (${errors[0] ?? 'no answer'})`);
      files.set(path, known);
    }
    open = missingImports(files).map((value) => ({ kind: 'file', value }));
  }
  return [...files.values()];
}

/** Paths that files import and nobody has read. */
export function missingImports(files: ReadonlyMap<string, FileDeclaration>): string[] {
  const missing = new Set<string>();
  for (const { imports } of files.values()) {
    for (const path of imports) if (!files.has(path) && missing.size < maxFiles) missing.add(path);
  }
  return [...missing];
}

/** The services that the server has. */
export async function listServices(ask: Ask): Promise<string[]> {
  return readAnswers(await ask([questionOf({ kind: 'services', value: '' })])).services;
}
