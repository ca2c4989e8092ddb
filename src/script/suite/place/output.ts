import { createWriteStream } from 'node:fs';
import { stripVTControlCharacters } from 'node:util';

/** The output of a run's commands: each line goes to the log at once, and all of it to a file up to a limit. */
export type SuiteOutput = {
  /** The newest lines, for a message. */
  readonly lastLines: readonly string[];
  take: (line: string) => void;
  /** Writes a line of the agent's own. */
  note: (line: string) => void;
  /** Resolves when the file is complete; false = it could not be written. */
  close: () => Promise<boolean>;
};

const maxBytes = 16 * 1024 * 1024;
const kept = 40;

export function openOutput(path: string, log: (line: string) => void): SuiteOutput {
  const stream = createWriteStream(path, { mode: 0o600 });
  let broken = false;
  stream.on('error', () => (broken = true));
  const lastLines: string[] = [];
  let bytes = 0;
  let leftOut = 0;
  let closed: Promise<boolean> | undefined;
  const write = (line: string) => {
    bytes += Buffer.byteLength(line) + 1;
    if (bytes > maxBytes) leftOut += 1;
    else if (!broken && closed === undefined) stream.write(`${line}\n`);
  };
  return {
    lastLines,
    take: (raw) => {
      const line = stripVTControlCharacters(raw).replaceAll('\r', '');
      write(line);
      if (line.trim() === '') return;
      // An error's message is above dozens of these lines.
      if (!/^\s+at \S/.test(line)) lastLines.push(line);
      if (lastLines.length > kept) lastLines.shift();
      log(line);
    },
    note: (line) => write(`[${new Date().toISOString()}] ${line}`),
    close: () =>
      (closed ??= new Promise((resolve) => {
        if (leftOut > 0) stream.write(`… ${leftOut} more lines omitted\n`);
        stream.once('close', () => resolve(!broken));
        if (broken) return resolve(false);
        stream.end();
      })),
  };
}
