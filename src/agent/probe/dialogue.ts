import type { Socket } from 'node:net';
import { expanded, firstMatch } from './patterns/matching.ts';
import type { ProbeRun } from './run.ts';
import type { Step } from './settings/others.ts';

/** The steps of a TCP probe: what is expected, and what is sent. */

/** The longest line, and the most that is read for expected bytes. */
const maxBytes = 65_536;

/** Takes bytes from a socket as they are needed. */
class Incoming {
  readonly #socket: Socket;
  readonly #signal: AbortSignal;
  #have: Buffer = Buffer.alloc(0);
  #ended = false;

  constructor(socket: Socket, signal: AbortSignal) {
    this.#socket = socket;
    this.#signal = signal;
  }

  /** The next line without its end; null = the connection has ended. Throws an Error if it is too long. */
  async line(): Promise<string | null> {
    for (;;) {
      const at = this.#have.indexOf(0x0a);
      if (at >= 0)
        return this.#take(at + 1)
          .toString('utf8')
          .replace(/\r?\n$/, '');
      if (this.#have.length > maxBytes) throw new Error(`a line has more than ${maxBytes} bytes`);
      if (await this.#more()) continue;
      return this.#have.length === 0 ? null : this.#take(this.#have.length).toString('utf8');
    }
  }

  /** As many bytes, or fewer if the connection ends. */
  async bytes(count: number): Promise<Buffer> {
    while (this.#have.length < count && (await this.#more()));
    return this.#take(Math.min(count, this.#have.length));
  }

  #take(count: number): Buffer {
    const taken = this.#have.subarray(0, count);
    this.#have = this.#have.subarray(count);
    return taken;
  }

  /** Waits for more bytes; false = the connection has ended. Rejects with its error or `signal.reason`. */
  async #more(): Promise<boolean> {
    if (this.#ended) return false;
    const socket = this.#socket;
    const part = await new Promise<Buffer | null>((resolve, reject) => {
      const finish = () => {
        socket.off('readable', onReadable).off('end', onEnd).off('close', onEnd).off('error', onError);
        this.#signal.removeEventListener('abort', onAbort);
      };
      const onReadable = () => {
        const read = socket.read() as Buffer | null; // no encoding is set
        if (read === null) return;
        finish();
        resolve(read);
      };
      const onEnd = () => {
        finish();
        resolve(null);
      };
      const onError = (error: Error) => {
        finish();
        reject(error);
      };
      const onAbort = () => {
        finish();
        reject(this.#signal.reason as Error);
      };
      if (this.#signal.aborted) return onAbort();
      this.#signal.addEventListener('abort', onAbort, { once: true });
      socket.on('readable', onReadable).once('end', onEnd).once('close', onEnd).once('error', onError);
      if (socket.destroyed || socket.readableEnded) onEnd();
      else onReadable();
    });
    if (part === null) {
      this.#ended = true;
      return false;
    }
    this.#have = this.#have.length === 0 ? part : Buffer.concat([this.#have, part]);
    return true;
  }
}

/** Goes through the steps; false = one was not met. `secure` begins TLS. Rejects with errors of the connection. */
export async function converse(
  first: Socket,
  steps: readonly Step[],
  { run, secure }: { run: ProbeRun; secure: (plain: Socket) => Promise<Socket> },
): Promise<boolean> {
  const { gauges, log, signal } = run;
  let socket = first;
  let incoming = new Incoming(socket, signal);
  const labels: { [name: string]: string } = {};
  for (const [index, step] of steps.entries()) {
    let { send } = step;
    if (step.expect !== null) {
      const match = await expectedLine(step.expect, incoming);
      gauges.set('probe_failed_due_to_regex', match === null ? 1 : 0);
      if (match === null) {
        log('No line matched', { step: index, pattern: step.expect.text });
        return false;
      }
      for (const { name, value } of step.labels) labels[name] = expanded(value, match);
      if (step.labels.length > 0) gauges.set('probe_expect_info', 1, labels);
      send = expanded(send, match);
    }
    if (step.expectBytes !== null) {
      const found = await incoming.bytes(step.expectBytes.length);
      const isEqual = found.equals(step.expectBytes);
      gauges.set('probe_failed_due_to_bytes', isEqual ? 0 : 1);
      if (!isEqual) {
        log('Other bytes came', { step: index });
        return false;
      }
    }
    if (send !== '') {
      socket.write(`${send}\n`);
      log('Sent a line', { step: index });
    }
    if (step.startTls) {
      socket = await secure(socket);
      incoming = new Incoming(socket, signal);
    }
  }
  return true;
}

async function expectedLine(pattern: Step['expect'], incoming: Incoming): Promise<RegExpExecArray | null> {
  for (;;) {
    const line = await incoming.line();
    if (line === null || pattern === null) return null;
    const match = firstMatch(pattern, line);
    if (match !== null) return match;
  }
}
