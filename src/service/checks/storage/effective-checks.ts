import { sqlTypesWhere } from '../types/table.ts';

/**
 * The effective settings of a check and its group, as SQL over `checks c left join check_groups g on g.id =
 * c.group_id`. The rules are the same as in settings.ts; here are those that statements filter by.
 */
export const checksWithGroups = 'checks c left join check_groups g on g.id = c.group_id';

const withoutPlaces = sqlTypesWhere(({ hasLocations }) => !hasLocations);
const withPhases = sqlTypesWhere(({ code }) => code === 'phases');
/** Types that the service itself runs on schedule. */
export const runByService = sqlTypesWhere(({ runBy }) => runBy === 'service');

/**
 * If either list of the group is not empty, both replace the check's own. Checks that the service runs have no
 * location.
 */
export const placesOfGroup = `c.check_type not in ${withoutPlaces}
  and cardinality(g.locations) + cardinality(g.private_locations) > 0`;

/** Slugs: data-centre codes, then private locations. */
export const effectiveSlugs = `case when ${placesOfGroup} then g.locations || g.private_locations
  else c.locations || c.private_locations end`;

/** Like effectiveSlugs, in a statement over `checks` only. */
export const slugsOfCheck = `coalesce(
  (select nullif(g.locations || g.private_locations, '{}') from check_groups g
    where g.id = checks.group_id and checks.check_type not in ${withoutPlaces}),
  checks.locations || checks.private_locations)`;

export const effectiveRunParallel = 'coalesce(g.run_parallel, c.run_parallel)';

/** Null for a check without scripts, whatever runtime it names, because any agent can run it. */
export const effectiveRuntimeId = `case when c.has_scripts or (c.check_type in ${withPhases} and g.has_scripts)
  then coalesce(c.runtime_id, g.runtime_id, (select a.runtime_id from accounts a where a.id = c.account_id)) end`;
