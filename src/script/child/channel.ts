import { Socket } from 'node:net';

/**
 * The child's end of the channel to the agent: JSON lines over file descriptor 3. Only files of src/script/child use
 * it, before any customer code runs.
 */
export type Channel = {
  send: (message: unknown) => void;
  onMessage: (listener: (message: unknown) => void) => void;
  /** Lets the process exit although the channel is open. */
  unref: () => void;
};

export function openChannel(): Channel {
  const socket = new Socket({ fd: 3, readable: true, writable: true });
  let listener: (message: unknown) => void = () => undefined;
  let rest = '';
  socket.setEncoding('utf8');
  socket.on('error', () => undefined);
  // The agent is gone, so this process has no purpose.
  socket.on('end', () => process.exit(1));
  socket.on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) listener(JSON.parse(line));
  });
  return {
    send: (message) => void socket.write(`${JSON.stringify(message)}\n`),
    onMessage: (take) => {
      listener = take;
    },
    unref: () => socket.unref(),
  };
}
