import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import type { Running } from './http.ts';

/** A listener that accepts nothing: its process is stopped, and connections of our own fill its backlog. */
export async function fullListener(host = '127.0.0.1', wantedPort = 0): Promise<Running> {
  const child = spawn(
    process.execPath,
    [
      '-e',
      "const s=require('net').createServer().listen({port:+process.argv[2],host:process.argv[1],backlog:1},()=>console.log(s.address().port))",
      host,
      String(wantedPort),
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  const port = Number(line.toString());
  child.kill('SIGSTOP');
  // Linux lets one more than the backlog in.
  const fillers = Array.from({ length: 4 }, () => connect(port, host).on('error', () => undefined));
  await new Promise((resolve) => setTimeout(resolve, 100));
  return {
    port,
    close: async () => {
      for (const filler of fillers) filler.destroy();
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
  };
}
