import { createRunCookies } from '../../../src/executors/http/cookies.ts';
import { HttpFailure } from '../../../src/executors/http/failures.ts';
import { isRedirect, redirected, type HopRequest } from '../../../src/executors/http/redirects.ts';

/** Set-Cookie and Location headers of targets, over ten hops. */

export const name = 'http-headers';

const first: HopRequest = {
  url: new URL('https://user:secret@shop.test/a?b'),
  method: 'POST',
  headers: ['Authorization', 'Bearer x', 'X-Api-Key', 'y', 'Content-Type', 'text/plain', 'Accept', '*/*'],
  body: Buffer.from('body'),
};
const statuses = [301, 302, 303, 307, 308];

/** Each line is a hop: its Location, and Set-Cookie headers after it, separated by `|`. */
export function run(data: Buffer): void {
  const cookies = createRunCookies();
  let request = first;
  let left = false;
  for (const [hop, line] of data.toString('latin1').split('\n').slice(0, 10).entries()) {
    const [location = '', ...set] = line.split('|');
    cookies.keep(request.url, set, 1_700_000_000_000);
    const header = cookies.headerFor(request.url);
    if (header !== null && /[\r\n]/.test(header)) throw new Error('a line break in a Cookie header');
    const response = {
      status: statuses[hop % statuses.length] ?? 302,
      statusText: '',
      httpVersion: '1.1',
      headers: { location: location.includes('&&') ? location.split('&&') : location },
      chunks: [],
      bytes: 0,
      cut: false,
    } as const;
    if (!isRedirect(response as never)) continue; // the lists are not changed
    try {
      const before = request.url.origin;
      request = redirected(request, response as never);
      left ||= request.url.origin !== before;
    } catch (error) {
      if (error instanceof HttpFailure) return;
      throw error;
    }
    if (left && request.headers.some((part) => part === 'Bearer x' || part === 'y')) {
      throw new Error(`credentials follow to ${request.url.origin}`);
    }
  }
}

export const seeds = (): string[] => [
  '/next|a=b; Path=/; Domain=shop.test; Max-Age=60|c=d; Secure; HttpOnly; SameSite=Lax\nhttps://other.test/x|e=f\n//shop.test/y',
  'http://shop.test:8080/|a=1; Expires=Wed, 21 Oct 2065 07:28:00 GMT; Path=/%zz\n?x=1#y\nhttps://[::1]/',
  'https://shop.test/|a="q"; Domain=.test\nhttps://shop.test/',
  '/a&&/b',
];

export const dictionary = [
  '; Path=',
  '; Domain=',
  '; Max-Age=',
  '; Expires=',
  '; Secure',
  '=',
  '|',
  '\n',
  'https://',
  '//',
  '\\',
  '%',
  '@',
  'shop.test',
  '.test',
  'localhost',
  '[::1]',
  '127.0.0.1',
  'xn--',
  '__Host-',
  '__Secure-',
  'javascript:',
];
