import type { FastifyInstance } from 'fastify';
import { readCookie } from '../../../src/service/accounts/web-sessions/cookie.ts';
import { originOfRequest } from '../../../src/service/accounts/web-sessions/same-origin.ts';
import { sourceOf, userAgentOf } from '../../../src/service/heartbeats/rules.ts';
import { ignoreBodies } from '../../../src/service/http/ignored-body.ts';
import { createServer } from '../../../src/service/http/server.ts';

/** Cookies of the pages and pings of heartbeats, from anybody: headers are read within bounds, and bodies ignored. */

export const name = 'cookies-and-pings';

let server: Promise<FastifyInstance> | null = null;
const options = { publicUrl: 'https://monitoring.shop.test' };

async function started(): Promise<FastifyInstance> {
  const app = await createServer({});
  app.get('/cookie', { schema: {} }, async (request) => ({
    token: readCookie(request, {}),
    secure: readCookie(request, options),
    origin: originOfRequest(request, options),
  }));
  await app.register(async (instance) => {
    ignoreBodies(instance);
    instance.post('/ping', { schema: {} }, async ({ method, headers }) => ({
      source: sourceOf(method, headers),
      userAgent: userAgentOf(headers),
    }));
  });
  await app.ready();
  return app;
}

/** The lines are: cookie, origin, referer, user agent, host, content type; the rest is a body. */
export async function run(data: Buffer): Promise<void> {
  const app = await (server ??= started());
  const lines = data.toString('latin1').split('\n');
  const [cookie = '', origin = '', referer = '', agent = '', host = '', type = ''] = lines
    .slice(0, 6)
    .map((line) => line.replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, ''));
  const payload = lines.slice(6).join('\n');
  const shown = await app.inject({
    method: 'GET',
    url: '/cookie',
    headers: { cookie, origin, host: host === '' ? 'shop.test' : host, 'x-forwarded-proto': type },
  });
  const pinged = await app.inject({
    method: 'POST',
    url: '/ping',
    headers: { origin, referer, 'user-agent': agent, 'content-type': type },
    payload,
  });
  for (const { statusCode, body } of [shown, pinged]) {
    if (statusCode >= 500) throw new Error(`${statusCode} ${body}`);
  }
  if (shown.statusCode === 200) {
    const { token, secure } = shown.json<{ token: string | null; secure: string | null }>();
    for (const each of [token, secure]) {
      if (each !== null && !/^[\w-]{43}$/.test(each)) throw new Error(`token ${each}`);
    }
  }
  if (pinged.statusCode === 200) {
    const { source, userAgent } = pinged.json<{ source: string; userAgent: string }>();
    const isBounded = source.length <= 256 && userAgent.length <= 512;
    // oxlint-disable-next-line no-control-regex -- those characters are the subject
    if (!isBounded || /[\u0000-\u001f\u007f]/.test(source + userAgent)) throw new Error(source + userAgent);
  } else if (pinged.statusCode !== 400) throw new Error(`${pinged.statusCode} for a ping`);
}

export const close = async (): Promise<void> => (await server)?.close();

const token = 'a'.repeat(43);

export const seeds = (): string[] => [
  `a=b; session=${token}; __Host-session=${token}\nhttps://shop.test\n\ncurl/8\nshop.test\ntext/plain\nbody`,
  `session=short; session="${token}"\nnull\nhttps://user:pw@shop.test/a?b\nagent\n[::1]:80\napplication/json\n{}`,
  '\nfile:///etc\nabout:blank\n\nmonitoring.shop.test\nmultipart/form-data; boundary=x\n--x',
];

export const dictionary = [
  'session=',
  '__Host-session=',
  token,
  '; ',
  '=',
  '"',
  'https://',
  'null',
  '\n',
  '://',
  '@',
  '[',
  ']',
  '%',
];
