import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A server that gives tokens to the client `probes` with the secret `very secret+` (RFC 6749, section 4.4). */
export type TokenServer = { port: number; close: () => Promise<void> };

const secret = 'very secret+';

/** `/header` wants the credentials in the header, `/form` in the form. `/page` wants the token. */
export async function startTokenServer(): Promise<TokenServer> {
  const server = createServer((request, response) => {
    if (request.url === '/page') {
      response
        .writeHead(request.headers.authorization === 'Bearer granted-to-probes' ? 200 : 401)
        .end('a page');
      return;
    }
    let body = '';
    request
      .on('data', (chunk: Buffer) => (body += chunk.toString()))
      .on('end', () => {
        const form = new URLSearchParams(body);
        const isForm = request.url === '/form';
        const basic = `Basic ${Buffer.from('probes:very+secret%2B').toString('base64')}`;
        const isKnown = isForm
          ? form.get('client_id') === 'probes' && form.get('client_secret') === secret
          : request.headers.authorization === basic;
        const isWanted =
          form.get('grant_type') === 'client_credentials' &&
          form.get('scope') === 'read list' &&
          form.get('audience') === 'shop';
        const isGranted = isKnown && isWanted && request.method === 'POST';
        response.writeHead(isGranted ? 200 : 401, { 'content-type': 'application/json' });
        response.end(
          JSON.stringify(
            isGranted
              ? { access_token: 'granted-to-probes', token_type: 'bearer', expires_in: 60 }
              : { error: 'invalid_client' },
          ),
        );
      });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port, // it listens on TCP
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
