import { describe, expect, it, vi } from 'vitest';
import { createSpaceCheck } from '../../../src/service/db/disk-space.ts';

const megabyte = 1024 * 1024;

describe('disk space of the embedded database', () => {
  it('is checked once a second, and writes are refused until there is space again', () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    try {
      let free = 64 * megabyte;
      let looks = 0;
      const check = createSpaceCheck('/data', () => {
        looks += 1;
        return free;
      });
      check();
      free = 3.5 * megabyte;
      check();
      expect(looks).toBe(1);
      vi.advanceTimersByTime(1_000);
      const refusal =
        'the disk of /data is full (3 MB left): the embedded database waits until 64 MB are free';
      expect(check).toThrow(refusal);
      expect(check).toThrow(refusal);
      expect(looks).toBe(2);
      free = 64 * megabyte;
      vi.advanceTimersByTime(1_000);
      check();
    } finally {
      vi.useRealTimers();
    }
  });

  it.skipIf(process.platform !== 'linux')('reads the real disk', () => {
    expect(createSpaceCheck('/')).not.toThrow();
    expect(createSpaceCheck('/proc')).toThrow('the disk of /proc is full (0 MB left)');
  });
});
