import { describe, expect, test } from 'vitest';
import { badRequest } from '../../../src/service/http/errors.ts';

describe('the message of a bad request', () => {
  test.each([
    [{ name: ['is required'] }, 'name is required.'],
    [{ name: ['is required'], url: ['is not a URL'] }, 'name is required (and 1 more; see attributes).'],
    [{ locations: ['Set one of both'], privateLocations: ['Set one of both'] }, 'Set one of both.'],
    [
      { locations: ['Set one of both'], privateLocations: ['Set one of both'], name: ['is required'] },
      'Set one of both (and 1 more; see attributes).',
    ],
    [{}, 'The request is not valid.'],
  ])('%j', (attributes, message) => {
    expect(badRequest(attributes).message).toBe(message);
  });
});
