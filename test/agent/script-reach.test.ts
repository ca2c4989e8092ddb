import { describe, expect, test } from 'vitest';
import { createScriptReach } from '../../src/agent/script-reach.ts';
import { networkArguments } from '../../src/script/process/script-network.ts';

const settings = {
  scriptAllowedNetworks: null,
  scriptDeniedNetworks: [],
  healthPort: 0,
  serviceUrl: new URL('https://service.example'),
  installEnvironment: {},
};

/** Allowed networks besides the name servers, as the launcher gets them. */
const allowed = (reach: ReturnType<typeof createScriptReach>): string[] =>
  networkArguments(reach.network()).filter((text) => text.includes('=allow@') && !text.endsWith('@53-53'));

describe('the networks of a location', () => {
  test('apply until the next hello', () => {
    const reach = createScriptReach(settings);
    expect(allowed(reach)).toEqual(['--network=allow@::/0@0-65535']);
    expect(reach.setLocation(['10.0.0.0/8'])).toBeNull();
    expect(allowed(reach)).toEqual(['--network=allow@::ffff:a00:0/104@0-65535']);
    expect(reach.setLocation([])).toBeNull();
    expect(allowed(reach)).toEqual([]);
    for (const absent of [null, undefined]) {
      expect(reach.setLocation(absent)).toBeNull();
      expect(allowed(reach)).toEqual(['--network=allow@::/0@0-65535']);
    }
  });

  test.for([
    ['10.0.0.0/8', 'not a list'],
    [['10.0.0.0/8', '10.0.0.0/33'], 'invalid prefix length'],
    [['10.0.0.0/8', 5], 'not a text'],
    [Array.from({ length: 101 }, () => '10.0.0.1'), 'more than 100 networks'],
  ] as [unknown, string][])('%j is reported, and closes every network', ([list, message]) => {
    const reach = createScriptReach(settings);
    expect(reach.setLocation(list)?.message).toContain(message);
    expect(allowed(reach)).toEqual([]);
    expect(reach.setLocation(null)).toBeNull();
    expect(allowed(reach)).toEqual(['--network=allow@::/0@0-65535']);
  });

  test("the agent's own list wins", () => {
    const reach = createScriptReach({ ...settings, scriptAllowedNetworks: ['192.0.2.0/24'] });
    reach.setLocation(['10.0.0.0/8']);
    expect(allowed(reach)).toEqual(['--network=allow@::ffff:c000:200/120@0-65535']);
  });
});
