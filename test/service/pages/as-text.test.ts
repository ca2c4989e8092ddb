import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { sensitiveHeaders as masksOfService } from '../../../src/sensitive-headers.ts';
import {
  mask,
  masked,
  sensitiveHeaders,
  withEnvironment,
} from '../../../src/service/pages/browser/parts/form/masked.ts';
import { toYaml } from '../../../src/service/pages/browser/parts/form/yaml.ts';
import { naughtyStrings } from '../../helpers/naughty-strings.ts';

/** The content of forms as files, and what is hidden in it. */

describe('YAML of a form', () => {
  it('is read back as the same value', () => {
    const script = "import { test } from '@playwright/test';\n\ntest('a', async () => {\n  // #x: y\n});\n";
    const value = {
      kind: 'check',
      'a key: with #': [
        1,
        true,
        null,
        'true',
        'no',
        '1e3',
        '0x1f',
        '',
        ' ',
        '- a',
        '{a: 1}',
        'a: b',
        '# c',
        '~',
      ],
      script,
      noEnd: script.trimEnd(),
      blankEnd: `${script}\n`,
      indented: '  a\nb',
      trailing: 'a \nb',
      tabs: '\ta\n\tb',
      returns: 'a\r\nb',
      empty: { list: [], object: {}, lists: [[], [1, [2, { a: [] }]], {}] },
      objects: [{ a: 'x\ny', b: { c: [{ d: 'x\n\ny' }] } }],
      left: undefined,
      nul: 'a\u0000b\nc\u0085d\u2028e\ufeff',
      surrogate: '😀\n😀',
    };
    const { left: _left, ...rest } = value;
    expect(parse(toYaml(value))).toEqual(rest);
    expect(toYaml({ script })).toContain('script: |\n  import { test }');
    expect(toYaml({})).toBe('{}\n');
  });

  it.each(naughtyStrings)('keeps %j as a value, in a list and as a name', (text) => {
    const value = { plain: text, block: `a\n${text}\nb`, list: [text, { x: text }], [`k${text}`]: 1 };
    expect(parse(toYaml(value))).toEqual(value);
  });
});

describe('secret values', () => {
  const body = {
    name: 'Shop',
    environmentVariables: [
      { key: 'TOKEN', value: 'secret-1', secret: true, locked: false },
      { key: 'STORED', value: '', secret: true, locked: false },
      { key: 'SERVICE_SECRET_X', value: 'secret-2', secret: false, locked: false },
      { key: 'PLAIN', value: 'shown', secret: false, locked: false },
    ],
    request: {
      url: 'https://user:secret-3@shop.example/a?b=c@d',
      headers: [
        { key: 'Authorization', value: 'Bearer secret-4', locked: false },
        { key: 'x-a', value: 'secret-5', locked: true },
        { key: 'accept', value: 'text/html', locked: false },
      ],
      queryParameters: [{ key: 'cookie', value: 'chocolate', locked: false }],
      basicAuth: { username: 'ann', password: 'secret-6' },
    },
  };

  it('are masked, and those of a file come from the environment', () => {
    const shown = masked(body);
    expect(JSON.stringify(shown)).not.toContain('secret-');
    expect(shown).toMatchObject({
      name: 'Shop',
      environmentVariables: [{ value: mask }, { value: '' }, { value: mask }, { value: 'shown' }],
      request: {
        url: `https://user:${mask}@shop.example/a?b=c@d`,
        headers: [{ value: mask }, { value: mask }, { value: 'text/html' }],
        queryParameters: [{ value: 'chocolate' }],
        basicAuth: { username: 'ann', password: mask },
      },
    });
    expect(withEnvironment(shown, ['shop-home'])).toMatchObject({
      environmentVariables: [
        { value: { env: 'TOKEN' } },
        { value: { env: 'STORED' } },
        { value: { env: 'SERVICE_SECRET_X' } },
        { value: 'shown' },
      ],
      request: {
        headers: [{ value: { env: 'AUTHORIZATION' } }, { value: { env: 'X_A' } }, { value: 'text/html' }],
        basicAuth: { password: { env: 'SHOP_HOME_REQUEST_BASICAUTH_PASSWORD' } },
      },
    });
  });

  it('are hidden in the headers that the service masks too', () => {
    expect(sensitiveHeaders).toEqual(masksOfService);
  });

  it('are those of a variable of the account', () => {
    const variable = { key: 'TOKEN', value: 'secret', secret: true, locked: false };
    expect(masked(variable)).toEqual({ ...variable, value: mask });
    expect(withEnvironment(masked(variable), ['token'])).toEqual({ ...variable, value: { env: 'TOKEN' } });
    expect(masked({ proxyUrl: 'http://a:b@proxy:3128' })).toEqual({
      proxyUrl: `http://a:${mask}@proxy:3128`,
    });
  });
});
