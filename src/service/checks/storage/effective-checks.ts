import { sqlTypesWhere } from '../types/table.ts';

/**
 * What counts of a check and its group, as SQL over `checks c left join check_groups g on g.id = c.group_id`. The rules are
 * those of group-settings.ts; here are the ones that statements select by.
 */
export const checksWithGroups = 'checks c left join check_groups g on g.id = c.group_id';

const withoutPlaces = sqlTypesWhere(({ hasLocations }) => !hasLocations);
const withPhases = sqlTypesWhere(({ code }) => code === 'phases');
/** Types that the service itself runs at their time. */
export const runByService = sqlTypesWhere(({ runBy }) => runBy === 'service');

/** Where either of the group's lists is not empty, both take the place of the check's own; what the service runs has no place. */
export const placesOfGroup = `c.check_type not in ${withoutPlaces}
  and cardinality(g.locations) + cardinality(g.private_locations) > 0`;

/** Slugs: data-centre codes, then private locations. */
export const effectiveSlugs = `case when ${placesOfGroup} then g.locations || g.private_locations
  else c.locations || c.private_locations end`;

/** As effectiveSlugs, in a statement over `checks` alone. */
export const slugsOfCheck = `coalesce(
  (select nullif(g.locations || g.private_locations, '{}') from check_groups g
    where g.id = checks.group_id and checks.check_type not in ${withoutPlaces}),
  checks.locations || checks.private_locations)`;

export const effectiveRunParallel = 'coalesce(g.run_parallel, c.run_parallel)';

/** Null for a check without scripts, whatever runtime it names: any agent will do. */
export const effectiveRuntimeId = `case when c.has_scripts or (c.check_type in ${withPhases} and g.has_scripts)
  then coalesce(c.runtime_id, g.runtime_id, (select a.runtime_id from accounts a where a.id = c.account_id)) end`;
