import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { PGlite, protocol } from '@electric-sql/pglite';
import { expect, test } from 'vitest';

/**
 * What embedded-statement.ts was read from. With another release: read `query`, `transaction` and `execProtocolStream` of the
 * engine again, then change the number.
 */
const readFrom = '0.5.16';

test('the engine is the release that was read', () => {
  const entry = createRequire(import.meta.url).resolve('@electric-sql/pglite');
  const { version } = JSON.parse(readFileSync(join(dirname(entry), '../package.json'), 'utf8')) as {
    version: string;
  };
  expect(version).toBe(readFrom);
});

test('the engine answers a message of several parts in one go, and skips the rest after an error', async () => {
  const engine = await PGlite.create();
  const { serialize } = protocol;
  const send = (text: string, value: string) =>
    engine.execProtocolStream(
      Buffer.concat([
        serialize.parse({ text }),
        serialize.bind({ values: [value] }),
        serialize.describe({ type: 'P' }),
        serialize.execute({}),
        serialize.sync(),
      ]),
      { syncToFs: false },
    );
  const names = (await send('select $1::integer as n', '1')).map(({ name }) => name);
  expect(names).toEqual([
    'parseComplete',
    'bindComplete',
    'rowDescription',
    'dataRow',
    'commandComplete',
    'readyForQuery',
  ]);
  await expect(send('select $1::integer as n', 'one')).rejects.toMatchObject({ code: '22P02' });
  expect((await send('select $1::integer as n', '2')).at(-1)?.name).toBe('readyForQuery');
  await engine.close();
});
