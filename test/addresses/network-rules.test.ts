import { describe, expect, test } from 'vitest';
import { isWithin, parseNetworkEntry } from '../../src/addresses/network-entry.ts';
import { networkRules } from '../../src/addresses/network-rules.ts';

describe('an entry of a list of networks', () => {
  test.for([
    ['10.0.0.0/8', '::ffff:a00:0/104@0-65535'],
    ['10.1.2.3', '::ffff:a01:203/128@0-65535'],
    ['10.1.2.3:443', '::ffff:a01:203/128@443-443'],
    ['10.0.0.0/8:8000-8100', '::ffff:a00:0/104@8000-8100'],
    ['fd00::/8', 'fd00::/8@0-65535'],
    ['fd00::1', 'fd00::1/128@0-65535'],
    ['[fd00::1]:443', 'fd00::1/128@443-443'],
    ['[fd00::/8]:1-2', 'fd00::/8@1-2'],
    ['::/0', '::/0@0-65535'],
    ['::1', '::1/128@0-65535'],
    [
      '[ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255/128]:65535-65535',
      'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128@65535-65535',
    ],
  ])('%s', ([text, expected]) => {
    const { address, bits, firstPort, lastPort } = parseNetworkEntry(text ?? '');
    expect(`${address}/${bits}@${firstPort}-${lastPort}`).toBe(expected);
  });

  test.for([
    ['', 'is not a network'],
    ['example.com', 'is not a network'],
    ['10.0.0', 'is not a network'],
    ['0x7f.1', 'is not a network'],
    ['10.0.0.0/33', 'prefix length'],
    ['10.0.0.0/', 'prefix length'],
    ['10.0.0.0/8/8', 'is not a network'],
    ['fd00::/129', 'prefix length'],
    ['10.0.0.1:0x1', 'is not a network'],
    ['10.0.0.1:70000', 'invalid ports'],
    ['10.0.0.1:9-8', 'invalid ports'],
    ['10.0.0.1:-', 'invalid ports'],
    // To search it for ports took a minute.
    ['fe80::0%'.repeat(1_000), 'an entry of 8000 characters is not a network'],
  ])('%s is refused with the remedy', ([text, message]) => {
    expect(() => parseNetworkEntry(text ?? '')).toThrow(message);
  });

  test('within another one: by its prefix', () => {
    const loopback = parseNetworkEntry('127.0.0.0/8');
    expect(isWithin(parseNetworkEntry('127.0.0.1:80'), loopback)).toBe(true);
    expect(isWithin(parseNetworkEntry('0.0.0.0/0'), loopback)).toBe(false);
    expect(isWithin(parseNetworkEntry('128.0.0.1'), loopback)).toBe(false);
  });
});

describe('the rules of a policy, in the order in which they are tried', () => {
  const policy = { allowed: null, denied: [], ownPorts: [], resolvers: [], configured: [] };
  const order = (rules: string[], ...wanted: string[]) => wanted.map((rule) => rules.indexOf(rule));

  test('by default every special network is refused, then everything is allowed', () => {
    const rules = networkRules(policy);
    expect(rules.at(-1)).toBe('allow@::/0@0-65535');
    expect(rules.slice(0, -1).every((rule) => rule.startsWith('deny@'))).toBe(true);
    expect(rules).toContain('deny@::ffff:a9fe:0/112@0-65535');
    expect(rules).toContain('deny@::ffff:7f00:0/104@0-65535');
    expect(rules).toContain('deny@::1/128@0-65535');
  });

  test("the operator's refusals, name servers, own ports, opened special addresses, special networks, the list", () => {
    const rules = networkRules({
      allowed: ['10.0.0.0/8', '127.0.0.1:3000'],
      denied: ['10.9.0.0/16'],
      ownPorts: [8081],
      resolvers: ['127.0.0.53'],
      configured: ['127.0.0.1:3128'],
    });
    const places = order(
      rules,
      'deny@::ffff:a09:0/112@0-65535',
      'allow@::ffff:7f00:35/128@53-53',
      'allow@::ffff:7f00:1/128@3128-3128',
      'deny-here@::/0@8081-8081',
      'allow@::ffff:7f00:1/128@3000-3000',
      'deny@::ffff:7f00:0/104@0-65535',
      'allow@::ffff:a00:0/104@0-65535',
    );
    expect(places).toEqual([...places].sort((a, b) => a - b));
    expect(places).not.toContain(-1);
    expect(rules.at(-1)).toBe('allow@::ffff:a00:0/104@0-65535');
  });
});
