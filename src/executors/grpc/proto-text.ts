import { mapOf } from './proto-map.ts';
import { tokensOf, type Token } from './proto-tokens.ts';
import {
  isPackable,
  jsonNameOf,
  scalarKinds,
  type EnumDeclaration,
  type FieldDeclaration,
  type FileDeclaration,
  type MessageDeclaration,
  type MethodDeclaration,
  type ScalarKind,
} from './schema.ts';
import { ProtoError } from './wire.ts';

/** Reads the text of a .proto file of proto2 or proto3: messages, enums and services. Options are skipped but for `packed`. */

const maxDepth = 32;
const scalars: ReadonlySet<string> = new Set(scalarKinds);

/** The declarations of one file. Throws ProtoError with the line of the fault. */
export function parseProto(source: string): FileDeclaration {
  return new Parser(tokensOf(source)).file();
}

class Parser {
  readonly #tokens: readonly Token[];
  #at = 0;
  #isProto3 = false;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  get #token(): Token {
    return this.#tokens[this.#at] ?? { kind: 'end', value: 'the end of the text', line: 0 };
  }

  #next(): Token {
    const token = this.#token;
    this.#at += 1;
    return token;
  }

  #fail(expected: string, { line, value }: Token = this.#token): never {
    throw new ProtoError(`line ${line}: expected ${expected}, found ${JSON.stringify(value)}`);
  }

  #accept(value: string): boolean {
    if (this.#token.kind === 'text' || this.#token.value !== value) return false;
    this.#at += 1;
    return true;
  }

  #expect(value: string): void {
    if (!this.#accept(value)) this.#fail(JSON.stringify(value));
  }

  #word(): string {
    const token = this.#next();
    return token.kind === 'word' ? token.value : this.#fail('a name', token);
  }

  #number(): number {
    const sign = this.#accept('-') ? -1 : 1;
    const token = this.#next();
    const value = Number(token.value);
    if (token.kind !== 'number' || !Number.isSafeInteger(value)) this.#fail('a number', token);
    return sign * value;
  }

  #text(): string {
    const token = this.#next();
    return token.kind === 'text' ? token.value : this.#fail('a text', token);
  }

  file(): FileDeclaration {
    const file: FileDeclaration = {
      name: '',
      package: '',
      imports: [],
      messages: [],
      enums: [],
      services: [],
    };
    while (this.#token.kind !== 'end') {
      if (this.#accept(';')) continue;
      const word = this.#word();
      if (word === 'syntax' || word === 'edition') {
        this.#expect('=');
        this.#isProto3 = this.#text() !== 'proto2';
        this.#expect(';');
      } else if (word === 'package') {
        file.package = this.#word();
        this.#expect(';');
      } else if (word === 'import') {
        if (this.#token.kind === 'word') this.#next(); // public or weak
        file.imports.push(this.#text());
        this.#expect(';');
      } else if (word === 'option') this.#skipStatement();
      else if (word === 'message') file.messages.push(this.#message(0));
      else if (word === 'enum') file.enums.push(this.#enum());
      else if (word === 'service') file.services.push(this.#service());
      else if (word === 'extend') this.#skipBlock();
      else this.#fail('a declaration', { kind: 'word', value: word, line: this.#token.line });
    }
    return file;
  }

  /** Skips to the semicolon of a statement, over values in braces. */
  #skipStatement(): void {
    for (let depth = 0; ;) {
      const { kind, value } = this.#next();
      if (kind === 'end') this.#fail('";"');
      if (kind !== 'sign') continue;
      if (value === '{' || value === '[') depth += 1;
      if (value === '}' || value === ']') depth -= 1;
      if (value === ';' && depth <= 0) return;
    }
  }

  /** Skips to the end of the next block. */
  #skipBlock(): void {
    for (let depth = 0; ;) {
      const { kind, value } = this.#next();
      if (kind === 'end') this.#fail('"}"');
      if (kind !== 'sign') continue;
      if (value === '{') depth += 1;
      if (value === '}' && (depth -= 1) <= 0) return;
    }
  }

  #message(depth: number): MessageDeclaration {
    if (depth > maxDepth) throw new ProtoError('messages are declared too deeply inside of each other');
    const message: MessageDeclaration = {
      name: this.#word(),
      fields: [],
      messages: [],
      enums: [],
      isMapEntry: false,
    };
    let oneofs = 0;
    this.#expect('{');
    while (!this.#accept('}')) {
      if (this.#accept(';')) continue;
      const { value, kind } = this.#token;
      if (kind !== 'word') this.#fail('a field');
      // Words of the language may also be the type of a field, so what follows decides.
      const follows = this.#tokens[this.#at + 1]?.value;
      if (value === 'message') {
        this.#next();
        message.messages.push(this.#message(depth + 1));
      } else if (value === 'enum') {
        this.#next();
        message.enums.push(this.#enum());
      } else if (value === 'option' || value === 'reserved' || value === 'extensions') this.#skipStatement();
      else if (value === 'extend') this.#skipBlock();
      else if (value === 'oneof') {
        this.#next();
        this.#word();
        this.#expect('{');
        while (!this.#accept('}')) {
          if (this.#accept(';')) continue;
          if (this.#token.value === 'option') this.#skipStatement();
          else message.fields.push(this.#field({ repeated: false, oneof: oneofs }));
        }
        oneofs += 1;
      } else if (value === 'map' && follows === '<') this.#map(message);
      else {
        const label = ['optional', 'required', 'repeated'].includes(value) ? this.#word() : '';
        message.fields.push(this.#field({ repeated: label === 'repeated', oneof: null }));
      }
    }
    return message;
  }

  #field({ repeated, oneof }: { repeated: boolean; oneof: number | null }): FieldDeclaration {
    const typeName = this.#word();
    if (typeName === 'group') this.#fail('a field that is no group');
    const kind = scalars.has(typeName) ? (typeName as ScalarKind) : 'named'; // it is one of the list
    const name = this.#word();
    this.#expect('=');
    const number = this.#fieldNumber();
    const { packed, jsonName } = this.#fieldOptions();
    this.#expect(';');
    return {
      name,
      jsonName: jsonName ?? jsonNameOf(name),
      number,
      kind,
      typeName: kind === 'named' ? typeName : '',
      repeated,
      packed: repeated && isPackable(kind) && (packed ?? this.#isProto3),
      oneof,
    };
  }

  #fieldNumber(): number {
    const number = this.#number();
    return number >= 1 && number <= 536_870_911 ? number : this.#fail('the number of a field');
  }

  /** `[packed = true, json_name = "x", (other) = …]`. */
  #fieldOptions(): { packed: boolean | null; jsonName: string | null } {
    const found: { packed: boolean | null; jsonName: string | null } = { packed: null, jsonName: null };
    if (!this.#accept('[')) return found;
    for (let depth = 1; depth > 0;) {
      const { kind, value } = this.#next();
      if (kind === 'end') this.#fail('"]"');
      if (kind === 'sign' && (value === '[' || value === '{')) depth += 1;
      if (kind === 'sign' && (value === ']' || value === '}')) depth -= 1;
      if (depth !== 1 || kind !== 'word' || this.#token.value !== '=') continue;
      const option = this.#tokens[this.#at + 1];
      if (value === 'packed') found.packed = option?.value === 'true';
      if (value === 'json_name' && option?.kind === 'text') found.jsonName = option.value;
    }
    return found;
  }

  /** A map is a list of messages with a key and a value. */
  #map(message: MessageDeclaration): void {
    this.#next();
    this.#expect('<');
    const key = this.#word();
    this.#expect(',');
    const value = this.#word();
    this.#expect('>');
    const name = this.#word();
    this.#expect('=');
    const number = this.#fieldNumber();
    const { jsonName } = this.#fieldOptions();
    this.#expect(';');
    const { field, entry } = mapOf({ name, number, jsonName, key, value });
    message.messages.push(entry);
    message.fields.push(field);
  }

  #enum(): EnumDeclaration {
    const declaration: EnumDeclaration = { name: this.#word(), values: [] };
    this.#expect('{');
    while (!this.#accept('}')) {
      if (this.#accept(';')) continue;
      const follows = this.#tokens[this.#at + 1]?.value;
      if (follows !== '=') {
        if (this.#token.value !== 'option' && this.#token.value !== 'reserved') this.#fail('a value');
        this.#skipStatement();
        continue;
      }
      const name = this.#word();
      this.#expect('=');
      declaration.values.push([name, this.#number()]);
      this.#fieldOptions();
      this.#expect(';');
    }
    return declaration;
  }

  #service(): { name: string; methods: MethodDeclaration[] } {
    const service: { name: string; methods: MethodDeclaration[] } = { name: this.#word(), methods: [] };
    this.#expect('{');
    while (!this.#accept('}')) {
      if (this.#accept(';')) continue;
      if (this.#token.value === 'option') {
        this.#skipStatement();
        continue;
      }
      this.#expect('rpc');
      const name = this.#word();
      const [clientStreaming, input] = this.#messageOfMethod();
      this.#expect('returns');
      const [serverStreaming, output] = this.#messageOfMethod();
      service.methods.push({ name, input, output, clientStreaming, serverStreaming });
      if (this.#token.value === '{') this.#skipBlock();
      else this.#expect(';');
    }
    return service;
  }

  #messageOfMethod(): [isStream: boolean, type: string] {
    this.#expect('(');
    const isStream = this.#token.value === 'stream' && this.#tokens[this.#at + 1]?.kind === 'word';
    if (isStream) this.#next();
    const type = this.#word();
    this.#expect(')');
    return [isStream, type];
  }
}
