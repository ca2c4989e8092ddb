import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';

/** Passes each connection on to the next of these ports that takes it, as a load balancer in front of replicas does. */
export async function startBalancer(ports: readonly number[]): Promise<{ url: string; close: () => void }> {
  let turn = 0;
  const server = createServer({ noDelay: true }, (client) => {
    client.on('error', () => client.destroy());
    let tries = 0;
    const pass = (): void => {
      const upstream = connect({ port: ports[turn++ % ports.length] ?? 0, host: '127.0.0.1', noDelay: true });
      upstream.once('connect', () => {
        client.pipe(upstream).pipe(client);
        client.once('close', () => upstream.destroy());
        upstream.once('close', () => client.destroy());
      });
      upstream.on('error', () => {
        if (upstream.bytesRead === 0 && upstream.bytesWritten === 0 && ++tries < ports.length) pass();
        else client.destroy();
      });
    };
    pass();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // of a TCP server
  return { url: `http://127.0.0.1:${port}`, close: () => server.close() };
}
