import { expect, it } from 'vitest';
import { timeOfUuidv7, uuidv7 } from '../../../src/service/engine/ids.ts';

it('creates UUIDv7s that sort by time and contain it', () => {
  const times = [0, 1, 1_795_000_000_000, 1_795_000_000_001, 2 ** 48 - 1];
  const ids = times.map((time) => uuidv7(time));
  for (const id of ids)
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(ids.map(timeOfUuidv7)).toEqual(times);
  expect([...ids].sort()).toEqual(ids);
});

it('creates unique ids', () => {
  expect(new Set(Array.from({ length: 20_000 }, () => uuidv7(5))).size).toBe(20_000);
});

it('refuses times that do not fit, and reads none from other ids', () => {
  for (const time of [-1, 1.5, Number.NaN, 2 ** 48]) expect(() => uuidv7(time)).toThrow(RangeError);
  expect(timeOfUuidv7('9e7369af-ef19-4c9e-a515-ca3480eb103e')).toBeNull();
  expect(timeOfUuidv7('not an id')).toBeNull();
});
