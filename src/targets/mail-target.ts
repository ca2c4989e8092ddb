import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { closer, listen } from './tcp-target.ts';

export type MailTarget = { port: number; close: () => Promise<void> };

/** A mail as it arrived: its recipients and the file with its complete text. */
export type SavedMail = { to: readonly string[]; file: string };

/** More than any mail of the service. */
const maxMailBytes = 1024 * 1024;

const addressIn = (line: string) => /<([^>]*)>/.exec(line)?.[1] ?? '';

/**
 * A mailbox for tutorials: a mail server on loopback that accepts every mail and saves it as `0001.eml`, `0002.eml`, … in
 * `folder`. It sends no mail on.
 */
export async function startMailTarget(options: {
  folder: string;
  port?: number;
  onMail?: (mail: SavedMail) => void;
}): Promise<MailTarget> {
  const { folder, onMail = () => undefined } = options;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const numbers = (await readdir(folder)).map((name) => Number(/^(\d+)\.eml$/.exec(name)?.[1] ?? 0));
  let last = Math.max(0, ...numbers);

  const save = async (to: readonly string[], text: string): Promise<void> => {
    last += 1;
    const file = join(folder, `${String(last).padStart(4, '0')}.eml`);
    await writeFile(file, text, { mode: 0o600 });
    onMail({ to, file });
  };

  const server = createServer((socket) => void converse(socket, save));
  const close = closer(server);
  const port = await listen(server, options.port === undefined ? {} : { port: options.port });
  return { port, close };
}

/** Answers the commands of one connection (RFC 5321) until it closes. Never rejects. */
async function converse(
  socket: Socket,
  save: (to: readonly string[], text: string) => Promise<void>,
): Promise<void> {
  socket.on('error', () => socket.destroy());
  const say = (line: string): void => void (socket.writable && socket.write(`${line}\r\n`));
  let to: string[] = [];
  /** Lines of the mail that is arriving; null = commands arrive. */
  let mail: string[] | null = null;
  let bytes = 0;
  say('220 mailbox ready');
  try {
    for await (const line of createInterface({ input: socket, crlfDelay: Infinity })) {
      if (mail !== null) {
        bytes += line.length + 2;
        if (line !== '.') {
          // A line that begins with a dot was sent with another one before it.
          if (bytes <= maxMailBytes) mail.push(line.startsWith('.') ? line.slice(1) : line);
          continue;
        }
        const text = mail.join('\r\n');
        mail = null;
        if (bytes > maxMailBytes) say('552 the mail is too large');
        else {
          await save(to, text);
          say('250 saved');
        }
        to = [];
        continue;
      }
      const command = line.slice(0, 4).toUpperCase();
      if (command === 'RCPT') to.push(addressIn(line));
      if (command === 'MAIL' || command === 'RSET') to = [];
      if (command === 'DATA') {
        mail = [];
        bytes = 0;
      }
      say(answers[command] ?? '502 unknown command');
      if (command === 'QUIT') socket.end();
    }
  } catch {
    socket.destroy();
  }
}

const answers: { readonly [command: string]: string } = {
  EHLO: '250 mailbox',
  HELO: '250 mailbox',
  MAIL: '250 ok',
  RCPT: '250 ok',
  RSET: '250 ok',
  NOOP: '250 ok',
  DATA: '354 end with a line that has only a dot',
  QUIT: '221 bye',
};
