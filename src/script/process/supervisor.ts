import { constants } from 'node:os';
import type { Duplex } from 'node:stream';
import { readLines } from './bounded-lines.ts';
import type { ChildLimits } from './program.ts';
import { noteMissing } from './confinement.ts';

/** The events that the supervisor (src/native/launcher/supervise.c) reports over its pipe. */
export type Supervisor = {
  /** Null when the program runs; otherwise the step that failed. Also settles when the pipe breaks. */
  readonly started: Promise<{ step: string; errno: number } | null>;
  exceeded: () => keyof ChildLimits | null;
  /** How the program ended; null if the supervisor died before it could report it. */
  end: () => { code: number | null; signal: NodeJS.Signals | null } | null;
  /** Asks the program to exit, and kills the remaining processes after `graceMs`. */
  askToEnd: (graceMs: number) => void;
};

const limitNames: readonly (keyof ChildLimits)[] = ['memoryBytes', 'cpuSeconds', 'diskBytes', 'processes'];

/** Sends the environment, then follows the supervisor's events. */
export function listenToSupervisor(
  line: Duplex,
  env: { readonly [name: string]: string },
  /** Called with each destination that it was refused; port 0 = a socket in the file system. */
  onRefused: (target: string, port: number) => void,
): Supervisor {
  let exceeded: keyof ChildLimits | null = null;
  let end: ReturnType<Supervisor['end']> = null;
  let settle: (failure: { step: string; errno: number } | null) => void = () => undefined;
  const started = new Promise<{ step: string; errno: number } | null>((resolve) => (settle = resolve));

  const lines = readLines(512, (text) => {
    const [event, what = '', number = '0'] = text.split(' ');
    if (event === 'running') settle(null);
    if (event === 'failed') settle({ step: what, errno: Number(number) });
    if (event === 'missing') noteMissing(what, Number(number));
    if (event === 'refused') onRefused(what, Number(number));
    if (event === 'exceeded') exceeded = limitNames.find((name) => name === what) ?? null;
    if (event === 'ended') {
      end =
        what === 'code'
          ? { code: Number(number), signal: null }
          : { code: null, signal: signalName(Number(number)) };
      // On a busy machine the kernel's own limit may act before the supervisor's check.
      if (end.signal === 'SIGXCPU') exceeded ??= 'cpuSeconds';
    }
  });
  line.on('data', (chunk: Buffer) => lines.push(chunk));
  line.on('error', () => settle({ step: 'supervisor', errno: constants.errno.EPIPE }));
  line.on('close', () => settle({ step: 'supervisor', errno: constants.errno.EPIPE }));
  const block = Buffer.from(
    Object.entries(env)
      .map(([name, value]) => `${name}=${value}\0`)
      .join(''),
  );
  line.write(Buffer.concat([Buffer.from(`${block.length}\n`), block]));
  return {
    started,
    exceeded: () => exceeded,
    end: () => end,
    askToEnd: (graceMs) => {
      if (line.writable) line.write(`end ${Math.ceil(graceMs)}\n`);
    },
  };
}

function signalName(number: number): NodeJS.Signals {
  const entry = Object.entries(constants.signals).find(([, value]) => value === number);
  return (entry?.[0] ?? 'SIGKILL') as NodeJS.Signals; // the keys are the names of signals
}
