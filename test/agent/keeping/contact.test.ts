import { describe, expect, it } from 'vitest';
import { createContact } from '../../../src/agent/keeping/contact.ts';

/** Whether an agent may run the checks that it holds, by when it last heard of the service. */

const limit = 30_000;

function start() {
  let now = 1_790_000_000_000;
  const contact = createContact({ now: () => now, limitMs: () => limit });
  const pass = (ms: number) => {
    now += ms;
  };
  return { contact, pass };
}

describe('contact with the service', () => {
  it('lasts while any call is answered', () => {
    const { contact, pass } = start();
    contact.renewed();
    for (let count = 0; count < 10; count++) {
      pass(limit - 1);
      contact.heard();
      expect(contact.mayRun()).toBe(true);
    }
    pass(limit + 1);
    expect(contact.mayRun()).toBe(false);
  });

  it('that was lost begins with a renewal, and not with another answer', () => {
    const { contact, pass } = start();
    expect(contact.renewed()).toBe(true);
    pass(limit + 1);
    contact.heard();
    expect(contact.mayRun()).toBe(false);
    expect(contact.renewed()).toBe(true);
    expect(contact.mayRun()).toBe(true);
    expect(contact.renewed()).toBe(false);
  });

  it('that was lost does not begin before all changes are known', () => {
    const { contact, pass } = start();
    // Of a first list, nothing can be out of date.
    expect(contact.renewed(false)).toBe(true);
    expect(contact.mayRun()).toBe(true);
    pass(limit + 1);
    for (let part = 0; part < 3; part++) {
      expect(contact.renewed(false)).toBe(true);
      expect(contact.mayRun()).toBe(false);
    }
    expect(contact.renewed(true)).toBe(true);
    expect(contact.mayRun()).toBe(true);
  });

  it('is what an earlier process had', () => {
    const { contact, pass } = start();
    contact.renewed();
    const at = contact.heardAt();
    pass(limit);
    const { contact: next } = start();
    next.restore(at);
    expect(next.mayRun()).toBe(true);
    next.restore(at - limit - 1);
    expect(next.mayRun()).toBe(false);
  });
});
