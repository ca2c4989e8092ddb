/** SQL: the whole body of a result, also if only its difference from a base is stored. `r`: with a dot, or empty. */
export const wholeBody = (r = '') => `whole_body(${r}body, ${r}base_id, ${r}started_at)`;

/** SQL: the stored (compressed) bytes of the whole body, with those that it shares with others. */
export const wholeBytes = (r = '') => `pg_column_size(${r}body) + base_bytes(${r}base_id, ${r}started_at)`;
