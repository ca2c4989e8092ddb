/**
 * Splits the locations of a suite's run into those where it starts and those where it is skipped because the previous
 * run is still in progress. Runs of other types may overlap.
 */
export function splitRun<Place extends { id: string }>(
  places: readonly Place[],
  isInProgress: (locationId: string) => boolean,
): { begins: Place[]; stillRunning: Place[] } {
  return {
    begins: places.filter(({ id }) => !isInProgress(id)),
    stillRunning: places.filter(({ id }) => isInProgress(id)),
  };
}
