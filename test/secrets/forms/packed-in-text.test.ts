import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { withoutArchives } from '../../../src/secrets/forms/packed-in-text.ts';
import { makeZip } from '../files/make-zip.ts';

test('archives in the texts of a result are masked, in each form of base64', async () => {
  const zip = (await makeZip([['a.txt', 'a secret '.repeat(50)]])).toString('base64');
  const gzip = gzipSync('a secret').toString('base64');
  const tree = {
    body: `<script>"data:application/zip;base64,${zip}"</script>`,
    log: [`packed ${gzip}`, 'stays'],
    nested: { json: JSON.stringify({ zip }).replaceAll('/', '\\/') },
  };
  expect(withoutArchives(tree)).toEqual({
    body: '<script>"data:application/zip;base64,*********"</script>',
    log: ['packed *********', 'stays'],
    nested: { json: '{"zip":"*********"}' },
  });
});

test('a tree without archives is the same reference', () => {
  const tree = { body: 'UEsDB is how zips begin', list: [1, null, 'H4sI'] };
  expect(withoutArchives(tree)).toBe(tree);
});
